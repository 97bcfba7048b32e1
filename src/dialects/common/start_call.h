/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_call.h - a process that a request asks for
 *
 * The request is answered when the keeper has said how it went. Whoever asked may be gone by then:
 * the process stays, since it was asked for, or it ends. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_START_CALL_H
#define HF_DIALECTS_COMMON_START_CALL_H

#include "base/list.h"
#include "engine/engine.h"
#include "transport/http.h"

/* The process, or NULL and the reason. */
typedef void start_call_fn(struct http_request *rq, struct process *p, const struct hf_error *err);

struct start_call_options {
    struct list *pending; /* of the dialect */
    start_call_fn *done;
    bool end_if_gone; /* nobody would ever know of it */
};

/* `done` comes exactly once, now or later, unless the client goes before. */
void start_call_begin(struct http_request *rq, struct engine *e, const struct spawn_spec *spec,
                      const struct start_call_options *o);

#endif
