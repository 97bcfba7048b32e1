/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reply.c - JSON replies. Layer: dialects.
 */
#include "dialects/native/json_reply.h"

#include <assert.h>

#include "base/text.h"

struct json_out json_reply_open(struct native *n)
{
    struct json_out o;

    buf_clear(&n->base.scratch);
    json_out_init(&o, &n->base.scratch);
    json_open(&o, '{');
    return o;
}

void json_reply_send(struct http_request *rq, int status, struct json_out *o)
{
    json_close(o, '}');
    assert(o->depth == 0);
    http_reply_json(rq, status, o->buf);
}

void json_reply_process(struct http_request *rq, int status, struct process *p)
{
    struct native *n = native_of(rq);
    struct json_out o;

    buf_clear(&n->base.scratch);
    json_out_init(&o, &n->base.scratch);
    process_write_json(p, &o);
    http_reply_json(rq, status, &n->base.scratch);
}

void json_reply_text(struct json_out *o, const char *key, const char *bytes, size_t len,
                     bool base64)
{
    json_key(o, key);
    if (!base64) {
        json_strn(o, bytes, len);
        return;
    }
    json_raw(o, "\"", 1);
    base64_encode(o->buf, bytes, len);
    buf_putc(o->buf, '"');
}

uint64_t json_reply_headtail(struct native *n, struct json_out *o, const char *key,
                             struct headtail *h, bool base64)
{
    struct buf *joined = &n->joined;
    struct headtail_view v;

    headtail_peek(h, &v);
    buf_clear(joined);
    if (v.tail_len > 0) {
        buf_put(joined, v.head, v.head_len);
        buf_put(joined, v.tail, v.tail_len);
        v.head = buf_data(joined);
        v.head_len = joined->len;
    }
    json_reply_text(o, key, v.head, v.head_len, base64);
    return v.omitted;
}

/* Removes the closing bracket that the writer has just appended. */
void json_reply_process_open(struct json_out *o, struct process *p)
{
    process_write_json(p, o);
    assert(o->buf->len > 0 && buf_data(o->buf)[o->buf->len - 1] == '}');
    o->buf->len--;
    o->depth++;
    o->first[o->depth] = false;
}
