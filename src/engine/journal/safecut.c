/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safecut.c - where a terminal's output may be cut
 *
 * The machine below follows the VT500 parser that xterm and xterm.js share, as far as borders are
 * concerned. What makes this possible: ESC restarts from every state, and CAN and SUB end whatever
 * was open. So although we see the output from an arbitrary point on, the state is known for
 * certain after the first of these three. Before it, only an open string can continue for long (CSI
 * and similar sequences end at the next letter). Strings are titles, links and images, and contain
 * no line ends or bells except as their terminator, so LF, CR and BEL also count as proof that no
 * string is open. That is the one guess made here; a string that began within the held bytes is
 * known and may contain anything.
 *
 * C1 controls (a CSI of one byte) are not recognised: in UTF-8 those bytes are parts of characters.
 * Layer: engine.
 */
#include "engine/journal/safecut.h"

#include <stdint.h>

#include "base/text.h"

enum {
    CAN = 0x18,
    SUB = 0x1A,
    ESC = 0x1B,
    BEL = 0x07,
};

enum cut_state {
    CUT_UNKNOWN,
    CUT_GROUND, /* between tokens */
    CUT_CHAR_1, /* in a character, this many bytes missing */
    CUT_CHAR_2,
    CUT_CHAR_3,
    CUT_ESCAPE,       /* after ESC */
    CUT_INTERMEDIATE, /* after ESC and bytes such as ( or # */
    CUT_SHIFT,        /* after SS2 or SS3: the character belongs to it */
    CUT_CSI,
    CUT_OSC,    /* BEL ends it, too */
    CUT_STRING, /* DCS, APC, PM, SOS: some terminals end them at BEL, ours do not */
};

static enum cut_state ground_step(uint8_t b)
{
    if (b >= 0xC2 && b <= 0xDF)
        return CUT_CHAR_1;
    if (b >= 0xE0 && b <= 0xEF)
        return CUT_CHAR_2;
    if (b >= 0xF0 && b <= 0xF4)
        return CUT_CHAR_3;
    return CUT_GROUND; /* ASCII, or a stray byte that stands for itself */
}

static enum cut_state escape_step(uint8_t b)
{
    switch (b) {
    case '[': return CUT_CSI;
    case ']': return CUT_OSC;
    case 'P': /* DCS */
    case 'X': /* SOS */
    case '^': /* PM */
    case '_': /* APC */ return CUT_STRING;
    case 'N': /* SS2 */
    case 'O': /* SS3 */ return CUT_SHIFT;
    default: return b >= 0x20 && b <= 0x2F ? CUT_INTERMEDIATE : CUT_GROUND;
    }
}

static bool is_continuation(uint8_t b)
{
    return (b & 0xC0) == 0x80;
}

/* Inside an escape or CSI sequence: controls are executed, and the sequence continues. */
static enum cut_state sequence_step(enum cut_state s, uint8_t b)
{
    if (b < 0x20 || b == 0x7F)
        return s;
    if (b >= 0x80)
        return ground_step(b); /* interrupted by a character */
    if (s == CUT_ESCAPE)
        return escape_step(b);
    if (s == CUT_INTERMEDIATE)
        return b < 0x30 ? s : CUT_GROUND;
    return b < 0x40 ? s : CUT_GROUND;
}

static enum cut_state cut_step(enum cut_state s, uint8_t b)
{
    if (b == ESC)
        return CUT_ESCAPE;
    if (b == CAN || b == SUB)
        return CUT_GROUND;
    switch (s) {
    case CUT_UNKNOWN: return b == '\n' || b == '\r' || b == BEL ? CUT_GROUND : CUT_UNKNOWN;
    case CUT_GROUND:
    case CUT_SHIFT: return ground_step(b);
    case CUT_CHAR_1:
    case CUT_CHAR_2:
    case CUT_CHAR_3: return is_continuation(b) ? s - 1 : ground_step(b);
    case CUT_ESCAPE:
    case CUT_INTERMEDIATE:
    case CUT_CSI: return sequence_step(s, b);
    case CUT_OSC: return b == BEL ? CUT_GROUND : s;
    case CUT_STRING: return s;
    }
    return s;
}

/* Is there a border before `b`? A character may also be interrupted by another. */
static bool is_border(enum cut_state s, uint8_t b)
{
    return s == CUT_GROUND || (s >= CUT_CHAR_1 && s <= CUT_CHAR_3 && !is_continuation(b));
}

struct cutter {
    enum cut_state state;
    size_t token;  /* start of the current token, once the state is known */
    size_t escape; /* the last ESC */
};

static void cutter_take(struct cutter *c, size_t i, uint8_t b)
{
    bool in_string = c->state == CUT_OSC || c->state == CUT_STRING;

    if (is_border(c->state, b) || (b == ESC && !in_string))
        c->token = i;
    else if (c->state == CUT_ESCAPE && b != '\\')
        c->token = c->escape; /* it did not end a string, so it began something */
    if (b == ESC)
        c->escape = i;
    c->state = cut_step(c->state, b);
}

/* `want`, but not inside a character; if the character is incomplete, its start. */
static size_t cut_by_character(const uint8_t *held, size_t len, size_t want)
{
    size_t end = want;

    while (end < len && end - want < 3 && is_continuation(held[end]))
        end++;
    return end < len ? end : len - utf8_open_tail(held, len);
}

size_t safecut_find(const void *held, size_t held_len, size_t want, bool from_start)
{
    const uint8_t *p = held;
    struct cutter c = {.state = from_start ? CUT_GROUND : CUT_UNKNOWN};
    size_t limit =
        held_len - want > SAFECUT_SKIP_MAX_BYTES ? want + SAFECUT_SKIP_MAX_BYTES : held_len;

    for (size_t i = 0; i < limit; i++) {
        if (i >= want && is_border(c.state, p[i]))
            return i;
        cutter_take(&c, i, p[i]);
    }
    if (c.state == CUT_GROUND)
        return limit;
    return c.state == CUT_UNKNOWN ? cut_by_character(p, held_len, want) : c.token;
}

size_t safecut_forward(const void *bytes, size_t len)
{
    return safecut_find(bytes, len, 0, false);
}
