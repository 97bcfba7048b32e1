/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_call.h - starts a process for a request
 *
 * The reply is sent when the keeper has reported the result. If the client has disconnected by
 * then, the process keeps running or is terminated, as the caller chose. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_START_CALL_H
#define HF_DIALECTS_COMMON_START_CALL_H

#include "engine/engine.h"
#include "transport/http.h"

/* The process, or NULL and the reason. */
typedef void start_call_fn(struct http_request *rq, struct process *p, const struct hf_error *err);

struct start_call_options {
    start_call_fn *done;
    bool end_if_disconnected; /* terminate the process if the client disconnects before the reply */
};

/* `done` is called exactly once, now or later, unless the client disconnects before. */
void start_call_begin(struct http_request *rq, const struct spawn_spec *spec,
                      const struct start_call_options *o);

/* The usual case: `reply` is called for the new process, else the dialect's error is sent. */
typedef void start_call_reply_fn(struct http_request *rq, struct process *p);
void start_call_reply(struct http_request *rq, const struct spawn_spec *spec,
                      start_call_reply_fn *reply);

#endif
