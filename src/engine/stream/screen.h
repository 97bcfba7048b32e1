/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - the screen of a process's terminal, as a person would see it
 *
 * A reader of the journal like any other: built on first use, caught up on later use, and dropped
 * when unused for SCREEN_IDLE_MS. Dropping it costs only time while the ring still has the output.
 * Where the ring has wrapped, the screen starts from the modes in the tracker's checkpoint. What a
 * full-screen program drew long ago must not be lost, so its screen is kept, and fed at idle times
 * before that output leaves the ring. Size changes are applied at the offsets where they happened.
 * Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SCREEN_H
#define HF_ENGINE_STREAM_SCREEN_H

#include "base/buf.h"
#include "base/list.h"
#include "engine/process.h"
#include "term/term.h"

/*
 * The screen after all output read so far; borrowed until the next return to the loop. NULL: not a
 * terminal, or there is more new output than this turn has time for (base/work.h): use
 * screen_wait().
 */
const struct term *process_screen(struct process *p);

/* `fn` runs once, in a later turn, when the screen has at least all output that existed at this
 * call. It may then use screen_as_it_is(). Terminals only. */
struct screen_waiter {
    struct list link;
    uint64_t until; /* set by screen_wait() */
    void (*fn)(void *arg, struct process *p);
    void *arg;
};
void screen_wait(struct process *p, struct screen_waiter *w);
void screen_waiter_cancel(struct screen_waiter *w); /* safe if it was never registered */
/* For `fn`: does not advance the screen, so that waiting ends even though output never does.
 * Borrowed. */
const struct term *screen_as_it_is(const struct process *p);

/* Everything but the cells. */
struct screen_view {
    int rows, cols;
    int x, y; /* the cursor, from 0; x < cols */
    bool cursor_shown, alternate;
    const char *title; /* as set by the program; "" if it was not */
    uint64_t offset;   /* the screen shows the output before it */
    size_t scrollback; /* lines kept above it */
};
void screen_view(struct process *p, const struct term *t, struct screen_view *v);

/* Line `y` as text; negative numbers are the scrollback, -1 its last line. Trailing spaces and
 * empty cells are omitted. */
void screen_line(const struct term *t, int y, struct buf *out);
/* `lines` of scrollback and then the screen, each line with a newline. Trailing empty lines are
 * omitted. */
void screen_text(const struct term *t, size_t lines, struct buf *out);

#endif
