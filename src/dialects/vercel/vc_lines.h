/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_lines.h - output as lines of JSON: {"stream":"stdout","data":"…"}
 *
 * Clients decode each packet separately, so a line is pure ASCII, whatever its content. An
 * incomplete character waits for its rest, separately for each stream; invalid bytes become U+FFFD.
 * Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VC_LINES_H
#define HF_DIALECTS_VERCEL_VC_LINES_H

#include "dialects/common/whole_text.h"

struct vc_lines {
    struct whole_text text;
};

/* {0} is a valid initial state. */
void vc_lines_put(struct vc_lines *l, bool is_stderr, const char *bytes, size_t len,
                  struct buf *out);
/* What is still incomplete will not be completed. */
void vc_lines_end(struct vc_lines *l, struct buf *out);
/* {"stream":"error","data":{"code","message"}} */
void vc_line_error(struct buf *out, const char *code, const char *message);

#endif
