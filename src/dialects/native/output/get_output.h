/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_output.h - the decoded GET …/output, and the four formats of its reply
 *
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_OUTPUT_GET_OUTPUT_H
#define HF_DIALECTS_NATIVE_OUTPUT_GET_OUTPUT_H

#include "engine/process.h"
#include "transport/http.h"

/* [from, to) is retained and requested; [gap_from, from) was requested but has been overwritten. */
struct output_range {
    uint64_t gap_from, from, to;
    int only_stream; /* enum stream; -1: all */
    bool until;      /* `to` was requested, not just where the output ends now */
};

void output_add_headers(struct http_request *rq, const struct output_range *r);
static inline bool output_wants(const struct output_range *r, enum stream s)
{
    return r->only_stream < 0 || r->only_stream == (int)s;
}

/* Each replies to the request. */
void output_raw(struct http_request *rq, struct process *p, const struct output_range *r);
void output_json(struct http_request *rq, struct process *p, const struct output_range *r);
void output_follow(struct http_request *rq, struct process *p, const struct output_range *r);
void output_sse(struct http_request *rq, struct process *p, const struct output_range *r);

#endif
