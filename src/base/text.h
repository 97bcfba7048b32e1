/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - UTF-8, base64, base32, hex, numbers in text. Pure functions. Layer: base.
 */
#ifndef HF_BASE_TEXT_H
#define HF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A UTF-8 check that goes on over chunk borders. Start with {0}; feed() is false at
 * the first byte that cannot be valid (overlong, surrogate, above U+10FFFF);
 * done() is true when no character is left open.
 */
struct utf8_check {
    uint8_t need, lo, hi;
};
bool utf8_check_feed(struct utf8_check *c, const void *bytes, size_t len);
bool utf8_check_done(const struct utf8_check *c);
bool utf8_is_valid(const void *bytes, size_t len);
/* Length of the valid character that starts here (1..4); 0 if there is none. */
size_t utf8_char_len(const void *bytes, size_t len);
/* How many bytes at the end of the run begin a character that is not complete (0..3). */
size_t utf8_open_tail(const void *bytes, size_t len);

void base64_encode(struct buf *out, const void *bytes, size_t len);
/* Standard alphabet with padding, or URL alphabet without; false if neither. */
bool base64_decode(struct buf *out, const char *text, size_t len);
/* Lower-case a-z2-7, no padding; writes len*8/5 rounded up characters and NUL. */
void base32_encode(char *out, const void *bytes, size_t len);
void hex_encode(char *out, const void *bytes, size_t len); /* and NUL */

/* Whole text is a decimal number in [min, max], no sign but '-', no spaces. */
bool text_to_i64(const char *s, int64_t min, int64_t max, int64_t *out);
bool text_to_u64(const char *s, uint64_t max, uint64_t *out);

#endif
