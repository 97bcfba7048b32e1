/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - UTF-8, base64, base32, hex, percent-encoding, decimal numbers. Layer: base.
 */
#include "base/text.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

size_t utf8_ascii_run(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    size_t i = 0;

    while (len - i >= 8) {
        uint64_t word;

        memcpy(&word, p + i, 8);
        if (word & 0x8080808080808080u)
            break;
        i += 8;
    }
    while (i < len && p[i] < 0x80)
        i++;
    return i;
}

bool utf8_check_feed(struct utf8_check *c, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    size_t i = 0;

    while (i < len) {
        if (c->need == 0) {
            i += utf8_ascii_run(p + i, len - i);
            if (i < len && !utf8_start(p[i++], c))
                return false;
        } else {
            if (p[i] < c->lo || p[i] > c->hi)
                return false;
            i++;
            c->need--;
            c->lo = 0x80;
            c->hi = 0xbf;
        }
    }
    return true;
}

bool utf8_check_done(const struct utf8_check *c)
{
    return c->need == 0;
}

bool utf8_is_valid(const void *bytes, size_t len)
{
    struct utf8_check c = {0};

    return utf8_check_feed(&c, bytes, len) && utf8_check_done(&c);
}

size_t utf8_char_len(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    struct utf8_check c = {0};
    size_t n;

    if (len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (!utf8_start(p[0], &c))
        return 0;
    n = 1 + (size_t)c.need;
    return n <= len && utf8_check_feed(&c, p + 1, n - 1) ? n : 0;
}

size_t utf8_open_tail(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;

    for (size_t back = 1; back <= 3 && back <= len; back++) {
        struct utf8_check c = {0};
        uint8_t first = p[len - back];

        if (first < 0x80)
            return 0;
        if (first < 0xc0)
            continue;
        if (utf8_check_feed(&c, p + len - back, back) && !utf8_check_done(&c))
            return back;
        return 0;
    }
    return 0;
}

static const char base64_std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    char group[4];

    for (; len >= 3; p += 3, len -= 3) {
        group[0] = base64_std[p[0] >> 2];
        group[1] = base64_std[(p[0] & 3) << 4 | p[1] >> 4];
        group[2] = base64_std[(p[1] & 15) << 2 | p[2] >> 6];
        group[3] = base64_std[p[2] & 63];
        buf_put(out, group, 4);
    }
    if (len > 0) {
        uint8_t second = len == 2 ? p[1] : 0;

        group[0] = base64_std[p[0] >> 2];
        group[1] = base64_std[(p[0] & 3) << 4 | second >> 4];
        group[2] = '=';
        group[3] = '=';
        if (len == 2)
            group[2] = base64_std[(second & 15) << 2];
        buf_put(out, group, 4);
    }
}

/* -1 for a character that is in neither alphabet. */
static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    if (c == '/' || c == '_')
        return 63;
    return -1;
}

/* Strips the padding and checks that it matches the alphabet. */
static bool base64_shape(const char *text, size_t *len)
{
    bool padded = *len > 0 && text[*len - 1] == '=';
    bool std = memchr(text, '+', *len) != NULL || memchr(text, '/', *len) != NULL;
    bool url = memchr(text, '-', *len) != NULL || memchr(text, '_', *len) != NULL;

    if (std && url)
        return false;
    if ((std || padded) && *len % 4 != 0)
        return false;
    if (url && padded)
        return false;
    for (int i = 0; i < 2 && *len > 0 && text[*len - 1] == '='; i++)
        --*len;
    return *len % 4 != 1;
}

static bool base64_decode_into(struct buf *out, const char *text, size_t len)
{
    uint32_t bits = 0;
    int held = 0;

    for (size_t i = 0; i < len; i++) {
        int v = base64_value(text[i]);

        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        held += 6;
        if (held >= 8) {
            held -= 8;
            buf_putc(out, (char)(bits >> held));
        }
    }
    /* Leftover bits must be zero: one text for one sequence of bytes. */
    return (bits & ((1u << held) - 1)) == 0;
}

bool base64_decode(struct buf *out, const char *text, size_t len)
{
    size_t start = out->len;

    if (len == 0)
        return true;
    if (!base64_shape(text, &len))
        return false;
    if (!base64_decode_into(out, text, len)) {
        out->len = start;
        return false;
    }
    return true;
}

void base32_encode(char *out, const void *bytes, size_t len)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    const uint8_t *p = bytes;
    uint32_t bits = 0;
    int held = 0;

    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | p[i];
        held += 8;
        while (held >= 5) {
            held -= 5;
            *out++ = digits[bits >> held & 31];
        }
    }
    if (held > 0)
        *out++ = digits[bits << (5 - held) & 31];
    *out = '\0';
}

void hex_encode(char *out, const void *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = bytes;

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[p[i] >> 4];
        *out++ = digits[p[i] & 15];
    }
    *out = '\0';
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

void text_percent_encode(struct buf *out, const char *text, const char *plain)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                        (c >= 'a' && c <= 'z') || strchr(plain, c) != NULL;

        if (is_plain)
            buf_putc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

bool text_to_u64(const char *s, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    if (*s == '\0')
        return false;
    for (; *s != '\0'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');

        if (*s < '0' || *s > '9')
            return false;
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (v > max)
        return false;
    *out = v;
    return true;
}

bool text_to_i64(const char *s, int64_t min, int64_t max, int64_t *out)
{
    bool negative = *s == '-';
    uint64_t size;
    int64_t v;

    if (!text_to_u64(s + negative, (uint64_t)INT64_MAX + negative, &size))
        return false;
    /* Negated as unsigned, where INT64_MIN has no overflow. */
    v = (int64_t)(negative ? -size : size);
    if (v < min || v > max)
        return false;
    *out = v;
    return true;
}

int text_to_bool(const char *s)
{
    static const char *const words[][2] = {{"0", "1"}, {"f", "t"},    {"false", "true"},
                                           {"n", "y"}, {"no", "yes"}, {"off", "on"}};

    for (size_t i = 0; s != NULL && i < sizeof words / sizeof *words; i++)
        for (int value = 0; value < 2; value++)
            if (strcasecmp(s, words[i][value]) == 0)
                return value;
    return -1;
}
