/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_query.c - queries that programs send to their terminal: recognising, blanking, replying.
 * Layer: term.
 */
#include "term/term_query.h"

#include <string.h>

#define CAN '\x18'
#define ESC 0x1b

/* --- recognising --------------------------------------------------------------------- */

/* DSR, both kinds: all are queries; we can reply to two of them. */
static enum query_kind of_status(const struct vt *v, bool dec)
{
    int32_t n = vt_param_raw(v, 0);

    if (n == 6)
        return dec ? QUERY_CURSOR_DEC : QUERY_CURSOR;
    return n == 5 && !dec ? QUERY_STATUS : QUERY_OTHER;
}

/* XTWINOPS: those that report the window's state, sizes and titles. */
static enum query_kind of_window(const struct vt *v)
{
    int32_t n = vt_param_raw(v, 0);

    return n == 11 || (n >= 13 && n <= 21) ? QUERY_OTHER : QUERY_NONE;
}

enum query_kind query_of_csi(const struct vt *v, uint32_t id)
{
    switch (id) {
    case 'c': return vt_param_raw(v, 0) == 0 ? QUERY_DA1 : QUERY_OTHER;
    case VT_ID('>', 0, 'c'): return vt_param_raw(v, 0) == 0 ? QUERY_DA2 : QUERY_OTHER;
    case 'n': return of_status(v, false);
    case VT_ID('?', 0, 'n'): return of_status(v, true);
    case VT_ID(0, '$', 'p'): return QUERY_MODE;
    case VT_ID('?', '$', 'p'): return QUERY_MODE_DEC;
    case VT_ID('>', 0, 'q'): return QUERY_VERSION;
    case 't': return of_window(v);
    case VT_ID('=', 0, 'c'): /* DA3 */
    case 'x':                /* DECREQTPARM */
    case VT_ID('?', 0, 'u'): /* kitty's keyboard flags */
    case VT_ID('?', 0, 'm'): /* modifyOtherKeys */
    case VT_ID('?', 0, 'S'): /* graphics attributes */
    case VT_ID(0, '*', 'y'): /* checksum of a rectangle */
    case VT_ID(0, '&', 'u'): /* user preferred set */
    case VT_ID(0, '"', 'v'): /* displayed extent */
    case VT_ID(0, '+', 'x'): /* function keys */
    case VT_ID(0, '$', 'u'): /* state of the terminal */
    case VT_ID(0, '$', 'w'): /* cursor and tab stops */
    case VT_ID(0, '\'', '|'): /* locator position */ return QUERY_OTHER;
    default: return QUERY_NONE;
    }
}

enum query_kind query_of_esc(uint32_t id)
{
    return id == 'Z' ? QUERY_OTHER : QUERY_NONE; /* DECID */
}

/* --- strings ----------------------------------------------------------------------------- */

enum { IN_NUMBER, AT_ITEM, AFTER_MARK, IN_ITEM, NOT_A_NUMBER };

void query_string_begin(struct query_string *s, enum vt_string kind, uint32_t id)
{
    *s = (struct query_string){.number = -1};
    if (kind != VT_STRING_OSC) {
        s->place = NOT_A_NUMBER;
        s->dcs_is_query =
            kind == VT_STRING_DCS &&
            (id == VT_ID(0, '$', 'q') || id == VT_ID(0, '+', 'q')); /* DECRQSS, XTGETTCAP */
    }
}

/* An item that is just "?" requests the value: 10;? and 4;1;? and 52;c;? */
static void item_byte(struct query_string *s, char c)
{
    if (c == ';') {
        s->is_query |= s->place == AFTER_MARK;
        s->place = AT_ITEM;
    } else {
        s->place = s->place == AT_ITEM && c == '?' ? AFTER_MARK : IN_ITEM;
    }
}

static void number_byte(struct query_string *s, char c)
{
    if (c == ';')
        s->place = AT_ITEM;
    else if (c < '0' || c > '9' || s->number > 99999)
        s->place = NOT_A_NUMBER;
    else
        s->number = (s->number < 0 ? 0 : s->number * 10) + (c - '0');
}

void query_string_put(struct query_string *s, const char *bytes, size_t len)
{
    size_t i;

    for (i = 0; i < len && s->place != NOT_A_NUMBER; i++) {
        if (s->place == IN_NUMBER)
            number_byte(s, bytes[i]);
        else
            item_byte(s, bytes[i]);
    }
}

enum query_kind query_string_end(const struct query_string *s)
{
    bool is_query = s->is_query || s->place == AFTER_MARK;
    int32_t n = s->number;

    if (s->dcs_is_query)
        return QUERY_OTHER;
    if (s->place == NOT_A_NUMBER || !is_query)
        return QUERY_NONE;
    if (n >= 10 && n <= 12)
        return QUERY_COLOUR;
    return n == 4 || n == 5 || (n >= 13 && n <= 19) || n == 21 || n == 22 || n == 50 || n == 52 ||
                   n == 60
               ? QUERY_OTHER
               : QUERY_NONE;
}

/* --- blanking -------------------------------------------------------------------------------- */

struct term_query_run {
    struct query_filter *f;
    const char *bytes;
    uint64_t from; /* offset of bytes[0] */
    size_t len;
    bool keep_focus, copied;
    struct buf *out;
};

static char *copy_at(struct term_query_run *r, uint64_t at)
{
    if (!r->copied) {
        buf_clear(r->out);
        buf_put(r->out, r->bytes, r->len);
        r->copied = true;
    }
    return buf_data(r->out) + (at - r->from);
}

/* CAN ends any open token; NUL never has an effect. */
static void wipe(struct term_query_run *r, uint64_t from, uint64_t to)
{
    char *at;

    if (from < r->from)
        from = r->from;
    if (from >= to)
        return;
    at = copy_at(r, from);
    memset(at, 0, (size_t)(to - from));
    at[0] = CAN;
}

/* The blanks may have to end something, as the query did: the query's own start, which was
 * already sent, or a sequence or string that it interrupted. */
static void blank(struct term_query_run *r, uint64_t from, uint64_t to)
{
    uint8_t broke = r->f->vt.broke;

    wipe(r, from, to);
    if (from < r->from || to - from < 2 || broke == VT_BROKE_SEQUENCE)
        return;
    if (broke == VT_BROKE_STRING)
        memcpy(copy_at(r, from), "\x1b\\", 2); /* ST, so that the string takes effect */
    else
        *copy_at(r, from) = '\0';
}

static bool wants_focus(const struct term_query_run *r, const struct vt *v, uint32_t id)
{
    unsigned i;

    if (r->keep_focus || id != VT_ID('?', 0, 'h'))
        return false;
    for (i = 0; i < v->count; i++)
        if (v->params[i] == 1004 && v->count == 1)
            return true;
    return false;
}

static void run_csi(void *arg, const struct vt *v, uint32_t id)
{
    struct term_query_run *r = arg;

    if (query_of_csi(v, id) != QUERY_NONE || wants_focus(r, v, id))
        blank(r, v->token_at, v->at);
}

static void run_esc(void *arg, const struct vt *v, uint32_t id)
{
    if (query_of_esc(id) != QUERY_NONE)
        blank(arg, v->token_at, v->at);
}

static void run_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct term_query_run *r = arg;

    (void)v;
    query_string_begin(&r->f->string, kind, id);
}

static void run_string_put(void *arg, const char *bytes, size_t len)
{
    struct term_query_run *r = arg;

    query_string_put(&r->f->string, bytes, len);
}

/* The ESC of ST stays: with only its backslash it does nothing. BEL and the one-character ST are
 * blanked. */
static void run_string_end(void *arg, const struct vt *v, bool ok, uint8_t end)
{
    struct term_query_run *r = arg;

    if (ok && query_string_end(&r->f->string) != QUERY_NONE)
        blank(r, v->token_at, end == ESC ? v->at - 1 : v->at);
}

static const struct vt_ops run_ops = {
    .csi = run_csi,
    .esc = run_esc,
    .string_begin = run_string_begin,
    .string_put = run_string_put,
    .string_end = run_string_end,
};

void query_filter_start(struct query_filter *f, uint64_t at)
{
    memset(f, 0, sizeof *f);
    f->vt.at = at;
}

/*
 * All of a query but its end was already sent, so the ESC of its ST would make the terminal reply.
 * The ESC becomes CAN and the backslash NUL, so that both sides continue from the ground state.
 * Returns the number of bytes replaced.
 */
static size_t cut_off(struct term_query_run *r)
{
    struct vt *v = &r->f->vt;
    size_t n = 0;
    bool is_query =
        (v->state == VT_OSC || v->state == VT_DCS) && query_string_end(&r->f->string) != QUERY_NONE;

    if (r->len > 0 && is_query && r->bytes[0] == 0x1b) {
        *copy_at(r, r->from) = CAN;
        vt_reset(v);
        r->f->lost_esc = true;
        n++;
    }
    if (n < r->len && r->f->lost_esc) {
        r->f->lost_esc = false;
        if (r->bytes[n] == '\\')
            *copy_at(r, r->from + n++) = '\0';
    }
    v->at += n;
    return n;
}

bool query_filter_run(struct query_filter *f, const char *bytes, size_t len, bool keep_focus,
                      struct buf *out)
{
    struct term_query_run r = {f, bytes, f->vt.at, len, keep_focus, false, out};
    size_t done = cut_off(&r);

    vt_feed(&f->vt, &run_ops, &r, bytes + done, len - done);
    return r.copied;
}

/* --- replying ---------------------------------------------------------------------------- */

/* The colours of a dark terminal: foreground, background, cursor. */
static bool reply_colour(struct buf *out, const struct query *q)
{
    const char *rgb = q->number == 11 ? "0000/0000/0000" : "ffff/ffff/ffff";

    buf_printf(out, "\x1b]%d;rgb:%s%s", q->number, rgb, q->end == 0x07 ? "\x07" : "\x1b\\");
    return true;
}

bool query_write_reply(struct buf *out, const struct query *q, const struct modes *m, int x, int y)
{
    switch (q->kind) {
    case QUERY_DA1: buf_puts(out, "\x1b[?1;2c"); return true;
    case QUERY_DA2: buf_puts(out, "\x1b[>0;276;0c"); return true;
    case QUERY_STATUS: buf_puts(out, "\x1b[0n"); return true;
    case QUERY_CURSOR: buf_printf(out, "\x1b[%d;%dR", y + 1, x + 1); return true;
    case QUERY_CURSOR_DEC: buf_printf(out, "\x1b[?%d;%dR", y + 1, x + 1); return true;
    case QUERY_MODE:
        buf_printf(out, "\x1b[%d;%d$y", q->number, modes_report(m, false, q->number));
        return true;
    case QUERY_MODE_DEC:
        buf_printf(out, "\x1b[?%d;%d$y", q->number, modes_report(m, true, q->number));
        return true;
    case QUERY_VERSION: buf_puts(out, "\x1bP>|holdfast(" HF_VERSION ")\x1b\\"); return true;
    case QUERY_COLOUR: return reply_colour(out, q);
    default: return false;
    }
}

bool query_is_reply(const char *bytes, size_t len)
{
    size_t i = 2;

    if (len < 3 || bytes[0] != '\x1b')
        return false;
    if (bytes[1] == ']' || bytes[1] == 'P') /* colours; modes and capabilities */
        return true;
    if (bytes[1] != '[')
        return false;
    while (i < len && bytes[i] >= 0x20 && bytes[i] <= 0x3f)
        i++;
    return i > 2 && i < len && bytes[i] != '\0' && strchr("cnRxyt", bytes[i]) != NULL;
}
