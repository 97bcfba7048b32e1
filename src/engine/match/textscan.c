/* SPDX-License-Identifier: Apache-2.0 */
/*
 * textscan.c - searches a stream for a fixed text
 *
 * Knuth, Morris and Pratt: the whole state is how much of the text precedes the next byte, so chunk
 * borders cost nothing. While that is zero, memchr() finds the next candidate. Layer: engine.
 */
#include "engine/match/textscan.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct textscan {
    uint64_t at; /* offset of the next byte */
    size_t len;
    size_t held;      /* how much of the text precedes it */
    uint16_t *border; /* [n]: longest proper prefix that also ends the first n bytes */
    uint8_t text[];
};

_Static_assert(LIMIT_TEXT_BYTES <= UINT16_MAX, "borders are 16 bits wide");

static void find_borders(struct textscan *s)
{
    size_t k = 0;

    s->border[0] = 0;
    for (size_t i = 1; i < s->len; i++) {
        s->border[i] = (uint16_t)k;
        while (k > 0 && s->text[k] != s->text[i])
            k = s->border[k];
        k += s->text[k] == s->text[i];
    }
}

struct textscan *textscan_new(const void *text, size_t len, uint64_t at)
{
    struct textscan *s;

    if (len > LIMIT_TEXT_BYTES)
        return NULL;
    s = calloc(1, sizeof *s + len);
    if (s == NULL)
        return NULL;
    s->border = calloc(len + 1, sizeof *s->border);
    if (s->border == NULL) {
        free(s);
        return NULL;
    }
    s->at = at;
    s->len = len;
    if (len > 0)
        memcpy(s->text, text, len);
    find_borders(s);
    return s;
}

void textscan_free(struct textscan *s)
{
    if (s == NULL)
        return;
    free(s->border);
    free(s);
}

void textscan_restart(struct textscan *s, uint64_t at)
{
    s->at = at;
    s->held = 0;
}

static void take_byte(struct textscan *s, uint8_t byte)
{
    while (s->held > 0 && s->text[s->held] != byte)
        s->held = s->border[s->held];
    s->held += s->text[s->held] == byte;
    s->at++;
}

enum textscan_result textscan_feed(struct textscan *s, const void *bytes, size_t len,
                                   struct textscan_match *out)
{
    const uint8_t *p = bytes, *end = p + len;

    while (p < end && s->held < s->len) {
        if (s->held == 0) {
            const uint8_t *next = memchr(p, s->text[0], (size_t)(end - p));

            s->at += (uint64_t)((next ? next : end) - p);
            p = next ? next : end;
            if (next == NULL)
                break;
        }
        take_byte(s, *p++);
    }
    if (s->held < s->len)
        return TEXTSCAN_MORE;
    *out = (struct textscan_match){s->at - s->len, s->at};
    return TEXTSCAN_MATCH;
}
