/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osc.c - title, directory, prompt marks and bell in a stream of output. Layer: term.
 */
#include "term/osc.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define BEL 0x07
#define ESC 0x1b

void osc_init(struct osc *o, uint64_t at)
{
    o->vt = (struct vt){.at = at};
    o->is_osc = false;
    o->len = 0;
}

/* An ESC that ended a string is not open on its own: with a backslash it makes the string count. */
uint64_t osc_resume_at(const struct osc *o)
{
    if (!vt_is_open(&o->vt))
        return o->vt.at;
    return o->vt.broke == VT_BROKE_STRING ? o->start : o->vt.token_at;
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

/* What follows the number and its ';'. */
struct osc_body {
    char *text;
    size_t len; /* text[len] is a byte, too */
    bool cut;
};

/* file://HOST/PATH or a plain path; a path on another host is ignored. */
static bool take_cwd(struct osc_body b, struct osc_event *e)
{
    b.text[b.len] = '\0';
    if (b.cut)
        return false;
    if (b.len > 7 && memcmp(b.text, "file://", 7) == 0) {
        char *slash = memchr(b.text + 7, '/', b.len - 7);

        if (slash == NULL || !host_is_ours(b.text + 7, (size_t)(slash - b.text - 7)))
            return false;
        b.len -= (size_t)(slash - b.text);
        b.text = slash;
    }
    if (b.len == 0 || b.text[0] != '/')
        return false;
    e->kind = OSC_CWD;
    e->text = b.text;
    e->len = decode_path(b.text, b.len);
    return e->len > 0 && utf8_is_valid(e->text, e->len);
}

static bool take_title(struct osc_body b, struct osc_event *e)
{
    while (b.cut && b.len > 0 && ((unsigned char)b.text[b.len] & 0xC0) == 0x80)
        b.len--;
    b.text[b.len] = '\0';
    e->kind = OSC_TITLE;
    e->text = b.text;
    e->len = b.len;
    return memchr(b.text, '\0', b.len) == NULL && utf8_is_valid(b.text, b.len);
}

/* "D", "D;0", "D;1;aid=…"; what other shells append is ignored. */
static bool take_mark(struct osc_body b, struct osc_event *e)
{
    const char *text = b.text;
    int code = 0;
    size_t i = 2;

    if (b.len < 1 || text[0] < 'A' || text[0] > 'D' || (b.len > 1 && text[1] != ';'))
        return false;
    e->kind = OSC_MARK;
    e->mark = text[0];
    while (i < b.len && i < 5 && text[i] >= '0' && text[i] <= '9')
        code = code * 10 + (text[i++] - '0');
    if (e->mark == 'D' && i > 2 && (i == b.len || text[i] == ';') && code <= 255)
        e->exit_code = code;
    return true;
}

/* `len`: of the whole string, of which the first bytes are in o->text. */
static bool take_string(struct osc *o, size_t len, struct osc_event *e)
{
    size_t i = 0, number = 0;
    struct osc_body b;

    while (i < len && i < OSC_NUMBER_MAX && o->text[i] >= '0' && o->text[i] <= '9')
        number = number * 10 + (size_t)(o->text[i++] - '0');
    if (i == 0 || i >= len || o->text[i] != ';')
        return false;
    b.text = o->text + i + 1;
    b.len = len - i - 1;
    b.cut = b.len > OSC_TEXT_MAX;
    if (b.cut)
        b.len = OSC_TEXT_MAX;
    switch (number) {
    case 0:
    case 2: return take_title(b, e);
    case 7: return take_cwd(b, e);
    case 133: return take_mark(b, e);
    default: return false;
    }
}

/* --- parser callbacks ------------------------------------------------------------------ */

struct osc_feed {
    struct osc *o;
    const char *bytes;
    uint64_t from; /* offset of bytes[0] */
    osc_fn *fn;
    void *arg;
};

/* Keeps what arrived of an open string up to an offset. */
static void collect(struct osc_feed *f, uint64_t to)
{
    struct osc *o = f->o;
    uint64_t at = o->text_at + o->len;
    size_t n = to > at ? (size_t)(to - at) : 0;

    if (n > sizeof o->text - o->len)
        n = sizeof o->text - o->len;
    if (n > 0)
        memcpy(o->text + o->len, f->bytes + (at - f->from), n);
    o->len = (uint16_t)(o->len + n);
}

static void finish(struct osc_feed *f, uint64_t text_end)
{
    struct osc *o = f->o;
    struct osc_event e = {.exit_code = -1, .start = o->start, .end = o->vt.at};

    if (take_string(o, (size_t)(text_end - o->text_at), &e))
        f->fn(f->arg, &e);
    o->is_osc = false;
}

static void on_control(void *arg, uint8_t c)
{
    struct osc_feed *f = arg;
    const struct osc_event e = {.kind = OSC_BELL, .start = f->o->vt.at - 1, .end = f->o->vt.at};

    if (c == BEL && f->o->vt.state == VT_GROUND)
        f->fn(f->arg, &e);
}

static void on_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct osc *o = ((struct osc_feed *)arg)->o;

    (void)id;
    o->start = v->token_at;
    o->text_at = v->at;
    o->is_osc = kind == VT_STRING_OSC;
    o->len = 0;
}

static void on_string_end(void *arg, const struct vt *v, bool ok, uint8_t end)
{
    struct osc_feed *f = arg;
    uint64_t text_end = v->at - 1;

    if (!f->o->is_osc)
        return;
    f->o->is_osc = ok;
    collect(f, text_end);
    if (ok && end != ESC)
        finish(f, text_end);
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    struct osc_feed *f = arg;

    if (id == '\\' && v->broke == VT_BROKE_STRING && f->o->is_osc)
        finish(f, v->token_at);
}

static const struct vt_ops ops = {
    .control = on_control,
    .esc = on_esc,
    .string_begin = on_string_begin,
    .string_end = on_string_end,
    .esc_only = true,
};

void osc_feed(struct osc *o, const void *bytes, size_t len, osc_fn *fn, void *arg)
{
    struct osc_feed f = {o, bytes, o->vt.at, fn, arg};

    vt_feed(&o->vt, &ops, &f, bytes, len);
    if (o->vt.state == VT_OSC)
        collect(&f, o->vt.at);
}
