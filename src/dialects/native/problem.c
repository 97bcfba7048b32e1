/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.c - errors as application/problem+json (RFC 9457). Layer: dialects.
 */
#include "dialects/native/problem.h"

#include "dialects/native/native_context.h"

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

void problem_write(struct json_out *o, const struct hf_error *err)
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
    problem_write(&o, err);
    if (accepted != NULL)
        json_ku64(&o, "accepted_bytes", *accepted);
    json_close(&o, '}');
    add_headers(rq, err);
    http_reply(rq, hf_code_status(err->code), PROBLEM_TYPE, buf_data(out), out->len);
}

void problem_reply(struct http_request *rq, const struct hf_error *err)
{
    reply(rq, err, NULL);
}

void problem_reply_accepted(struct http_request *rq, const struct hf_error *err,
                            uint64_t accepted_bytes)
{
    reply(rq, err, &accepted_bytes);
}
