/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osc.c - title, directory, prompt marks and bell in a stream of output. Layer: term.
 */
#include "term/osc.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum {
    BEL = 0x07,
    CAN = 0x18,
    SUB = 0x1a,
    ESC = 0x1b,
};

enum osc_state {
    GROUND,
    ESCAPED,  /* after ESC */
    NUMBER,   /* after ESC ] */
    TEXT,     /* of a number that we parse */
    SKIP,     /* of one that we ignore */
    TEXT_ESC, /* ESC in it: its end, or the beginning of another sequence */
    SKIP_ESC,
    STRING, /* DCS, SOS, PM, APC: to their ST */
    STRING_ESC,
};

void osc_init(struct osc *o, uint64_t at)
{
    o->at = o->start = at;
    o->state = GROUND;
    o->len = o->number = 0;
    o->cut = false;
}

uint64_t osc_resume_at(const struct osc *o)
{
    return o->state == GROUND ? o->at : o->start;
}

/* --- complete sequences ------------------------------------------------------------- */

static bool host_is_ours(const char *host, size_t len)
{
    char name[256] = "";

    if (len == 0 || (len == 9 && memcmp(host, "localhost", 9) == 0))
        return true;
    if (gethostname(name, sizeof name - 1) < 0)
        return false;
    return strlen(name) == len && memcmp(name, host, len) == 0;
}

/* Decodes in place; returns the new length, or 0 if it is no path. A '%' that starts no escape
 * stands for itself. */
static size_t decode_path(char *s, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        char c = s[i];

        if (c == '%' && i + 2 < len && hex_digit(s[i + 1]) >= 0 && hex_digit(s[i + 2]) >= 0) {
            c = (char)(hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2]));
            i += 2;
        }
        if (c == '\0')
            return 0;
        s[n++] = c;
    }
    s[n] = '\0';
    return n;
}

/* file://HOST/PATH or a plain path; a path on another host is ignored. */
static bool take_cwd(struct osc *o, struct osc_event *e)
{
    char *path = o->text;
    size_t len = o->len;

    if (o->cut)
        return false;
    if (len > 7 && memcmp(path, "file://", 7) == 0) {
        char *slash = memchr(path + 7, '/', len - 7);

        if (slash == NULL || !host_is_ours(path + 7, (size_t)(slash - path - 7)))
            return false;
        len -= (size_t)(slash - path);
        path = slash;
    }
    if (len == 0 || path[0] != '/')
        return false;
    len = decode_path(path, len);
    e->kind = OSC_CWD;
    e->text = path;
    e->len = len;
    return len > 0 && utf8_is_valid(path, len);
}

static bool take_title(struct osc *o, struct osc_event *e)
{
    while (o->cut && o->len > 0 && ((unsigned char)o->text[o->len] & 0xC0) == 0x80)
        o->len--;
    o->text[o->len] = '\0';
    e->kind = OSC_TITLE;
    e->text = o->text;
    e->len = o->len;
    return memchr(o->text, '\0', o->len) == NULL && utf8_is_valid(o->text, o->len);
}

/* "D", "D;0", "D;1;aid=…"; what other shells append is ignored. */
static bool take_mark(const struct osc *o, struct osc_event *e)
{
    int code = 0;
    size_t i = 2;

    if (o->len < 1 || o->text[0] < 'A' || o->text[0] > 'D' || (o->len > 1 && o->text[1] != ';'))
        return false;
    e->kind = OSC_MARK;
    e->mark = o->text[0];
    while (i < o->len && i < 5 && o->text[i] >= '0' && o->text[i] <= '9')
        code = code * 10 + (o->text[i++] - '0');
    if (e->mark == 'D' && i > 2 && (i == o->len || o->text[i] == ';') && code <= 255)
        e->exit_code = code;
    return true;
}

static void finish(struct osc *o, osc_fn *fn, void *arg)
{
    struct osc_event e = {.exit_code = -1, .start = o->start, .end = o->at};
    bool known = false;

    /* One byte more than the limit was kept, to detect whether the cut splits a character. */
    if (o->cut)
        o->len = OSC_TEXT_MAX;
    else
        o->text[o->len] = '\0';
    switch (o->number) {
    case 0:
    case 2: known = take_title(o, &e); break;
    case 7: known = take_cwd(o, &e); break;
    case 133: known = take_mark(o, &e); break;
    default: break;
    }
    o->state = GROUND;
    if (known)
        fn(arg, &e);
}

/* --- bytes --------------------------------------------------------------------------- */

static void begin(struct osc *o, uint64_t at)
{
    o->state = ESCAPED;
    o->start = at;
}

static void ring(const struct osc *o, osc_fn *fn, void *arg)
{
    const struct osc_event e = {.kind = OSC_BELL, .start = o->at - 1, .end = o->at};

    fn(arg, &e);
}

static void on_escaped(struct osc *o, uint8_t c, osc_fn *fn, void *arg)
{
    switch (c) {
    case ESC: begin(o, o->at - 1); return;
    case ']':
        o->state = NUMBER;
        o->number = o->len = 0;
        o->cut = false;
        return;
    case 'P':
    case 'X':
    case '^':
    case '_': o->state = STRING; return;
    case BEL: ring(o, fn, arg); break;
    default: break;
    }
    o->state = GROUND;
}

static void on_number(struct osc *o, uint8_t c)
{
    bool counts =
        o->len > 0 && (o->number == 0 || o->number == 2 || o->number == 7 || o->number == 133);

    if (c >= '0' && c <= '9' && o->len < 4) {
        o->number = (uint16_t)(o->number * 10 + (c - '0'));
        o->len++;
    } else if (c == ';' && counts) {
        o->state = TEXT;
        o->len = 0;
    } else if (c == ESC) {
        o->state = SKIP_ESC;
    } else {
        o->state = c == BEL || c == CAN || c == SUB ? GROUND : SKIP;
    }
}

static void on_text(struct osc *o, uint8_t c, osc_fn *fn, void *arg)
{
    if (c == BEL) {
        finish(o, fn, arg);
    } else if (c == ESC) {
        o->state = TEXT_ESC;
    } else if (c == CAN || c == SUB) {
        o->state = GROUND;
    } else if (o->len <= OSC_TEXT_MAX) {
        o->cut = o->len == OSC_TEXT_MAX;
        o->text[o->len++] = (char)c;
    }
}

static void on_byte(struct osc *o, uint8_t c, osc_fn *fn, void *arg)
{
    o->at++;
    switch ((enum osc_state)o->state) {
    case GROUND:
        if (c == ESC)
            begin(o, o->at - 1);
        else if (c == BEL)
            ring(o, fn, arg);
        break;
    case ESCAPED: on_escaped(o, c, fn, arg); break;
    case NUMBER: on_number(o, c); break;
    case TEXT: on_text(o, c, fn, arg); break;
    case SKIP:
    case STRING:
        if (c == ESC)
            o->state = o->state == SKIP ? SKIP_ESC : STRING_ESC;
        else if (c == CAN || c == SUB || (c == BEL && o->state == SKIP))
            o->state = GROUND;
        break;
    case TEXT_ESC:
    case SKIP_ESC:
    case STRING_ESC:
        if (c == '\\' && o->state == TEXT_ESC) {
            finish(o, fn, arg);
        } else if (c == '\\') {
            o->state = GROUND;
        } else { /* the string was aborted by another sequence */
            begin(o, o->at - 2);
            on_escaped(o, c, fn, arg);
        }
        break;
    }
}

/* In plain text only ESC and BEL matter. Each is searched for separately, and the position of
 * the farther one is kept, so that every byte is scanned at most twice. */
void osc_feed(struct osc *o, const void *bytes, size_t len, osc_fn *fn, void *arg)
{
    const uint8_t *p = bytes, *end = p + len, *esc = NULL, *bel = NULL;

    while (p < end) {
        if (o->state == GROUND) {
            const uint8_t *next;

            if (esc == NULL || esc < p)
                esc = memchr(p, ESC, (size_t)(end - p));
            if (esc == NULL)
                esc = end;
            if (bel == NULL || bel < p)
                bel = memchr(p, BEL, (size_t)(end - p));
            if (bel == NULL)
                bel = end;
            next = esc < bel ? esc : bel;
            o->at += (uint64_t)(next - p);
            p = next;
            if (p == end)
                break;
        }
        on_byte(o, *p++, fn, arg);
    }
}
