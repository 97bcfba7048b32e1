/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safecut.c - where a terminal's output may be cut
 *
 * term/vt parses the output, but we see it from an arbitrary point on. What makes this possible:
 * ESC restarts from every state, and CAN and SUB end whatever was open. So the state is known for
 * certain after the first of these three. Before it, only an open string can continue for long (CSI
 * and similar sequences end at the next letter). Strings are titles, links and images, and contain
 * no line ends or bells except as their terminator, so LF, CR and BEL also count as proof that no
 * string is open. That is the one guess made here; a string that began within the held bytes is
 * known and may contain anything.
 *
 * C1 controls (a CSI of one character) are not recognised: most terminals do not know them in
 * UTF-8. Layer: engine.
 */
#include "engine/journal/safecut.h"

#include <stdint.h>

#include "base/text.h"
#include "term/vt.h"

#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a
#define ESC 0x1b

struct cutter {
    struct vt vt;                 /* vt.at: index in the held bytes */
    uint64_t string_at;           /* start of the last string */
    uint64_t shift_at, shift_end; /* of the last SS2 or SS3: the next character belongs to it */
};

static bool is_continuation(uint8_t b)
{
    return (b & 0xC0) == 0x80;
}

/* --- the parser ------------------------------------------------------------------- */

/* Without it, the parser would skip text and not know where its characters are. */
static void on_text(void *arg, const char *ascii, size_t len)
{
    (void)arg;
    (void)ascii;
    (void)len;
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    struct cutter *c = arg;

    if (id != 'N' && id != 'O')
        return;
    c->shift_at = v->token_at;
    c->shift_end = v->at;
}

static void on_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct cutter *c = arg;

    (void)kind;
    (void)id;
    c->string_at = v->token_at;
}

static const struct vt_ops ops = {
    .text = on_text,
    .esc = on_esc,
    .string_begin = on_string_begin,
    .esc_only = true,
};

static void cutter_feed(struct cutter *c, const uint8_t *held, size_t to)
{
    vt_feed(&c->vt, &ops, c, held + c->vt.at, to - (size_t)c->vt.at);
}

static bool is_between_tokens(const struct cutter *c)
{
    return !vt_is_open(&c->vt) && (c->shift_end == 0 || c->vt.at != c->shift_end);
}

/* Is there a border before `next`? A character may be interrupted by another. */
static bool is_border(const struct cutter *c, uint8_t next)
{
    bool interrupts = c->vt.state == VT_GROUND && c->vt.need > 0 && !is_continuation(next);

    return interrupts || is_between_tokens(c);
}

static size_t token_start(const struct cutter *c)
{
    const struct vt *v = &c->vt;

    if (v->state == VT_ESCAPE && v->broke == VT_BROKE_STRING)
        return (size_t)c->string_at; /* this ESC may end it */
    if (v->state == VT_GROUND && (v->need == 0 || v->token_at == c->shift_end))
        return (size_t)c->shift_at;
    return (size_t)v->token_at;
}

/* --- where to cut ------------------------------------------------------------------ */

/* The first byte after which the state is known; before it, anything may be open. */
static const uint8_t *find_known(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != ESC && *p != CAN && *p != SUB && *p != '\n' && *p != '\r' && *p != BEL)
        p++;
    return p < end ? p : NULL;
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
    size_t limit =
        held_len - want > SAFECUT_SKIP_MAX_BYTES ? want + SAFECUT_SKIP_MAX_BYTES : held_len;
    const uint8_t *known = from_start ? NULL : find_known(p, p + limit);
    struct cutter c = {0};
    size_t i = want;

    if (!from_start && known == NULL)
        return cut_by_character(p, held_len, want);
    if (known != NULL) {
        c.vt.at = (uint64_t)(known - p) + (*known != ESC); /* an ESC is parsed */
        i = want > (size_t)(known - p) ? want : (size_t)(known - p) + 1;
    }
    cutter_feed(&c, p, i);
    while (i < limit && !is_border(&c, p[i]))
        cutter_feed(&c, p, ++i);
    return i < limit || is_between_tokens(&c) ? i : token_start(&c);
}

size_t safecut_forward(const void *bytes, size_t len)
{
    return safecut_find(bytes, len, 0, false);
}
