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
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/problem.h"

struct write_input {
    struct op op;
    struct http_request *rq;
    struct process *process; /* referenced */
    struct input_waiter waiter;
    struct buf held; /* JSON: first the text, then the bytes not written yet */
    uint64_t accepted_bytes;
    bool json, eof;
};

static void input_free(struct write_input *in)
{
    input_waiter_cancel(&in->waiter);
    native_op_fini(&in->op);
    process_unref(in->process);
    buf_fini(&in->held);
    free(in);
}

static void input_on_disconnect(void *user)
{
    input_free(user);
}

static void input_fail(struct write_input *in, const struct hf_error *err)
{
    struct http_request *rq = in->rq;
    uint64_t accepted_bytes = in->accepted_bytes;

    input_free(in);
    problem_reply_accepted(rq, err, accepted_bytes);
}

static void input_on_drain(struct op *op)
{
    struct hf_error err;

    dialect_check_open(&op->native->base, &err);
    input_fail(list_entry(op, struct write_input, op), &err);
}

static void input_on_free(struct op *op)
{
    input_free(list_entry(op, struct write_input, op));
}

static const struct op_kind input_kind = {.on_drain = input_on_drain, .on_free = input_on_free};

/* All bytes are written: sends end of file if requested, then the reply. */
static void input_finish(struct write_input *in)
{
    struct http_request *rq = in->rq;
    struct hf_error err;
    struct json_out o;

    if (in->eof && process_input_eof(in->process, &err) < 0) {
        input_fail(in, &err);
        return;
    }
    o = json_reply_open(in->op.native);
    json_ku64(&o, "accepted_bytes", in->accepted_bytes);
    input_free(in);
    json_reply_send(rq, 200, &o);
}

/* Returns how many bytes were consumed, or -1 after the error reply. If fewer than all, the waiter
 * is armed. */
static ssize_t input_feed(struct write_input *in, const void *bytes, size_t len)
{
    struct hf_error err;
    ssize_t n = len > 0 ? process_input(in->process, bytes, len, &err) : 0;

    if (n < 0) {
        input_fail(in, &err);
        return -1;
    }
    in->accepted_bytes += (uint64_t)n;
    if ((size_t)n < len)
        process_wait_for_room(in->process, &in->waiter);
    return n;
}

static void input_push_held(struct write_input *in)
{
    ssize_t n = input_feed(in, buf_data(&in->held), in->held.len);

    if (n < 0)
        return;
    buf_drop(&in->held, (size_t)n);
    if (in->held.len == 0)
        input_finish(in);
}

static void input_on_room(void *arg)
{
    struct write_input *in = arg;

    if (in->json)
        input_push_held(in);
    else
        http_body_resume(in->rq);
}

static size_t input_on_raw(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct write_input *in = http_user(rq);
    ssize_t n = input_feed(in, bytes, len);

    if (n < 0)
        return len;
    if (last && (size_t)n == len)
        input_finish(in);
    return (size_t)n;
}

static int input_decode(struct write_input *in, struct hf_error *err)
{
    json_auto_t *tree = json_parse(buf_data(&in->held), in->held.len, err);
    struct buf bytes = {0};
    int rc = -1;

    if (tree != NULL)
        rc = input_request_decode(tree, process_app_cursor(in->process), &bytes, &in->eof, err);
    buf_fini(&in->held);
    in->held = bytes;
    return rc;
}

static size_t input_on_json(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct write_input *in = http_user(rq);
    struct hf_error err;

    if (in->held.len + len > LIMIT_JSON_BODY_BYTES) {
        hf_fail(&err, HF_E_body_too_large,
                "a JSON body may have at most %d bytes; send more as application/octet-stream",
                LIMIT_JSON_BODY_BYTES);
        err.limit = "json_body_bytes";
        input_fail(in, &err);
        return len;
    }
    buf_put(&in->held, bytes, len);
    if (!last)
        return len;
    if (input_decode(in, &err) < 0)
        input_fail(in, &err);
    else
        input_push_held(in);
    return len;
}

void input_handle(struct http_request *rq)
{
    struct process *p = native_decode_process(rq);
    struct hf_error err;
    struct write_input *in;
    bool eof = false;

    if (p == NULL)
        return;
    if (native_decode_bool(rq, "eof", &eof, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    in = hf_xalloc(sizeof *in);
    native_op_init(&in->op, native_of(rq), &input_kind);
    in->rq = rq;
    in->process = process_ref(p);
    in->json = native_decode_is_json_type(rq);
    in->eof = eof;
    list_init(&in->waiter.link);
    in->waiter.fn = input_on_room;
    in->waiter.arg = in;
    http_set_user(rq, in, input_on_disconnect);
    http_body_stream(rq, in->json ? input_on_json : input_on_raw);
}
