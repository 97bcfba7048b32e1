/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_markdown.h - a transcript as text that a model can read
 *
 * Pure, and safe for any bytes: what is not UTF-8 becomes U+FFFD, escape sequences and control
 * characters are removed, and a fence is always longer than any run of backticks in its block, so
 * output cannot escape from it. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_SESSION_MARKDOWN_H
#define HF_DIALECTS_COMMON_SESSION_MARKDOWN_H

#include "dialects/common/session_items.h"

void session_markdown(struct buf *out, const char *session_id, const struct session_items *all);
/* The bytes as plain text. */
void markdown_put_plain(struct buf *out, const char *bytes, size_t len);
/* Head and tail in a block, with a line that reports what is missing between them. */
void markdown_put_block(struct buf *out, const char *language, struct session_text head,
                        struct session_text tail, uint64_t omitted);

#endif
