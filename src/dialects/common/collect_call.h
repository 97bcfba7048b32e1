/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect_call.h - a request that runs a process to its end and replies with its output
 *
 * If the client disconnects, the process is terminated. If the daemon drains, the request gets
 * shutting_down and the process keeps running under the next worker.
 *
 * A struct collect_call is the first member of the dialect's own struct from hf_xalloc(), or alone.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_COLLECT_CALL_H
#define HF_DIALECTS_COMMON_COLLECT_CALL_H

#include "dialects/common/call.h"
#include "dialects/common/collect.h"

struct collect_call;

struct collect_call_ops {
    /* The process has ended: replies to `rq`. The call is freed after it. */
    void (*done)(struct collect_call *r, struct http_request *rq, const struct collected *c);
    /* It could not be started: replies to `rq` [the error in the dialect's shape]. May be NULL. */
    void (*failed)(struct collect_call *r, struct http_request *rq, const struct hf_error *err);
    /* The detail of shutting_down if the daemon drains [refers to the process]. May be NULL. */
    const char *drain_detail;
    /* Frees what the dialect's struct holds [nothing]. May be NULL. */
    void (*release)(struct collect_call *r);
};

struct collect_call {
    struct call call;
    const struct collect_call_ops *ops;
    struct collect *collect; /* NULL: it has ended, or is abandoned */
    uint64_t began_ms;       /* of the monotonic clock */
};

/* Takes ownership of r, and replies in any case, now or later. At most `max_bytes` of each stream
 * are kept. */
void collect_call_begin(struct collect_call *r, const struct collect_call_ops *ops,
                        struct http_request *rq, struct spawn_spec *spec, size_t max_bytes);

#endif
