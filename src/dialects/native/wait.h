/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h - one POST …/wait under way, for the files that carry it out
 *
 * wait.c has the output and the clock, wait_facts.c what is not in the output (terminal and
 * ports), wait_answer.c the answer. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_WAIT_H
#define HF_DIALECTS_NATIVE_WAIT_H

#include "dialects/native/context.h"
#include "dialects/native/scan.h"
#include "engine/attention.h"
#include "engine/ports.h"
#include "engine/viewer.h"

#define WAIT_NO_INDEX SIZE_MAX

struct wait {
    struct op op;
    struct http_request *rq;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct scan *scan;
    struct buf pending; /* got from the viewer, not yet searched */
    size_t turn_left;   /* bytes that may still be searched in this turn */
    struct timer *turn, *timeout, *idle;
    uint64_t from, last_ms; /* last_ms: of the last byte, or the start */
    uint64_t expires_at;    /* time is up, but output up to here counts still; UINT64_MAX: not */
    int64_t quiet_ms;       /* shortest wished silence; 0: none */
    bool pause_asked;
    size_t index[WAIT_ECHO_OFF + 1]; /* first condition of a kind, or WAIT_NO_INDEX */
    struct attention_watch attention;
    struct port_watch *ports; /* port_count of them */
    size_t port_count;
};

static inline bool wait_wants(const struct wait *w, enum wait_kind kind)
{
    return w->index[kind] != WAIT_NO_INDEX;
}

/* wait.c */
bool wait_is_behind(const struct wait *w);    /* there is output that was not searched yet */
uint64_t wait_searched(const struct wait *w); /* up to where it was */
void wait_free(struct wait *w);

/* wait_answer.c: each answers and frees. */
void wait_finish_match(struct wait *w, const struct scan_match *m);
void wait_finish_kind(struct wait *w, enum wait_kind kind, size_t index);
void wait_finish_none(struct wait *w, bool timed_out);

/* wait_facts.c */
int wait_facts_check(const struct process *p, const struct wait_ask *ask, struct hf_error *err);
void wait_facts_start(struct wait *w, const struct wait_ask *ask);
void wait_facts_stop(struct wait *w);
void wait_facts_output(struct wait *w); /* there was output */

#endif
