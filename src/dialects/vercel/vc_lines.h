/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_lines.h - output as lines of JSON: {"stream":"stdout","data":"…"}
 *
 * Clients decode each packet by itself, so a line is pure ASCII, whatever is in it. A character that is not
 * complete waits for its rest, for each stream apart; what is no character is
 * U+FFFD. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VC_LINES_H
#define HF_DIALECTS_VERCEL_VC_LINES_H

#include <stdbool.h>

#include "base/buf.h"

struct vc_lines {
    char open[2][4]; /* of stdout and of stderr */
    size_t open_len[2];
};

/* {0} is a valid beginning. */
void vc_lines_put(struct vc_lines *l, bool is_stderr, const char *bytes, size_t len,
                  struct buf *out);
/* What still waits will not become whole any more. */
void vc_lines_end(struct vc_lines *l, struct buf *out);
/* {"stream":"error","data":{"code","message"}} */
void vc_line_error(struct buf *out, const char *code, const char *message);

#endif
