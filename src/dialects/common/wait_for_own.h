/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_for_own.h - a wait in progress, shared by the files that implement it
 *
 * wait_for.c handles output and time, wait_for_facts.c terminal and ports. Layer: dialects.
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
    uint64_t missed;        /* bytes that were lost before they were searched */
    uint64_t
        expires_at; /* the time is up, but output up to here still counts; UINT64_MAX: it is not */
    int64_t quiet_ms; /* shortest requested silence; 0: none */
    bool pause_asked;
    size_t index[WAIT_ECHO_OFF + 1]; /* first condition of a kind, or WAIT_NO_INDEX */
    struct tty_activity_watch attention;
    struct wait_result result; /* once it is over: the result to report */
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
bool wait_is_behind(const struct wait *w); /* some output is not searched yet */
/* A condition that has no position in the output is met; frees w. */
void wait_finish_kind(struct wait *w, enum wait_kind kind, size_t index);

/* wait_for_facts.c */
int wait_facts_check(const struct process *p, const struct wait_request *request,
                     struct hf_error *err);
void wait_facts_start(struct wait *w, const struct wait_request *request);
void wait_facts_stop(struct wait *w);
void wait_facts_output(struct wait *w); /* there was output */

#endif
