/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reply.c - parts of JSON replies, and errors as application/problem+json (RFC 9457). Layer:
 * dialects.
 */
#include "dialects/native/json_reply.h"

#include <assert.h>

#include "base/text.h"

void json_reply_process(struct http_request *rq, int status, struct process *p)
{
    struct json_out o = json_reply_process_open(rq, p, NULL);

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

/* Removes the closing bracket that the writer has just appended. */
struct json_out json_reply_process_open(const struct http_request *rq, struct process *p,
                                        struct live_table *live)
{
    struct buf *out = &dialect_base_of(rq)->scratch;
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    process_write_json_live(p, &o, live);
    assert(out->len > 0 && buf_data(out)[out->len - 1] == '}');
    out->len--;
    o.depth++;
    o.first[o.depth] = false;
    return o;
}

/* --- errors ------------------------------------------------------------------------------- */

/* Members that are present only if the error has them. */
static void write_extras(struct json_out *o, const struct hf_error *err)
{
    if (err->field[0] != '\0')
        json_kstr(o, "field", err->field);
    if (err->limit != NULL)
        json_kstr(o, "limit", err->limit);
    if (err->errno_name != NULL)
        json_kstr(o, "errno", err->errno_name);
    if (err->path[0] != '\0')
        json_kstr(o, "path", err->path);
}

void json_write_problem(struct json_out *o, const struct hf_error *err)
{
    json_kstr(o, "type", "about:blank");
    json_kstr(o, "title", hf_code_title(err->code));
    json_kint(o, "status", hf_code_status(err->code));
    json_kstr(o, "code", hf_code_name(err->code));
    json_kstr(o, "detail", err->detail);
    write_extras(o, err);
}

/* Headers that the status requires besides the body. */
static void add_headers(struct http_request *rq, const struct hf_error *err)
{
    switch (hf_code_status(err->code)) {
    case 401: http_add_header(rq, "WWW-Authenticate", "Bearer"); break;
    case 405:
        if (err->allow != NULL)
            http_add_header(rq, "Allow", err->allow);
        break;
    case 426: http_add_header(rq, "Upgrade", "websocket"); break;
    case 429:
    case 503: http_add_header(rq, "Retry-After", "1"); break;
    default: break;
    }
}

static void reply(struct http_request *rq, const struct hf_error *err, const uint64_t *accepted)
{
    struct buf *out = &native_of(rq)->base.scratch;
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_write_problem(&o, err);
    if (accepted != NULL)
        json_ku64(&o, "accepted_bytes", *accepted);
    json_close(&o, '}');
    add_headers(rq, err);
    http_reply(rq, hf_code_status(err->code), "application/problem+json", buf_data(out), out->len);
}

void json_reply_problem(struct http_request *rq, const struct hf_error *err)
{
    reply(rq, err, NULL);
}

void json_reply_problem_accepted(struct http_request *rq, const struct hf_error *err,
                                 uint64_t accepted_bytes)
{
    reply(rq, err, &accepted_bytes);
}
