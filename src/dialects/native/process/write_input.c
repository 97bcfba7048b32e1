/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_input.c - POST /v1/processes/{id}/input
 *
 * A raw body is passed to the process as it arrives. When the process's queue is full, we stop
 * reading the body until there is room, so the sender is slowed to the pace of the process and
 * nothing is buffered here. A JSON body is small: it is collected, decoded and then written by the
 * same rule. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/input_decode.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"

struct write_input {
    struct call call;
    struct stdin_feed feed; /* JSON: holds first the text, then the bytes not written yet */
    uint64_t total;         /* bytes that the feed has accepted or holds */
    bool json, eof;
};

static struct write_input *input_of(struct call *c)
{
    return list_entry(c, struct write_input, call);
}

static void input_release(struct call *c)
{
    stdin_feed_fini(&input_of(c)->feed);
}

static void input_fail(struct write_input *in, const struct hf_error *err)
{
    uint64_t accepted_bytes = in->total > 0 ? in->total - in->feed.held.len : 0;

    json_reply_problem_accepted(call_end(&in->call), err, accepted_bytes);
}

static void input_drain(struct call *c)
{
    struct hf_error err;

    dialect_check_open(c->base, &err);
    input_fail(input_of(c), &err);
}

static const struct call_kind input_kind = {.release = input_release, .drain = input_drain};

/* Everything has arrived: writes what is held, then end of file if requested, and replies. */
static void input_finish(struct write_input *in)
{
    struct hf_error err;
    struct json_out o;
    int rc;

    in->feed.eof = in->eof;
    rc = stdin_feed_flush(&in->feed, &err);
    if (rc == 0)
        return; /* input_on_room() continues */
    if (rc < 0) {
        input_fail(in, &err);
        return;
    }
    o = dialect_reply_open(in->call.base);
    json_ku64(&o, "accepted_bytes", in->total);
    call_send(&in->call, 200, &o);
}

static void input_on_room(void *arg)
{
    struct write_input *in = arg;

    if (in->json)
        input_finish(in);
    else
        http_body_resume(in->call.rq);
}

static size_t input_on_raw(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct write_input *in = http_user(rq);
    struct hf_error err;
    ssize_t n = stdin_feed_put(&in->feed, bytes, len, &err);

    if (n < 0) {
        input_fail(in, &err);
        return len;
    }
    in->total += (uint64_t)n;
    if (last && (size_t)n == len)
        input_finish(in);
    return (size_t)n;
}

static int input_decode(struct write_input *in, struct hf_error *err)
{
    struct buf *held = &in->feed.held, bytes = {0};
    json_auto_t *tree = json_parse(buf_data(held), held->len, err);
    int rc = -1;

    if (tree != NULL)
        rc =
            input_request_decode(tree, process_app_cursor(in->feed.process), &bytes, &in->eof, err);
    buf_fini(held);
    *held = bytes;
    in->total = rc < 0 ? 0 : bytes.len;
    return rc;
}

static size_t input_on_json(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct write_input *in = http_user(rq);
    struct hf_error err;

    if (in->feed.held.len + len > LIMIT_JSON_BODY_BYTES) {
        hf_fail(&err, HF_E_body_too_large,
                "a JSON body can have at most %d bytes; send more as application/octet-stream",
                LIMIT_JSON_BODY_BYTES);
        err.limit = "json_body_bytes";
        input_fail(in, &err);
        return len;
    }
    stdin_feed_hold(&in->feed, bytes, len);
    if (last && input_decode(in, &err) < 0)
        input_fail(in, &err);
    else if (last)
        input_finish(in);
    return len;
}

int input_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    struct write_input *in;
    bool eof = false;

    if (native_decode_bool(rq, "eof", &eof, err) < 0)
        return -1;
    in = call_begin(rq, &input_kind, sizeof *in);
    stdin_feed_init(&in->feed, input_on_room, in);
    stdin_feed_bind(&in->feed, p);
    in->json = dialect_is_json(rq);
    in->eof = eof;
    http_body_stream(rq, in->json ? input_on_json : input_on_raw);
    return 0;
}
