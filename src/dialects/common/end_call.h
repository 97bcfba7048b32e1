/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_call.h - a request that terminates a process and replies afterwards
 *
 * If the client disconnects, the termination continues. `done` replies; it is called exactly once,
 * now or later, unless the client disconnects before. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_END_CALL_H
#define HF_DIALECTS_COMMON_END_CALL_H

#include "engine/process.h"
#include "transport/http.h"

typedef void end_call_fn(struct http_request *rq, struct process *p);

/* Sends a signal to the whole tree, and replies when the process has exited, or after wait_ms. A
 * drain cuts the wait short. A tree that has already ended is what the client requested. */
void end_call_signal(struct http_request *rq, struct process *p, int signum, uint64_t wait_ms,
                     end_call_fn *done);

#endif
