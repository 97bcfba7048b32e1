/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_out.c - writes JSON with our own writer
 *
 * Streams of output pass through here, so text is copied in runs: a run ends only at a byte that
 * needs an escape or is not UTF-8. Layer: base.
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

void json_out_init(struct json_out *o, struct buf *buf)
{
    *o = (struct json_out){.buf = buf, .first = {true}};
}

/* Writes the separator before a value or key: a comma, unless it is the first. */
static void json_sep(struct json_out *o)
{
    if (o->after_key)
        o->after_key = false;
    else if (o->first[o->depth])
        o->first[o->depth] = false;
    else
        buf_putc(o->buf, ',');
}

void json_open(struct json_out *o, char bracket)
{
    json_sep(o);
    buf_putc(o->buf, bracket);
    assert(o->depth + 1 < JSON_OUT_DEPTH);
    o->first[++o->depth] = true;
}

void json_close(struct json_out *o, char bracket)
{
    assert(o->depth > 0 && !o->after_key);
    o->depth--;
    buf_putc(o->buf, bracket);
}

/* The second character of a two-character escape; 'u' for six; 0 for none. */
static const char escapes[0x80] = {
    ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
    ['\t'] = 't', [0x00] = 'u',  [0x01] = 'u', [0x02] = 'u', [0x03] = 'u', [0x04] = 'u',
    [0x05] = 'u', [0x06] = 'u',  [0x07] = 'u', [0x0b] = 'u', [0x0e] = 'u', [0x0f] = 'u',
    [0x10] = 'u', [0x11] = 'u',  [0x12] = 'u', [0x13] = 'u', [0x14] = 'u', [0x15] = 'u',
    [0x16] = 'u', [0x17] = 'u',  [0x18] = 'u', [0x19] = 'u', [0x1a] = 'u', [0x1b] = 'u',
    [0x1c] = 'u', [0x1d] = 'u',  [0x1e] = 'u', [0x1f] = 'u',
};

#define EACH_BYTE(c) (0x0101010101010101u * (c))

/*
 * Nonzero if one of the eight bytes is not plain: below 0x20, '"', '\\', or
 * above 0x7f. x - 0x01.. borrows into the top bit of a byte that is zero, and
 * a borrow that runs on can only make more bytes look special, never fewer.
 */
static uint64_t word_special(uint64_t w)
{
    uint64_t quote = w ^ EACH_BYTE('"'), slash = w ^ EACH_BYTE('\\');

    return ((w - EACH_BYTE(0x20)) | (quote - EACH_BYTE(1)) | (slash - EACH_BYTE(1)) | w) &
           EACH_BYTE(0x80);
}

/*
 * The escape of a character that Unicode takes for a line's end; NULL: it is none. Clients that
 * read JSON by the line and split it as Unicode does (Python's) would otherwise cut it in two.
 */
static const char *line_separator(const uint8_t *p, size_t n)
{
    if (n == 2)
        return p[0] == 0xc2 && p[1] == 0x85 ? "\\u0085" : NULL;
    if (n != 3 || p[0] != 0xe2 || p[1] != 0x80)
        return NULL;
    return p[2] == 0xa8 ? "\\u2028" : p[2] == 0xa9 ? "\\u2029" : NULL;
}

/* The number of bytes from p on that can be copied unchanged. */
static size_t clean_run(const uint8_t *p, size_t len)
{
    size_t i = 0;

    while (i < len) {
        uint64_t w;
        size_t n;

        if (len - i >= 8) {
            memcpy(&w, p + i, 8);
            if (word_special(w) == 0) {
                i += 8;
                continue;
            }
        }
        if (p[i] < 0x80) {
            if (escapes[p[i]] != 0)
                break;
            i++;
            continue;
        }
        n = utf8_char_len(p + i, len - i);
        if (n == 0 || line_separator(p + i, n) != NULL)
            break;
        i += n;
    }
    return i;
}

/* How many bytes are consumed. */
static size_t put_escaped(struct buf *b, const uint8_t *p, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t c = *p;
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    size_t n = c >= 0x80 ? utf8_char_len(p, len) : 0;

    if (n > 0) {
        buf_put(b, line_separator(p, n), 6);
        return n;
    }
    if (c >= 0x80) {
        buf_put(b, "\xef\xbf\xbd", 3);
    } else if (escapes[c] != 'u') {
        text[1] = escapes[c];
        buf_put(b, text, 2);
    } else {
        buf_put(b, text, 6);
    }
    return 1;
}

void json_put_text(struct buf *b, const char *s, size_t len)
{
    const uint8_t *p = (const uint8_t *)s;

    while (len > 0) {
        size_t n = clean_run(p, len);

        buf_put(b, p, n);
        if (n < len)
            n += put_escaped(b, p + n, len - n);
        p += n;
        len -= n;
    }
}

/* The character that these bytes encode; U+FFFD if they are invalid. *len: the number of bytes
 * used. */
static uint32_t char_of(const uint8_t *p, size_t *len)
{
    size_t n = utf8_char_len(p, *len);
    uint32_t c = p[0] & (0xffu >> (n + 1));

    *len = n > 0 ? n : 1;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3f);
    return n > 0 ? c : 0xfffd;
}

void json_put_ascii(struct buf *b, const char *json, size_t len)
{
    const uint8_t *p = (const uint8_t *)json;
    size_t n;

    for (size_t i = 0; i < len; i += n) {
        uint32_t c;

        for (n = 0; i + n < len && p[i + n] < 0x80; n++)
            ;
        buf_put(b, p + i, n);
        i += n;
        n = len - i;
        if (n == 0)
            break;
        c = char_of(p + i, &n);
        if (c > 0xffff)
            buf_printf(b, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        else
            buf_printf(b, "\\u%04x", c);
    }
}

static void put_string(struct buf *b, const char *s, size_t len)
{
    buf_putc(b, '"');
    json_put_text(b, s, len);
    buf_putc(b, '"');
}

void json_key(struct json_out *o, const char *key)
{
    assert(!o->after_key);
    json_sep(o);
    put_string(o->buf, key, strlen(key));
    buf_putc(o->buf, ':');
    o->after_key = true;
}

void json_strn(struct json_out *o, const char *s, size_t len)
{
    json_sep(o);
    put_string(o->buf, s, len);
}

void json_base64(struct json_out *o, const void *bytes, size_t len)
{
    json_sep(o);
    buf_putc(o->buf, '"');
    base64_encode(o->buf, bytes, len);
    buf_putc(o->buf, '"');
}

void json_str(struct json_out *o, const char *s)
{
    if (s == NULL)
        json_nil(o);
    else
        json_strn(o, s, strlen(s));
}

static void put_u64(struct buf *b, uint64_t v)
{
    char text[20];
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    buf_put(b, text + at, sizeof text - at);
}

static void put_i64(struct buf *b, int64_t v)
{
    if (v < 0)
        buf_putc(b, '-');
    put_u64(b, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void json_int(struct json_out *o, int64_t v)
{
    json_sep(o);
    put_i64(o->buf, v);
}

void json_u64(struct json_out *o, uint64_t v)
{
    json_sep(o);
    put_u64(o->buf, v);
}

void json_bool(struct json_out *o, bool v)
{
    json_sep(o);
    buf_puts(o->buf, v ? "true" : "false");
}

void json_nil(struct json_out *o)
{
    json_sep(o);
    buf_puts(o->buf, "null");
}

void json_raw(struct json_out *o, const char *json, size_t len)
{
    json_sep(o);
    buf_put(o->buf, json, len);
}

/* The shortest text that reads back as the same number: 0.1, not 0.10000000000000001. */
static void put_real(struct buf *b, double v)
{
    char text[40];

    if (!isfinite(v)) {
        buf_puts(b, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_puts(b, text);
    if (strpbrk(text, ".e") == NULL)
        buf_puts(b, ".0");
}

static void put_tree(struct buf *b, const json_t *v);

static void put_object(struct buf *b, const json_t *v)
{
    json_t *object = (json_t *)v; /* jansson's iterators are not const */
    const char *key;
    json_t *value;
    bool first = true;

    buf_putc(b, '{');
    json_object_foreach (object, key, value) {
        if (!first)
            buf_putc(b, ',');
        first = false;
        put_string(b, key, strlen(key));
        buf_putc(b, ':');
        put_tree(b, value);
    }
    buf_putc(b, '}');
}

static void put_array(struct buf *b, const json_t *v)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (i > 0)
            buf_putc(b, ',');
        put_tree(b, json_array_get(v, i));
    }
    buf_putc(b, ']');
}

/* Recursion is bounded: input from peers is at most JSON_DEPTH_MAX deep. */
static void put_tree(struct buf *b, const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: put_object(b, v); break;
    case JSON_ARRAY: put_array(b, v); break;
    case JSON_STRING: put_string(b, json_string_value(v), json_string_length(v)); break;
    case JSON_INTEGER: put_i64(b, json_integer_value(v)); break;
    case JSON_REAL: put_real(b, json_real_value(v)); break;
    case JSON_TRUE: buf_puts(b, "true"); break;
    case JSON_FALSE: buf_puts(b, "false"); break;
    case JSON_NULL: buf_puts(b, "null"); break;
    }
}

void json_value(struct json_out *o, const json_t *v)
{
    if (v == NULL) {
        json_nil(o);
        return;
    }
    json_sep(o);
    put_tree(o->buf, v);
}

void json_kstr(struct json_out *o, const char *key, const char *s)
{
    json_key(o, key);
    json_str(o, s);
}

void json_kstrn(struct json_out *o, const char *key, const char *s, size_t len)
{
    json_key(o, key);
    json_strn(o, s, len);
}

void json_kint(struct json_out *o, const char *key, int64_t v)
{
    json_key(o, key);
    json_int(o, v);
}

void json_ku64(struct json_out *o, const char *key, uint64_t v)
{
    json_key(o, key);
    json_u64(o, v);
}

void json_kbool(struct json_out *o, const char *key, bool v)
{
    json_key(o, key);
    json_bool(o, v);
}

void json_kopen(struct json_out *o, const char *key, char bracket)
{
    json_key(o, key);
    json_open(o, bracket);
}

void json_knull(struct json_out *o, const char *key)
{
    json_key(o, key);
    json_nil(o);
}

void json_kint_if(struct json_out *o, const char *key, bool known, int64_t v)
{
    if (known)
        json_kint(o, key, v);
    else
        json_knull(o, key);
}

void json_ktime(struct json_out *o, const char *key, int64_t wall_ms)
{
    char text[CLOCK_RFC3339_LEN + 1];

    json_key(o, key);
    if (wall_ms == 0) {
        json_nil(o);
        return;
    }
    clock_rfc3339(wall_ms, text);
    json_strn(o, text, CLOCK_RFC3339_LEN);
}
