/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_own.h - the screen of a process, and replies to its queries, for the code that feeds it
 *
 * Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SCREEN_OWN_H
#define HF_ENGINE_STREAM_SCREEN_OWN_H

#include "base/loop.h"
#include "engine/stream/screen.h"
#include "term/term_query.h"

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

void screen_terminal_init(struct process *p);
void screen_terminal_fed(struct process *p, size_t len); /* len bytes were just read from it */
void screen_terminal_resized(struct process *p);
void screen_terminal_recover(struct process *p);
const struct modes *screen_terminal_modes(const struct process *p); /* as of the last byte read */
void screen_free(struct process *p);

/* query_reply.c: while no viewer's terminal replies */
void query_reply_request(struct process *p, const struct query *q, const struct modes *m);
void query_reply_free(struct process *p);

#endif
