/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_frame.h - what a terminal's client says in text frames. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_FRAME_H
#define HF_DIALECTS_OPENSANDBOX_OSB_FRAME_H

#include "base/json.h"

enum frame_kind {
    FRAME_NONE, /* not JSON: passed over, as execd does */
    FRAME_STDIN,
    FRAME_RESIZE,
    FRAME_SIGNAL,
    FRAME_PING,
    FRAME_BAD, /* told why */
};

struct frame {
    enum frame_kind kind;
    json_t *tree;     /* freed by osb_frame_fini() */
    const char *data; /* stdin: borrowed from the tree */
    size_t len;
    int64_t rows, cols; /* resize; 0: it is to be passed over */
    int signum;
    const char *wrong; /* static */
};

void osb_frame_decode(struct frame *f, const char *text, size_t len);
void osb_frame_fini(struct frame *f);

#endif
