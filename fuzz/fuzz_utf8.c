/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_utf8.c - the UTF-8 check against a decoder that is plain and slow
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

/* The length of the character at p, or 0 if there is no whole and valid one. */
static size_t decode(const uint8_t *p, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = p[0] < 0x80             ? 1
               : (p[0] & 0xE0) == 0xC0 ? 2
               : (p[0] & 0xF0) == 0xE0 ? 3
               : (p[0] & 0xF8) == 0xF0 ? 4
                                       : 0;
    uint32_t c;

    if (n == 0 || n > len)
        return 0;
    c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3F);
    }
    return c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? 0 : n;
}

/* How far the run is valid, in whole characters. */
static size_t valid_prefix(const uint8_t *p, size_t len)
{
    size_t at = 0, n;

    while (at < len && (n = decode(p + at, len - at)) > 0)
        at += n;
    return at;
}

/* Can these one to three bytes be the beginning of a character? */
static bool can_begin(const uint8_t *p, size_t len)
{
    static const uint8_t tails[] = {0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF};
    uint8_t whole[4];

    for (size_t i = 0; i < 6 * 6 * 6; i++) {
        memcpy(whole, p, len);
        for (size_t k = len, t = i; k < 4; k++, t /= 6)
            whole[k] = tails[t % 6];
        if (decode(whole, 4) > len)
            return true;
    }
    return false;
}

static size_t open_tail(const uint8_t *p, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++)
        if (can_begin(p + len - n, n))
            return n;
    return 0;
}

/* A chunk that fails must fail at the same byte, whatever the chunks are. */
static void check_chunks(const uint8_t *p, size_t len, size_t chunk)
{
    size_t good = valid_prefix(p, len);
    bool begun = good < len && len - good < 4 && can_begin(p + good, len - good);
    struct utf8_check c = {0};
    bool ok = true;

    for (size_t i = 0, n; i < len && ok; i += n) {
        n = chunk < len - i ? chunk : len - i;
        ok = utf8_check_feed(&c, p + i, n);
    }
    check(ok == (good == len || begun));
    if (ok)
        check(utf8_check_done(&c) == (good == len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(utf8_is_valid(data, size) == (valid_prefix(data, size) == size));
    check(utf8_open_tail(data, size) == open_tail(data, size));
    if (size > 0) {
        check_chunks(data, size, 1);
        check_chunks(data, size, 1 + data[0] % 9);
        check_chunks(data, size, size);
    }
    return 0;
}
