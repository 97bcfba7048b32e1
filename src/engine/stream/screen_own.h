/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_own.h - a process's screen, for those who feed it. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SCREEN_OWN_H
#define HF_ENGINE_STREAM_SCREEN_OWN_H

#include "base/loop.h"
#include "engine/stream/screen.h"

struct screen {
    struct process *process; /* its owner */
    struct term *term;       /* NULL: not begun */
    uint64_t mark;           /* number of the next one to look at */
    uint64_t wanted;         /* as far as somebody asked for */
    struct list waiters;
    struct timer *drop;
    struct task work, idle;
};

/* The process's, made if there is none, and kept for a while from now on. */
struct screen *screen_use(struct process *p);
/* True: it is at `until` or beyond. False: this turn has no time left for heavy work. */
bool screen_advance(struct screen *s, uint64_t until);
/* Goes on in later turns until it is there; viewers are pumped after each. */
void screen_work(struct screen *s, uint64_t until);

#endif
