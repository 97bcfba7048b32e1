/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asciicast.c - writes asciicast v2. Layer: dialects.
 */
#include "dialects/native/output/asciicast.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* --- lines -------------------------------------------------------------------- */

static void put_event(struct asciicast *a, int64_t time_ms, const char *code, const char *data,
                      size_t len)
{
    int64_t at = time_ms - a->base_ms;
    struct json_out o;
    char seconds[32];

    if (at < a->last_ms)
        at = a->last_ms;
    a->last_ms = at;
    snprintf(seconds, sizeof seconds, "%lld.%03d", (long long)(at / 1000), (int)(at % 1000));
    json_out_init(&o, a->out);
    json_open(&o, '[');
    json_raw(&o, seconds, strlen(seconds));
    json_str(&o, code);
    json_strn(&o, data, len);
    json_close(&o, ']');
    buf_putc(a->out, '\n');
}

void asciicast_begin(struct asciicast *a, const struct asciicast_head *h)
{
    struct json_out o;

    json_out_init(&o, a->out);
    json_open(&o, '{');
    json_kint(&o, "version", 2);
    json_kint(&o, "width", a->cols);
    json_kint(&o, "height", a->rows);
    json_kint(&o, "timestamp", a->base_ms / 1000);
    if (h->title != NULL)
        json_kstr(&o, "title", h->title);
    if (h->command != NULL)
        json_kstr(&o, "command", h->command);
    json_kopen(&o, "env", '{');
    json_kstr(&o, "TERM", "xterm-256color");
    json_close(&o, '}');
    json_close(&o, '}');
    buf_putc(a->out, '\n');
}

void asciicast_resize(struct asciicast *a, int64_t time_ms, uint16_t rows, uint16_t cols)
{
    char size[24];

    if (rows == a->rows && cols == a->cols)
        return;
    a->rows = rows;
    a->cols = cols;
    snprintf(size, sizeof size, "%dx%d", cols, rows);
    put_event(a, time_ms, "r", size, strlen(size));
}

void asciicast_gap(struct asciicast *a, uint64_t from, uint64_t to)
{
    char text[80];

    asciicast_flush(a);
    snprintf(text, sizeof text, "gap: output from %llu to %llu was lost", (unsigned long long)from,
             (unsigned long long)to);
    put_event(a, a->base_ms + a->last_ms, "m", text, strlen(text));
}

/* --- text ------------------------------------------------------------------------ */

/* How many bytes one U+FFFD replaces: all that could still have become a character. */
static size_t bad_run(const char *s, size_t len)
{
    struct utf8_check c = {0};
    size_t n = 0;

    while (n < len && utf8_check_feed(&c, s + n, 1))
        n++;
    return n > 0 ? n : 1;
}

/* A line feed that a terminal would have preceded with a carriage return. */
static bool needs_cr(const struct asciicast *a, const char *s, size_t at)
{
    return a->cook && s[at] == '\n' && !(at > 0 ? s[at - 1] == '\r' : a->cr);
}

/* How many bytes can be copied unchanged. */
static size_t clean_run(const struct asciicast *a, const char *s, size_t len)
{
    size_t at = 0, n;

    while (at < len && (n = utf8_char_len(s + at, len - at)) > 0 && !needs_cr(a, s, at))
        at += n;
    return at;
}

/* Valid characters unchanged, everything else as U+FFFD. */
static void put_text(struct asciicast *a, const char *s, size_t len)
{
    while (len > 0) {
        size_t n = clean_run(a, s, len);

        if (n > 0) {
            buf_put(a->text, s, n);
            a->cr = s[n - 1] == '\r';
        } else if (*s == '\n') {
            buf_putc(a->text, '\r');
            a->cr = true; /* so the line feed needs no other */
        } else {
            n = bad_run(s, len);
            buf_puts(a->text, REPLACEMENT);
            a->cr = false;
        }
        s += n;
        len -= n;
    }
}

static void put_output(struct asciicast *a, int64_t time_ms)
{
    if (a->text->len > 0)
        put_event(a, time_ms, "o", buf_data(a->text), a->text->len);
    buf_clear(a->text);
}

void asciicast_flush(struct asciicast *a)
{
    if (a->held_len == 0)
        return;
    buf_clear(a->text);
    put_text(a, a->held, a->held_len);
    a->held_len = 0;
    put_output(a, a->base_ms + a->last_ms);
}

/* Extends the pending bytes until they are a character or can never be one; returns how many bytes
 * it consumed. */
static size_t complete_held(struct asciicast *a, const char *bytes, size_t len)
{
    size_t taken = 0;

    while (a->held_len > 0 && taken < len) {
        a->held[a->held_len++] = bytes[taken++];
        if (utf8_open_tail(a->held, a->held_len) == a->held_len)
            continue;
        /* If the last byte did not fit, it starts a new character. */
        if (utf8_char_len(a->held, a->held_len) != a->held_len) {
            a->held_len--;
            taken--;
        }
        put_text(a, a->held, a->held_len);
        a->held_len = 0;
    }
    return taken;
}

void asciicast_output(struct asciicast *a, int64_t time_ms, int8_t lane, const char *bytes,
                      size_t len)
{
    size_t taken, open;

    if (lane != a->lane)
        asciicast_flush(a);
    a->lane = lane;
    buf_clear(a->text);
    taken = complete_held(a, bytes, len);
    bytes += taken;
    len -= taken;
    if (len > 0) {
        open = utf8_open_tail(bytes, len);
        put_text(a, bytes, len - open);
        memcpy(a->held, bytes + len - open, open);
        a->held_len = (uint8_t)open;
    }
    put_output(a, time_ms);
}
