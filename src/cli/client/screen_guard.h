/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_guard.h - tracks what output changes in the user's terminal, to restore it
 *
 * It passes everything on and records which modes were changed, so that the terminal can be
 * restored at any time: alternate screen, mouse, paste, hidden cursor, application keys, colours.
 * While old output is replayed it drops queries (device attributes, cursor position, colours ...):
 * the terminal would answer them now, and the process would read those answers as input. Pure:
 * bytes in, bytes out. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_SCREEN_GUARD_H
#define HF_CLI_CLIENT_SCREEN_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "term/term_query.h"

#define GUARD_SEQUENCE_MAX 256 /* longer sequences are passed on unchanged */

/* What differs from a reset terminal. */
struct screen_changes {
    uint64_t modes;  /* of the table of DEC private modes */
    bool keypad;     /* ESC = */
    bool style;      /* colours or attributes may be on */
    bool region;     /* a scroll region may be set */
    bool cursor;     /* its shape was changed */
    bool shifted;    /* another character set may be in use */
    int kitty_depth; /* keyboard protocols pushed */
};

struct screen_guard {
    bool replaying;
    struct vt vt;
    struct query_string string;
    uint64_t passed;     /* offset: what is before it was passed on or dropped */
    uint64_t dropped_to; /* end of the last query that was dropped */
    size_t held_len;
    char held[GUARD_SEQUENCE_MAX]; /* the bytes from there to vt.at: the sequence that is open */
    struct screen_changes changes;
};

void screen_guard_feed(struct screen_guard *g, const char *bytes, size_t len, struct buf *out);
/* Appends what restores the terminal; nothing if nothing was changed. */
void screen_guard_reset(struct screen_guard *g, struct buf *out);
bool screen_guard_is_full_screen(const struct screen_guard *g);

#endif
