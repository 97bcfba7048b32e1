/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf16.c - UTF-8 as JavaScript counts it. Layer: base.
 */
#include "base/utf16.h"

#include "base/text.h"

struct utf16_token {
    size_t len; /* 0: the rest has not arrived yet */
    unsigned units;
    bool broken;
};

static struct utf16_token token_at(const uint8_t *p, size_t len, bool end)
{
    struct utf8_check c = {0};
    struct utf16_token t = {.len = 1, .units = 1};
    size_t whole;

    if (p[0] < 0x80)
        return t;
    if (!utf8_start(p[0], &c)) {
        t.broken = true;
        return t;
    }
    whole = 1 + (size_t)c.need;
    while (t.len < whole && t.len < len && p[t.len] >= c.lo && p[t.len] <= c.hi) {
        t.len++;
        c.lo = 0x80;
        c.hi = 0xbf;
    }
    if (t.len == whole)
        t.units = whole == 4 ? 2 : 1;
    else if (t.len == len && !end)
        t.len = 0;
    else
        t.broken = true;
    return t;
}

static inline bool continues(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* The length of common characters beyond ASCII; 0: needs a full check. Four bytes are readable. */
static inline size_t plain_len(const uint8_t *p)
{
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return continues(p[1]) ? 2 : 0;
    if (p[0] > 0xe0 && p[0] <= 0xef && p[0] != 0xed)
        return continues(p[1]) && continues(p[2]) ? 3 : 0;
    if (p[0] > 0xf0 && p[0] <= 0xf3)
        return continues(p[1]) && continues(p[2]) && continues(p[3]) ? 4 : 0;
    return 0;
}

/* Every byte of terminal output passes here once, so runs of other scripts are worth a loop. */
static size_t plain_run(const uint8_t *p, size_t len, uint64_t *units)
{
    uint64_t count = 0;
    size_t at = 0, n;

    while (len - at >= 4) {
        if (p[at] < 0x80) {
            if (p[at + 1] < 0x80)
                break; /* more than one: faster in words */
            at++;
            count++;
        }
        if (len - at < 4 || (n = plain_len(p + at)) == 0)
            break;
        at += n;
        count += n == 4 ? 2 : 1;
    }
    *units += count;
    return at;
}

size_t utf16_count(const void *bytes, size_t len, bool end, uint64_t *units)
{
    const uint8_t *p = bytes;
    size_t at = 0;

    *units = 0;
    while (at < len) {
        size_t run = utf8_ascii_run(p + at, len - at);
        struct utf16_token t;

        at += run;
        *units += run;
        at += plain_run(p + at, len - at, units);
        if (at == len || p[at] < 0x80)
            continue;
        t = token_at(p + at, len - at, end);
        if (t.len == 0)
            break;
        at += t.len;
        *units += t.units;
    }
    return at;
}

size_t utf16_fit(const void *bytes, size_t len, uint64_t most, uint64_t *units)
{
    const uint8_t *p = bytes;
    size_t at = 0;

    *units = 0;
    while (at < len && *units < most) {
        uint64_t left = most - *units;
        size_t run = utf8_ascii_run(p + at, left < len - at ? (size_t)left : len - at);
        struct utf16_token t;

        at += run;
        *units += run;
        if (at == len || *units == most)
            break;
        t = token_at(p + at, len - at, false);
        if (t.len == 0 || t.units > most - *units)
            break;
        at += t.len;
        *units += t.units;
    }
    return at;
}

/* A byte that is not a continuation byte starts a token. Of continuation bytes, three can belong
 * to a token that started before; the fourth cannot. */
size_t utf8_to_border(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    size_t n = 0;

    while (n < len && n < UTF8_OPEN_MAX && (p[n] & 0xc0) == 0x80)
        n++;
    return n;
}

size_t utf8_repair(struct buf *out, const void *bytes, size_t len, bool end)
{
    const uint8_t *p = bytes;
    size_t at = 0, kept = 0;

    while (at < len) {
        struct utf16_token t;

        at += utf8_ascii_run(p + at, len - at);
        if (at == len)
            break;
        t = token_at(p + at, len - at, end);
        if (t.len == 0)
            break;
        if (t.broken) {
            buf_put(out, p + kept, at - kept);
            buf_puts(out, "\xef\xbf\xbd");
            kept = at + t.len;
        }
        at += t.len;
    }
    buf_put(out, p + kept, at - kept);
    return at;
}
