/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipart.h - parses multipart/form-data as it arrives
 *
 * Bytes in, one event at a time out. It buffers only a part's headers, or the beginning of a
 * possible boundary. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_MULTIPART_H
#define HF_DIALECTS_COMMON_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#define MULTIPART_BOUNDARY_MAX 70 /* as RFC 2046 says */
#define MULTIPART_HEAD_MAX 8192   /* headers of one part */
#define MULTIPART_NAME_MAX 4096

enum multipart_event {
    MULTIPART_MORE,     /* all input is consumed */
    MULTIPART_PART,     /* a part begins: name and filename */
    MULTIPART_DATA,     /* bytes of it */
    MULTIPART_PART_END, /* it is complete */
    MULTIPART_DONE,     /* the last boundary; the rest is ignored */
    MULTIPART_ERROR,    /* not multipart, or too large; feed no more */
};

struct multipart {
    char delimiter[MULTIPART_BOUNDARY_MAX + 5]; /* "\r\n--BOUNDARY" */
    size_t delimiter_len, matched;
    int state;
    char head[MULTIPART_HEAD_MAX];
    size_t head_len;
    char name[256], filename[MULTIPART_NAME_MAX]; /* of the part; "": none */
    const char *data;                             /* MULTIPART_DATA: borrowed */
    size_t data_len;
};

/* From the Content-Type of the request; false: it is not multipart/form-data with a boundary. */
bool multipart_init(struct multipart *m, const char *content_type);
enum multipart_event multipart_feed(struct multipart *m, const char *bytes, size_t len,
                                    size_t *used);

#endif
