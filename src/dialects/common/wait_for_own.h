/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_for_own.h - one wait under way, for the files that carry it out
 *
 * wait_for.c has the output and the clock, wait_for_facts.c what is not in the output (terminal and
 * ports). Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_WAIT_FOR_OWN_H
#define HF_DIALECTS_COMMON_WAIT_FOR_OWN_H

#include "base/loop.h"
#include "dialects/common/wait_for.h"
#include "engine/ports.h"
#include "engine/stream/tty_activity.h"
#include "engine/stream/viewer.h"

struct wait {
    wait_fn *fn;
    void *arg;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct scan *scan;
    struct timer *timeout, *idle;
    uint64_t from, last_ms; /* last_ms: of the last byte, or the start */
    uint64_t missed;        /* bytes that were gone before they were searched */
    uint64_t expires_at;    /* time is up, but output up to here counts still; UINT64_MAX: not */
    int64_t quiet_ms;       /* shortest wished silence; 0: none */
    bool pause_asked;
    size_t index[WAIT_ECHO_OFF + 1]; /* first condition of a kind, or WAIT_NO_INDEX */
    struct tty_activity_watch attention;
    struct wait_result result; /* once it is over: what is to be told, and when there is time */
    struct scan_match match;
    struct task deliver;
    struct port_watch *ports; /* port_count of them */
    size_t port_count;
};

static inline bool wait_wants(const struct wait *w, enum wait_kind kind)
{
    return w->index[kind] != WAIT_NO_INDEX;
}

/* wait_for.c */
bool wait_is_behind(const struct wait *w); /* there is output that was not searched yet */
/* A condition that has no place in the output is met; w is gone after. */
void wait_finish_kind(struct wait *w, enum wait_kind kind, size_t index);

/* wait_for_facts.c */
int wait_facts_check(const struct process *p, const struct wait_request *ask, struct hf_error *err);
void wait_facts_start(struct wait *w, const struct wait_request *ask);
void wait_facts_stop(struct wait *w);
void wait_facts_output(struct wait *w); /* there was output */

#endif
