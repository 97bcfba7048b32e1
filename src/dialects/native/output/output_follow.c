/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_follow.c - output as plain bytes, followed to the exit
 *
 * A regular end of the body means that the process has exited and this was its last byte. When it
 * has not (the reader fell out of the ring, or the daemon shuts down), the connection is reset
 * instead. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/common/follow.h"
#include "dialects/native/output/get_output.h"

void output_follow(struct http_request *rq, struct process *p, const struct output_range *r)
{
    static const struct follow_ops ops = {0};
    const struct follow_open o = {
        .type = "application/octet-stream",
        .viewer = {.since = SINCE_OFFSET, .offset = r->from, .only_stream = r->only_stream},
    };
    struct hf_error err;

    output_add_headers(rq, r);
    http_add_header(rq, "Cache-Control", "no-store");
    if (follow_begin(hf_xalloc(sizeof(struct follow)), &ops, rq, p, &o, &err) < 0)
        http_reply_error(rq, &err);
}
