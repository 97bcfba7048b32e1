/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_own.h - the screen of a process, for the code that feeds it. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SCREEN_OWN_H
#define HF_ENGINE_STREAM_SCREEN_OWN_H

#include "base/loop.h"
#include "engine/stream/screen.h"

struct screen {
    struct process *process; /* the owner of this screen */
    struct term *term;       /* NULL: not started */
    uint64_t mark;           /* number of the next size mark to apply */
    uint64_t wanted;         /* the highest offset requested */
    struct list waiters;
    struct timer *drop;
    struct task work, idle;
};

/* The screen of the process, created if needed. Restarts the timer after which it is dropped. */
struct screen *screen_use(struct process *p);
/* True: the screen has reached `until`. False: this turn has no time left for heavy work. */
bool screen_advance(struct screen *s, uint64_t until);
/* Continues in later turns until the screen reaches `until`, and pumps the viewers after each. */
void screen_work(struct screen *s, uint64_t until);

#endif
