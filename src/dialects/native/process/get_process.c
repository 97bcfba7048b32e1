/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_process.c - GET /v1/processes/{id}. Layer: dialects.
 */
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

#define RECENT_BYTES (64 * 1024)

static void write_recent(struct process *p, struct json_out *o)
{
    struct journal *j = process_journal(p);
    struct process_view v;
    uint64_t at;

    process_view(p, &v);
    at = journal_tail_bytes(j, RECENT_BYTES, v.pty);
    json_key(o, "recent_output");
    json_open(o, '{');
    json_ku64(o, "offset", at);
    process_json_data(o, journal_bytes(j, at), journal_next(j) - at);
    json_close(o, '}');
}

void process_get_handle(struct http_request *rq)
{
    static const char *const parts[] = {"output", NULL};
    struct process *p = native_decode_process(rq);
    struct native *n = native_of(rq);
    struct hf_error err;
    struct json_out o;
    int include = -1;

    if (p == NULL)
        return;
    if (native_decode_choice(rq, "include", parts, &include, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    if (include < 0) {
        json_reply_process(rq, 200, p);
        return;
    }
    buf_clear(&n->base.scratch);
    json_out_init(&o, &n->base.scratch);
    json_reply_process_open(&o, p);
    write_recent(p, &o);
    dialect_reply_send(rq, 200, &o);
}
