/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_stream.h - the reply of Start and Connect: a process's events until its end. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_STREAM_H
#define HF_DIALECTS_E2B_E2B_STREAM_H

#include "dialects/e2b/e2b_rpc.h"
#include "engine/stream/viewer.h"

#define E2B_KEEPALIVE_S 90       /* unless the client requests otherwise, as in the original */
#define E2B_KEEPALIVE_MAX_S 3600 /* no proxy waits longer than this */

/* What the headers of a call request. */
struct e2b_stream_request {
    enum rpc_codec codec;
    bool grpc;
    uint64_t keepalive_ms;
    int64_t deadline_ms;  /* 0: none */
    bool deadline_stream; /* it ends the stream and not the process */
};

/* False: the request has been replied to. */
bool e2b_stream_decode(struct http_request *rq, struct e2b_stream_request *request);
/*
 * Attaches and replies. `starter`: the call started the process, so the process's own deadline is
 * an error of the call.
 */
void e2b_stream_begin(struct http_request *rq, struct process *p,
                      const struct e2b_stream_request *request, const struct viewer_options *from,
                      bool starter);

#endif
