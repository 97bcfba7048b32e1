/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_guard.c - follows escape sequences and undoes what they changed. Layer: cli.
 */
#include "cli/client/screen_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void note_mode(struct screen_guard *g, int number, bool on)
{
    size_t i;

    for (i = 0; i < MODES; i++)
        if (modes[i].number == number) {
            uint64_t bit = 1ULL << i;
            g->modes = on != modes[i].on ? g->modes | bit : g->modes & ~bit;
        }
}

static bool mode_is_changed(const struct screen_guard *g, int number)
{
    size_t i;

    for (i = 0; i < MODES; i++)
        if (modes[i].number == number)
            return (g->modes >> i) & 1;
    return false;
}

bool screen_guard_is_full_screen(const struct screen_guard *g)
{
    return mode_is_changed(g, 1049) || mode_is_changed(g, 1047) || mode_is_changed(g, 47);
}

/* ESC c and CSI ! p reset the terminal. */
static void forget(struct screen_guard *g)
{
    bool replaying = g->replaying;

    *g = (struct screen_guard){.replaying = replaying};
}

/* --- one whole sequence in g->held ------------------------------------------------------ */

/* "1;2;3" in "CSI ? 1;2;3 h" */
static void note_modes(struct screen_guard *g, const char *p, bool on)
{
    while (*p >= '0' && *p <= '9') {
        char *end;

        note_mode(g, (int)strtol(p, &end, 10), on);
        p = *end == ';' ? end + 1 : end;
    }
}

static bool csi_is_query(const char *body, char final)
{
    bool dollar = strchr(body, '$') != NULL;

    switch (final) {
    case 'c': return true;                             /* device attributes */
    case 'n': return true;                             /* status, cursor position */
    case 'p': return dollar;                           /* is this mode set? */
    case 'q': return body[0] == '>';                   /* name and version */
    case 'u': return body[0] == '?';                   /* keyboard protocol */
    case 't': return body[0] == '1' || body[0] == '2'; /* window reports; 2x: also titles */
    case 'w': return dollar;                           /* presentation state */
    case 'x': return !dollar;                          /* terminal parameters */
    case 'y': return strchr(body, '*') != NULL;        /* checksum */
    default: return false;
    }
}

static void note_csi(struct screen_guard *g, const char *body, char final)
{
    if (body[0] == '?' && (final == 'h' || final == 'l'))
        note_modes(g, body + 1, final == 'h');
    else if (final == 'm' && body[0] != '>' && body[0] != '?')
        g->style = strcmp(body, "") != 0 && strcmp(body, "0") != 0;
    else if (final == 'r' && body[0] != '?')
        g->region = body[0] != '\0';
    else if (final == 'q' && strchr(body, ' ') != NULL)
        g->cursor = true;
    else if (final == 'p' && strchr(body, '!') != NULL)
        forget(g);
    else if (final == 'u' && body[0] == '>' && g->kitty_depth < KITTY_DEPTH_MAX)
        g->kitty_depth++;
    else if (final == 'u' && body[0] == '<' && g->kitty_depth > 0)
        g->kitty_depth--;
}

static void note_esc(struct screen_guard *g, char final)
{
    if (final == '=' || final == '>')
        g->keypad = final == '=';
    else if (final == 'c')
        forget(g);
    else if (strchr("()*+-./", final) != NULL)
        g->shifted = true;
}

/* OSC 10;? and similar, OSC 52;c;?, and DCS requests. */
static bool string_is_query(const char *text, size_t len)
{
    if (text[1] == 'P')
        return len > 4 && (text[2] == '$' || text[2] == '+') && text[3] == 'q';
    if (text[1] != ']')
        return false;
    while (len > 0 && (text[len - 1] == '\a' || text[len - 1] == '\\' || text[len - 1] == '\033'))
        len--;
    return len > 1 && text[len - 1] == '?' && text[len - 2] == ';';
}

/* Passes an incomplete or oversized sequence on unchanged. */
static void abandon(struct screen_guard *g, struct buf *out)
{
    if (!g->passing)
        buf_put(out, g->held, g->held_len);
    g->held_len = 0;
    g->passing = false;
    g->state = GUARD_TEXT;
}

/* The sequence is complete: note what it does, pass it on. */
static void finish(struct screen_guard *g, struct buf *out)
{
    size_t len = g->held_len;
    char text[GUARD_SEQUENCE_MAX + 1], final;
    bool query = false;

    if (g->passing || len < 2) {
        abandon(g, out);
        return;
    }
    memcpy(text, g->held, len);
    text[len] = '\0';
    g->held_len = 0;
    final = text[len - 1];
    if (g->state == GUARD_CSI) {
        text[len - 1] = '\0';
        query = csi_is_query(text + 2, final);
        note_csi(g, text + 2, final);
        text[len - 1] = final;
    } else if (g->state == GUARD_ESC) {
        query = final == 'Z';
        note_esc(g, final);
    } else {
        query = string_is_query(text, len);
    }
    g->state = GUARD_TEXT;
    if (!query || !g->replaying)
        buf_put(out, text, len);
}

/* --- bytes ---------------------------------------------------------------------------------- */

/* Buffers a byte of a sequence; a sequence that is too long is passed on instead. */
static void hold(struct screen_guard *g, char c, struct buf *out)
{
    if (!g->passing && g->held_len == GUARD_SEQUENCE_MAX) {
        buf_put(out, g->held, g->held_len);
        g->held_len = 0;
        g->passing = true;
    }
    if (g->passing)
        buf_putc(out, c);
    else
        g->held[g->held_len++] = c;
}

static void after_esc(struct screen_guard *g, char c, struct buf *out)
{
    hold(g, c, out);
    if (c == '[')
        g->state = GUARD_CSI;
    else if (c != '\0' && strchr("]P_^X", c) != NULL)
        g->state = GUARD_STRING;
    else if (c >= 0x20 && c <= 0x2f && g->held_len == 2)
        return; /* ESC ( B: one more */
    else
        finish(g, out);
}

static void in_csi(struct screen_guard *g, char c, struct buf *out)
{
    hold(g, c, out);
    if (c >= 0x40 && c <= 0x7e)
        finish(g, out);
}

static void in_string(struct screen_guard *g, char c, struct buf *out)
{
    hold(g, c, out);
    if (c == '\a' || (g->state == GUARD_STRING_ESC && c == '\\'))
        finish(g, out);
    else
        g->state = c == '\033' ? GUARD_STRING_ESC : GUARD_STRING;
}

/* Passes a run of plain text on, up to the next escape or the end. */
static void pass_text(struct screen_guard *g, const char *bytes, size_t len, size_t *i,
                      struct buf *out)
{
    const char *esc = memchr(bytes + *i, '\033', len - *i);
    size_t n = esc != NULL ? (size_t)(esc - bytes) - *i : len - *i;

    if (memchr(bytes + *i, 0x0e, n) != NULL)
        g->shifted = true;
    if (g->replaying && memchr(bytes + *i, 0x05, n) != NULL) { /* ENQ is a query, too */
        for (size_t k = 0; k < n; k++)
            if (bytes[*i + k] != 0x05)
                buf_putc(out, bytes[*i + k]);
    } else {
        buf_put(out, bytes + *i, n);
    }
    *i += n;
}

void screen_guard_feed(struct screen_guard *g, const char *bytes, size_t len, struct buf *out)
{
    size_t i = 0;

    while (i < len) {
        char c;

        if (g->state == GUARD_TEXT)
            pass_text(g, bytes, len, &i, out);
        if (i == len)
            break;
        c = bytes[i++];
        if (c == 0x18 || c == 0x1a) { /* CAN and SUB end any sequence */
            hold(g, c, out);
            abandon(g, out);
        } else if (c == '\033' && g->state != GUARD_STRING && g->state != GUARD_STRING_ESC) {
            abandon(g, out);
            g->state = GUARD_ESC;
            hold(g, c, out);
        } else if (g->state == GUARD_ESC) {
            after_esc(g, c, out);
        } else if (g->state == GUARD_CSI) {
            in_csi(g, c, out);
        } else {
            in_string(g, c, out);
        }
    }
}

/* --- the end ------------------------------------------------------------------------------- */

void screen_guard_reset(struct screen_guard *g, struct buf *out)
{
    size_t i;

    if (g->state != GUARD_TEXT)
        buf_putc(out, 0x18); /* cancel an unfinished sequence */
    for (i = 0; i < MODES; i++)
        if ((g->modes >> i) & 1)
            buf_printf(out, "\033[?%u%c", modes[i].number, modes[i].on ? 'h' : 'l');
    if (g->kitty_depth > 0)
        buf_printf(out, "\033[<%du", g->kitty_depth);
    if (g->keypad)
        buf_puts(out, "\033>");
    if (g->region)
        buf_puts(out, "\0337\033[r\0338");
    if (g->cursor)
        buf_puts(out, "\033[0 q");
    if (g->shifted)
        buf_puts(out, "\033(B\017");
    if (g->style)
        buf_puts(out, "\033[0m");
    *g = (struct screen_guard){0};
}
