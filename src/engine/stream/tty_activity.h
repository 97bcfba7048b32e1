/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_activity.h - what a person would notice about a terminal without reading it
 *
 * Which program has it and where it stands, its title, whether it waits for
 * input, whether it hides what is typed, how often it rang. Title, directory and
 * bell come from the output as it is read; the rest are facts of the kernel that
 * nobody announces, so they are looked at when something has happened: soon after output,
 * input or a change of size has ceased, and a few times more, ever later, because a
 * program may go on in silence. Then nothing is looked at until something happens again.
 * Only while somebody waits for such a fact the looks go on, ATTENTION_WATCH_MAX_MS apart.
 *
 * Owned by struct process; terminals only. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_TTY_ACTIVITY_H
#define HF_ENGINE_STREAM_TTY_ACTIVITY_H

#include "base/list.h"
#include "engine/process.h"

enum attention_fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

struct attention_view {
    enum attention_fact waiting; /* for input; FACT_UNKNOWN: the system does not tell */
    enum attention_fact echo_off;
    uint64_t bells;
};
/* As of the last look; all FACT_NO for a process that has exited. */
void process_tty_activity(struct process *p, struct attention_view *v);

/*
 * `fn` runs after every look that was begun after this call, never inside it, until it is
 * cancelled; output that was there at the look has been read. It may cancel itself.
 */
struct tty_activity_watch {
    struct list link;
    uint64_t from_look; /* filled in */
    void (*fn)(void *arg, const struct attention_view *v);
    void *arg;
};
void process_watch_tty_activity(struct process *p, struct tty_activity_watch *w);
void tty_activity_watch_cancel(struct tty_activity_watch *w); /* fine if it was never begun */

#endif
