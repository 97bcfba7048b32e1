/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - JSON answers. Layer: dialects.
 */
#include "dialects/native/answer.h"

#include <assert.h>

struct json_out answer_open(struct native *n)
{
    struct json_out o;

    buf_clear(&n->scratch);
    json_out_init(&o, &n->scratch);
    json_open(&o, '{');
    return o;
}

void answer_send(struct http_request *rq, int status, struct json_out *o)
{
    json_shut(o, '}');
    assert(o->depth == 0);
    http_reply_json(rq, status, o->buf);
}

void answer_process(struct http_request *rq, int status, struct process *p)
{
    struct native *n = native_of(rq);
    struct json_out o;

    buf_clear(&n->scratch);
    json_out_init(&o, &n->scratch);
    process_write_json(p, &o);
    http_reply_json(rq, status, &n->scratch);
}

/* The writer has just put the closing bracket: take it back. */
void write_process_open(struct json_out *o, struct process *p)
{
    process_write_json(p, o);
    assert(o->buf->len > 0 && buf_data(o->buf)[o->buf->len - 1] == '}');
    o->buf->len--;
    o->depth++;
    o->first[o->depth] = false;
}
