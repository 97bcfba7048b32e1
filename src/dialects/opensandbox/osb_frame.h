/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_frame.h - the text frames of a terminal's client. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_FRAME_H
#define HF_DIALECTS_OPENSANDBOX_OSB_FRAME_H

#include "base/json.h"

enum frame_kind {
    FRAME_STDIN,
    FRAME_RESIZE,
    FRAME_SIGNAL,
    FRAME_PING,
    FRAME_BAD, /* replied with the reason */
};

struct frame {
    enum frame_kind kind;
    json_t *tree;     /* freed by osb_frame_fini() */
    const char *data; /* stdin: borrowed from the tree */
    size_t len;
    int64_t rows, cols; /* resize; 0: ignore it */
    int signum;
    const char *wrong; /* static */
};

void osb_frame_decode(struct frame *f, const char *text, size_t len);
void osb_frame_fini(struct frame *f);

#endif
