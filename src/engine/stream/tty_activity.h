/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_activity.h - the state of a terminal that is visible without reading its text
 *
 * That is the foreground program and its directory, the title, whether a program waits for input,
 * whether echo is off, and the number of bells. Title, directory and bells come from the output as
 * it is read. The rest is kernel state without change notifications, so it is probed when something
 * has happened: soon after output, input or size changes have ceased, and a few more times at
 * growing intervals, because a program may keep working silently. Then probing stops until
 * something happens again. It continues, at most ATTENTION_WATCH_MAX_MS apart, only while a watch
 * is registered.
 *
 * Owned by struct process; terminals only. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_TTY_ACTIVITY_H
#define HF_ENGINE_STREAM_TTY_ACTIVITY_H

#include "base/list.h"
#include "engine/process.h"

enum tty_activity_fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

struct tty_activity_view {
    enum tty_activity_fact waiting; /* for input; FACT_UNKNOWN: the system does not report it */
    enum tty_activity_fact echo_off;
    uint64_t bells;
};
/* As of the last probe; all FACT_NO for a process that has exited. */
void process_tty_activity(struct process *p, struct tty_activity_view *v);

/*
 * `fn` runs after every probe that starts after this call, never inside it, until it is cancelled.
 * Output that existed at the time of the probe has been read by then. `fn` may cancel its own
 * watch.
 */
struct tty_activity_watch {
    struct list link;
    uint64_t from_probe; /* set by process_watch_tty_activity() */
    void (*fn)(void *arg, const struct tty_activity_view *v);
    void *arg;
};
void process_watch_tty_activity(struct process *p, struct tty_activity_watch *w);
void tty_activity_watch_cancel(struct tty_activity_watch *w); /* safe if it was never registered */

#endif
