/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_file.h - a file that the binary holds compressed, as a reply
 *
 * Most clients accept gzip and get the bytes as they are. For the first client that does not, the
 * file is inflated, and then kept: any peer may request it, so the time and the memory are spent
 * only once. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PACKED_FILE_H
#define HF_DIALECTS_NATIVE_PACKED_FILE_H

#include <stddef.h>

#include "transport/http.h"

/* Static: a reply may still be sent when its request is forgotten. */
struct packed_file {
    char *text; /* inflated; NULL: not needed yet */
    size_t text_len;
};

/* The inflated file; NULL: out of memory. [gz, end) is a whole gzip file of ours. */
const char *packed_file_text(struct packed_file *f, const char *gz, const char *end, size_t *len);
void packed_file_reply(struct http_request *rq, int status, const char *type, struct packed_file *f,
                       const char *gz, const char *end);

#endif
