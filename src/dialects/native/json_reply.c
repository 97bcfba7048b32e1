/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reply.c - JSON replies. Layer: dialects.
 */
#include "dialects/native/json_reply.h"

#include <assert.h>

#include "base/text.h"

void json_reply_process(struct http_request *rq, int status, struct process *p)
{
    struct json_out o = json_reply_process_open(rq, p);

    dialect_reply_send(rq, status, &o);
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

void json_reply_survivors(struct json_out *o, const struct survivors *s)
{
    json_kopen(o, "survivors", '[');
    for (size_t i = 0; s != NULL && i < s->count; i++) {
        json_open(o, '{');
        json_kint(o, "pid", s->list[i].pid);
        json_kstr(o, "command", s->list[i].comm);
        json_close(o, '}');
    }
    json_close(o, ']');
}

/* Removes the closing bracket that the writer has just appended. */
struct json_out json_reply_process_open(const struct http_request *rq, struct process *p)
{
    struct buf *out = &dialect_base_of(rq)->scratch;
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    process_write_json(p, &o);
    assert(out->len > 0 && buf_data(out)[out->len - 1] == '}');
    out->len--;
    o.depth++;
    o.first[o.depth] = false;
    return o;
}
