/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_guard.c - follows escape sequences and undoes what they changed. Layer: cli.
 */
#include "cli/client/screen_guard.h"

#include <string.h>

#define ENQ 0x05
#define SO 0x0e
#define CAN 0x18
#define ESC 0x1b
#define KITTY_DEPTH_MAX 32

/* DEC private modes to restore: number, and whether they are on in a reset terminal. */
static const struct {
    uint16_t number;
    bool on;
} modes[] = {
    {1, false},    {5, false},    {6, false},    {7, true},     {9, false},    {12, false},
    {25, true},    {47, false},   {66, false},   {1000, false}, {1001, false}, {1002, false},
    {1003, false}, {1004, false}, {1005, false}, {1006, false}, {1015, false}, {1016, false},
    {1047, false}, {1049, false}, {2004, false}, {2026, false}, {2031, false}, {2048, false},
};
#define MODES (sizeof modes / sizeof modes[0])

/* A run of screen_guard_feed(). */
struct guarding {
    struct screen_guard *g;
    const char *bytes;
    uint64_t from; /* offset of bytes[0] */
    struct buf *out;
};

/* --- what a sequence changes --------------------------------------------------------------- */

static void note_mode(struct screen_changes *c, int number, bool on)
{
    for (size_t i = 0; i < MODES; i++)
        if (modes[i].number == number) {
            uint64_t bit = 1ULL << i;
            c->modes = on != modes[i].on ? c->modes | bit : c->modes & ~bit;
        }
}

static bool mode_is_changed(const struct screen_guard *g, int number)
{
    for (size_t i = 0; i < MODES; i++)
        if (modes[i].number == number)
            return (g->changes.modes >> i) & 1;
    return false;
}

bool screen_guard_is_full_screen(const struct screen_guard *g)
{
    return mode_is_changed(g, 1049) || mode_is_changed(g, 1047) || mode_is_changed(g, 47);
}

/* CSI m and CSI 0 m, CSI r and CSI 0;0 r */
static bool params_are_default(const struct vt *v)
{
    for (unsigned i = 0; i < v->count; i++)
        if (v->params[i] > 0)
            return false;
    return true;
}

static void note_csi(struct screen_changes *c, const struct vt *v, uint32_t id)
{
    switch (id) {
    case VT_ID('?', 0, 'h'):
    case VT_ID('?', 0, 'l'):
        for (unsigned i = 0; i < v->count; i++)
            note_mode(c, v->params[i], (id & 0xff) == 'h');
        break;
    case 'm': c->style = !params_are_default(v); break;
    case 'r': c->region = !params_are_default(v); break;
    case VT_ID(0, ' ', 'q'): c->cursor = true; break;
    case VT_ID(0, '!', 'p'): *c = (struct screen_changes){0}; break;
    case VT_ID('>', 0, 'u'): c->kitty_depth += c->kitty_depth < KITTY_DEPTH_MAX; break;
    case VT_ID('<', 0, 'u'): c->kitty_depth -= c->kitty_depth > 0; break;
    default: break;
    }
}

static void note_esc(struct screen_changes *c, uint32_t id)
{
    uint32_t set = id >> 8; /* a character set is chosen: ESC ( 0 */

    if (id == '=' || id == '>')
        c->keypad = id == '=';
    else if (id == 'c')
        *c = (struct screen_changes){0};
    else if (set > 0 && set <= 0x7f && strchr("()*+-./", (int)set) != NULL && (id & 0xff) != 'B')
        c->shifted = true;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Passes the bytes up to an offset on; `out` NULL: drops them. */
static void advance(struct guarding *f, uint64_t to, struct buf *out)
{
    struct screen_guard *g = f->g;
    size_t n = (size_t)(to - g->passed), held = n < g->held_len ? n : g->held_len;

    if (out != NULL) {
        buf_put(out, g->held, held);
        if (n > held)
            buf_put(out, f->bytes + (g->passed + held - f->from), n - held);
    }
    g->held_len -= held;
    memmove(g->held, g->held + held, g->held_len);
    g->passed = to;
}

/* The ESC of an ST whose string was dropped. */
static bool ends_dropped(const struct screen_guard *g)
{
    return g->vt.broke == VT_BROKE_STRING && g->vt.token_at == g->dropped_to;
}

/* Drops the bytes of a query. What it interrupted has to end without it. */
static void drop(struct guarding *f, uint64_t from, uint64_t to)
{
    struct screen_guard *g = f->g;
    bool ends_string = g->vt.broke == VT_BROKE_STRING && !ends_dropped(g);

    if (!g->replaying || from < g->passed || to - from > GUARD_SEQUENCE_MAX)
        return;
    advance(f, from, f->out);
    advance(f, to, NULL);
    g->dropped_to = to;
    if (g->vt.broke == VT_BROKE_SEQUENCE)
        buf_putc(f->out, CAN);
    else if (ends_string)
        buf_puts(f->out, "\033\\");
}

/* --- parser callbacks ----------------------------------------------------------------- */

static void on_control(void *arg, uint8_t c)
{
    struct guarding *f = arg;
    struct screen_guard *g = f->g;

    if (c == SO)
        g->changes.shifted = true;
    if (c != ENQ || g->vt.state != VT_GROUND || !g->replaying)
        return;
    advance(f, g->vt.token_at, f->out);
    advance(f, g->vt.at, NULL);
}

static void on_csi(void *arg, const struct vt *v, uint32_t id)
{
    struct guarding *f = arg;

    note_csi(&f->g->changes, v, id);
    if (query_of_csi(v, id) != QUERY_NONE)
        drop(f, v->token_at, v->at);
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    struct guarding *f = arg;

    note_esc(&f->g->changes, id);
    if (query_of_esc(id) != QUERY_NONE || (id == '\\' && ends_dropped(f->g)))
        drop(f, v->token_at, v->at);
}

static void on_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct guarding *f = arg;

    (void)v;
    query_string_begin(&f->g->string, kind, id);
}

static void on_string_put(void *arg, const char *bytes, size_t len)
{
    struct guarding *f = arg;

    query_string_put(&f->g->string, bytes, len);
}

/* The ESC of ST is the beginning of the next token. */
static void on_string_end(void *arg, const struct vt *v, bool ok, uint8_t end)
{
    struct guarding *f = arg;

    if (ok && query_string_end(&f->g->string) != QUERY_NONE)
        drop(f, v->token_at, end == ESC ? v->at - 1 : v->at);
}

static const struct vt_ops ops = {
    .control = on_control,
    .csi = on_csi,
    .esc = on_esc,
    .string_begin = on_string_begin,
    .string_put = on_string_put,
    .string_end = on_string_end,
};

/* A sequence that is open is held until it is known whether it is a query. */
static void hold_open(struct guarding *f, size_t len)
{
    struct screen_guard *g = f->g;
    uint64_t from = g->vt.token_at < g->passed ? g->passed : g->vt.token_at;
    bool holds = vt_is_open(&g->vt) && g->vt.at - g->vt.token_at <= GUARD_SEQUENCE_MAX;
    size_t n;

    advance(f, holds ? from : g->vt.at, f->out);
    n = (size_t)(g->vt.at - g->passed) - g->held_len;
    memcpy(g->held + g->held_len, f->bytes + len - n, n);
    g->held_len += n;
}

void screen_guard_feed(struct screen_guard *g, const char *bytes, size_t len, struct buf *out)
{
    struct guarding f = {g, bytes, g->vt.at, out};

    if (len == 0)
        return;
    vt_feed(&g->vt, &ops, &f, bytes, len);
    hold_open(&f, len);
}

/* --- the end ------------------------------------------------------------------------------- */

void screen_guard_reset(struct screen_guard *g, struct buf *out)
{
    const struct screen_changes *c = &g->changes;

    if (vt_is_open(&g->vt))
        buf_putc(out, CAN); /* cancel an unfinished sequence */
    for (size_t i = 0; i < MODES; i++)
        if ((c->modes >> i) & 1)
            buf_printf(out, "\033[?%u%c", modes[i].number, modes[i].on ? 'h' : 'l');
    if (c->kitty_depth > 0)
        buf_printf(out, "\033[<%du", c->kitty_depth);
    if (c->keypad)
        buf_puts(out, "\033>");
    if (c->region)
        buf_puts(out, "\0337\033[r\0338");
    if (c->cursor)
        buf_puts(out, "\033[0 q");
    if (c->shifted)
        buf_puts(out, "\033(B\017");
    if (c->style)
        buf_puts(out, "\033[0m");
    *g = (struct screen_guard){0};
}
