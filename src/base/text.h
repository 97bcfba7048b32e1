/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - UTF-8, base64, base32, hex, percent-encoding, decimal numbers. Pure. Layer: base.
 */
#ifndef HF_BASE_TEXT_H
#define HF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * A UTF-8 check that works across chunks. Start with {0}; feed() returns false at the first byte
 * that cannot be valid (overlong, surrogate, above U+10FFFF); done() returns true if no character
 * is left incomplete.
 */
struct utf8_check {
    uint8_t need, lo, hi;
};
/*
 * What may follow a first byte: the number of bytes, and the range of the second. The narrowed
 * ranges exclude overlong forms (E0, F0), surrogates (ED) and values above U+10FFFF (F4). Third and
 * fourth bytes are always 80..BF.
 */
static inline bool utf8_start(uint8_t c, struct utf8_check *next)
{
    next->lo = 0x80;
    next->hi = 0xbf;
    if (c >= 0xc2 && c <= 0xdf) {
        next->need = 1;
    } else if (c >= 0xe0 && c <= 0xef) {
        next->need = 2;
        if (c == 0xe0)
            next->lo = 0xa0;
        if (c == 0xed)
            next->hi = 0x9f;
    } else if (c >= 0xf0 && c <= 0xf4) {
        next->need = 3;
        if (c == 0xf0)
            next->lo = 0x90;
        if (c == 0xf4)
            next->hi = 0x8f;
    } else {
        return false;
    }
    return true;
}

bool utf8_check_feed(struct utf8_check *c, const void *bytes, size_t len);
bool utf8_check_done(const struct utf8_check *c);
bool utf8_is_valid(const void *bytes, size_t len);
/* Length of the run of ASCII at the start, scanned eight bytes at a time. */
size_t utf8_ascii_run(const void *bytes, size_t len);
/* Length of the valid character that starts here (1..4); 0 if there is none. */
size_t utf8_char_len(const void *bytes, size_t len);
/* The number of bytes (0..3) at the end that start an incomplete character. */
size_t utf8_open_tail(const void *bytes, size_t len);

void base64_encode(struct buf *out, const void *bytes, size_t len);
/* Standard alphabet with padding, or URL alphabet without; false if neither. */
bool base64_decode(struct buf *out, const char *text, size_t len);
/* Lower-case a-z2-7, no padding; writes len*8/5 rounded up characters and NUL. */
void base32_encode(char *out, const void *bytes, size_t len);
void hex_encode(char *out, const void *bytes, size_t len); /* and NUL */
int hex_digit(char c);                                     /* its value; -1: none */
/* Letters, digits and the characters in `plain` stay; every other byte becomes %XX. */
void text_percent_encode(struct buf *out, const char *text, const char *plain);

/* Whole text is a decimal number in [min, max], no sign but '-', no spaces. */
bool text_to_i64(const char *s, int64_t min, int64_t max, int64_t *out);
bool text_to_u64(const char *s, uint64_t max, uint64_t *out);
/* 1: 1, t, true, y, yes, on. 0: 0, f, false, n, no, off. In any case, as clients of all languages
 * write a boolean. -1: neither, or NULL. */
int text_to_bool(const char *s);

#endif
