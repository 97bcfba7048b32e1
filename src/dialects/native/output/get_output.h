/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_output.h - a range of output, and the four formats of GET …/output. Layer: dialects.
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

/* r->from is where the requested range begins, retained or not, and `next` where the output ends.
 * until: UINT64_MAX if it was not requested. */
int output_resolve(struct output_range *r, uint64_t until, const struct journal *j, uint64_t next,
                   struct hf_error *err);
void output_add_headers(struct http_request *rq, const struct output_range *r, bool follow);
static inline bool output_wants(const struct output_range *r, enum stream s)
{
    return r->only_stream < 0 || r->only_stream == (int)s;
}

/* Replies; or a negative errno with err. */
typedef int output_writer(struct http_request *rq, struct process *p, const struct output_range *r,
                          struct hf_error *err);
output_writer output_raw, output_json;   /* output_range.c */
output_writer output_follow, output_sse; /* output_stream.c */

#endif
