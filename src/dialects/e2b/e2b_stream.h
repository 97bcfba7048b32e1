/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_stream.h - the answer of Start and Connect: a process's events until its end. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_STREAM_H
#define HF_DIALECTS_E2B_E2B_STREAM_H

#include "dialects/e2b/e2b_rpc.h"
#include "engine/stream/viewer.h"

#define E2B_KEEPALIVE_S 90       /* unless the client asks otherwise, as the original */
#define E2B_KEEPALIVE_MAX_S 3600 /* no more than a proxy's patience is ever wanted */

/* What the headers of a call ask for. */
struct e2b_stream_request {
    enum rpc_codec codec;
    uint64_t keepalive_ms;
    int64_t deadline_ms;  /* 0: none */
    bool deadline_stream; /* it ends the stream and not the process */
};

/* False: answered. */
bool e2b_stream_ask(struct http_request *rq, struct e2b_stream_request *ask);
/* Attaches and answers. `starter`: it has begun the process, whose end by its own deadline
 * is then an error of the call. */
void e2b_stream_begin(struct http_request *rq, struct process *p,
                      const struct e2b_stream_request *ask, const struct viewer_options *from,
                      bool starter);

#endif
