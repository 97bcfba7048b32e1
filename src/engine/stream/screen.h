/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - what a person would see on a process's terminal
 *
 * A reader of the journal like any other: built when it is first wanted,
 * caught up when it is wanted again, and dropped when nobody has wanted it for
 * SCREEN_IDLE_MS. Nothing is lost by that but time, as long as the ring holds the output; where
 * the ring has turned over it begins with the modes that the tracker put aside. So
 * that what a full-screen program drew long ago is not lost, its screen is
 * kept and fed at idle times before that output leaves the ring. Sizes are
 * applied where they changed. Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SCREEN_H
#define HF_ENGINE_STREAM_SCREEN_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/process.h"
#include "term/term.h"

/*
 * The screen as of all output that was read so far; borrowed until the next
 * return to the loop. NULL: no terminal, or more is new than this turn has time for
 * (base/work.h): use screen_wait().
 */
const struct term *process_screen(struct process *p);

/*
 * `fn` runs once, in a later turn, when the screen is at least as far as the output was at
 * this call; screen_as_it_is() is then good. Terminals only.
 */
struct screen_waiter {
    struct list link;
    uint64_t until; /* filled in */
    void (*fn)(void *arg, struct process *p);
    void *arg;
};
void screen_wait(struct process *p, struct screen_waiter *w);
void screen_waiter_cancel(struct screen_waiter *w); /* fine if it was never begun */
/* For `fn`: not read any further, so that it comes to an end though output never does. Borrowed. */
const struct term *screen_as_it_is(const struct process *p);

/* What stands around the cells. */
struct screen_view {
    int rows, cols;
    int x, y; /* the cursor, from 0; x < cols */
    bool cursor_shown, alternate;
    const char *title; /* as the program set it; "" if it did not */
    uint64_t offset;   /* the screen shows the output in front of it */
    size_t scrollback; /* lines held above it */
};
void screen_view(struct process *p, const struct term *t, struct screen_view *v);

/* Line `y` as text; negative ones are the scrollback, -1 the last of it. Spaces at the end are left
 * out, as empty cells are. */
void screen_line(const struct term *t, int y, struct buf *out);
/* `lines` of scrollback and the screen, each line with a newline; empty ones at the end are left out. */
void screen_text(const struct term *t, size_t lines, struct buf *out);

#endif
