/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_stdin.c - POST …/cmd/ID/stdin: input for a command that was started with attachStdin
 *
 * A client names the offset at which its bytes belong, and repeats a request whose reply it did not
 * get. What the process has been given already is skipped, so nothing is delivered twice, also by
 * another worker. Layer: dialects.
 */
#include <string.h>

#include "dialects/common/input_call.h"
#include "dialects/common/input_decode.h"
#include "dialects/vercel/vercel.h"

#define UNAVAILABLE "command_stdin_unavailable" /* clients treat it as a closed pipe */

static void stdin_reply(struct http_request *rq, const struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_ku64(&o, "bytesWritten", process_input_offset(p));
    dialect_reply_send(rq, 200, &o);
}

static void stdin_fail(struct http_request *rq, const struct hf_error *err)
{
    if (err->code == HF_E_stdin_closed || err->code == HF_E_not_running)
        vc_refuse(rq, 400, UNAVAILABLE, err->detail);
    else if (dialect_base_of(rq)->draining)
        vc_refuse(rq, 503, "unavailable", err->detail); /* repeating it is safe */
    else
        vc_error(rq, err);
}

static void stdin_done(struct http_request *rq, size_t accepted, const struct hf_error *err)
{
    struct process *p;

    (void)accepted;
    if (err != NULL)
        stdin_fail(rq, err);
    else if ((p = vc_command(rq)) != NULL)
        stdin_reply(rq, p);
}

/* Drops what is in front of the bytes that are still missing. */
static int skip_written(struct buf *bytes, const json_t *offset, uint64_t written,
                        struct hf_error *err)
{
    uint64_t at = (uint64_t)json_integer_value(offset), skip;

    if (offset == NULL || json_is_null(offset))
        return 0;
    if (!json_is_integer(offset) || json_integer_value(offset) < 0)
        return hf_fail_field(err, HF_E_bad_type, "offset", "\"offset\" must be a whole number");
    if (at > written)
        return hf_fail_field(err, HF_E_bad_value, "offset",
                             "\"offset\" is %llu, but only %llu bytes were written",
                             (unsigned long long)at, (unsigned long long)written);
    skip = written - at;
    buf_drop(bytes, skip < bytes->len ? (size_t)skip : bytes->len);
    return 0;
}

static int stdin_decode(const struct process *p, const json_t *body, struct buf *bytes, bool *close,
                        struct hf_error *err)
{
    static const char *const encodings[] = {"base64", NULL};
    const json_t *end = json_object_get(body, "close");

    if (end != NULL && !json_is_boolean(end) && !json_is_null(end))
        return hf_fail_field(err, HF_E_bad_type, "close", "\"close\" must be true or false");
    *close = json_is_true(end);
    if (input_data_decode(body, "base64", encodings, bytes, err) < 0)
        return -1;
    return skip_written(bytes, json_object_get(body, "offset"), process_input_offset(p), err);
}

/* Without data it writes nothing, and reports how much was written before. What belongs behind
 * input that still waits cannot be told from a repetition of it, so it has to come again. */
void vc_stdin(struct http_request *rq)
{
    struct process *p = vc_command(rq);
    json_auto_t *body = p == NULL ? NULL : dialect_object(rq);
    struct buf bytes = {0};
    struct hf_error err = {0};
    bool close = false;

    if (body == NULL)
        return;
    if (process_input(p, "", 0, &err) < 0 || stdin_decode(p, body, &bytes, &close, &err) < 0)
        stdin_fail(rq, &err);
    else if (bytes.len == 0 && !close)
        stdin_reply(rq, p);
    else if (input_call_is_waiting(dialect_base_of(rq), p))
        vc_refuse(rq, 503, "unavailable", "earlier input is still queued; send this again later");
    else
        input_call_take(rq, p, &bytes, close, stdin_done);
    buf_fini(&bytes);
}
