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

#define GUARD_SEQUENCE_MAX 256 /* longer sequences are passed on unchanged */

enum guard_state { GUARD_TEXT, GUARD_ESC, GUARD_CSI, GUARD_STRING, GUARD_STRING_ESC };

struct screen_guard {
    bool replaying;
    enum guard_state state;
    bool passing; /* the sequence is too long to buffer */
    char held[GUARD_SEQUENCE_MAX];
    size_t held_len;
    uint64_t modes;  /* modes of the table that differ from a reset terminal */
    bool keypad;     /* ESC = */
    bool style;      /* colours or attributes may be on */
    bool region;     /* a scroll region may be set */
    bool cursor;     /* its shape was changed */
    bool shifted;    /* another character set may be in use */
    int kitty_depth; /* keyboard protocols pushed */
};

void screen_guard_feed(struct screen_guard *g, const char *bytes, size_t len, struct buf *out);
/* Appends what restores the terminal; nothing if nothing was changed. */
void screen_guard_reset(struct screen_guard *g, struct buf *out);
bool screen_guard_is_full_screen(const struct screen_guard *g);

#endif
