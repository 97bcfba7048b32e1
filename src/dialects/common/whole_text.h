/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_text.h - output in pieces of text in which every character is whole
 *
 * A character that a piece cuts off waits for its rest, separately for standard output and standard
 * error. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_WHOLE_TEXT_H
#define HF_DIALECTS_COMMON_WHOLE_TEXT_H

#include <stdbool.h>

#include "base/buf.h"

struct whole_text { /* {0} is a valid initial state */
    char open[2][4];
    unsigned char len[2];
};

/* Appends the complete characters of what was kept and of these bytes, and keeps the rest. */
void whole_text_feed(struct whole_text *t, bool is_err, const char *bytes, size_t len,
                     struct buf *out);
/* What was kept will not be completed: appends it as it is. */
void whole_text_end(struct whole_text *t, bool is_err, struct buf *out);

#endif
