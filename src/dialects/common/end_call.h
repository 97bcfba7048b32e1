/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_call.h - requests that signal or terminate processes and reply afterwards
 *
 * If the client disconnects, the termination continues. A drain does not cut it short, since the
 * keeper and the grace periods are soon over; end_call_signal() stops waiting. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_END_CALL_H
#define HF_DIALECTS_COMMON_END_CALL_H

#include "dialects/common/call.h"
#include "engine/session/session.h"

struct end_call;

/* All of it is done. rq: NULL if the client has disconnected. err: why a signal was not delivered;
 * NULL: nothing failed. e is freed after it. */
typedef void end_call_done_fn(struct end_call *e, struct http_request *rq,
                              const struct hf_error *err);

/* The first member of the dialect's own struct, or alone. */
struct end_call {
    struct call call;
    end_call_done_fn *done;
    struct process *process; /* referenced: the last one of those below; NULL: none */
    size_t left;             /* what is not done yet, plus one until end_call_wait() */
    struct hf_error err;
};

/* Any number of the following may come between the first and the last. */
void *end_call_begin(struct http_request *rq, end_call_done_fn *done, size_t size);
void end_call_terminate(struct end_call *e, struct process *p, int64_t grace_ms);
void end_call_delete_session(struct end_call *e, struct session *s);
void end_call_send(struct end_call *e, struct process *p, int signum, enum signal_target target);
void end_call_wait(struct end_call *e); /* runs `done`, now or later */

/* Sends a signal to the whole tree, and replies when the process has exited, or after wait_ms. A
 * drain cuts the wait short. A tree that has already ended is what the client requested. `done`
 * replies; it is called exactly once, now or later, unless the client disconnects before. */
typedef void end_call_fn(struct http_request *rq, struct process *p);
void end_call_signal(struct http_request *rq, struct process *p, int signum, uint64_t wait_ms,
                     end_call_fn *done);

#endif
