/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_input.c - CloseStdin, and StreamInput, whose messages are delivered as they arrive
 *
 * When the process has no room, reading pauses, so the sender waits. Layer: dialects.
 */
#include "dialects/e2b/e2b_input.h"

#include <stdio.h>

#include "dialects/common/call.h"
#include "dialects/common/input_call.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/e2b/e2b_envelope.h"

/* --- the kind of input --------------------------------------------------------------- */

const json_t *e2b_input_bytes(struct process *p, const json_t *input, const char **code,
                              const char **why)
{
    const json_t *in = json_object_get(input, "stdin"), *pty = json_object_get(input, "pty");
    struct process_view v;

    process_view(p, &v);
    *code = "internal";
    if (in == NULL && pty == NULL) {
        *code = "unimplemented";
        *why = "set either stdin or pty";
    } else if (in != NULL && v.pty) {
        *why = "error writing to stdin: the process has a terminal; send the input as pty";
    } else if (pty != NULL && !v.pty) {
        *why = "error writing to tty: tty not assigned to process; send the input as stdin";
    } else {
        return in != NULL ? in : pty;
    }
    return NULL;
}

const char *e2b_input_refusal(const struct hf_error *err)
{
    return err->code == HF_E_stdin_closed
               ? "error writing to stdin: stdin not enabled or closed; start with stdin: true"
               : err->detail;
}

/* --- CloseStdin -------------------------------------------------------------------------- */

static void on_closed(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    (void)taken;
    if (err != NULL && err->code != HF_E_stdin_closed)
        e2b_rpc_error(rq, err);
    else
        e2b_rpc_reply_empty_as(rq); /* closing what is already closed is not an error */
}

/* After pending input: the end must not cut it off. */
void e2b_close_stdin(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_select_request, false, &codec);
    struct process *p = message == NULL ? NULL : e2b_rpc_process(rq, message, true);
    struct process_view v;
    struct buf none = {0};

    if (p == NULL)
        return;
    process_view(p, &v);
    if (v.pty)
        e2b_rpc_fail(rq, "unknown",
                     "the input of a terminal cannot be closed; send its EOF character, 0x04");
    else
        input_call_take(rq, p, &none, true, on_closed);
}

/* --- StreamInput: a body of messages ---------------------------------------------------- */

struct e2b_input_feed {
    struct call call;
    enum rpc_codec codec;
    struct stdin_feed feed; /* no process until the start message; holds one message */
    struct envelope in;
    bool ended; /* the body is complete; the reply follows once the last bytes are delivered */
    bool done;  /* replied to; freed when the current call returns */
};

static void feed_release(struct call *c)
{
    struct e2b_input_feed *f = (struct e2b_input_feed *)c;

    stdin_feed_fini(&f->feed);
    e2b_envelope_fini(&f->in);
}

static bool feed_fail(struct e2b_input_feed *f, const char *code, const char *why)
{
    e2b_rpc_fail(f->call.rq, code, why);
    f->done = true;
    return false;
}

static void feed_count(const struct e2b_input_feed *f)
{
    http_set_held(f->call.rq, f->in.message.cap + f->feed.held.cap);
}

/* The reply has been sent. */
static void feed_end(struct e2b_input_feed *f)
{
    http_set_held(f->call.rq, 0);
    f->call.rq = NULL;
    call_end(&f->call);
}

static void feed_drain(struct call *c)
{
    struct e2b_input_feed *f = (struct e2b_input_feed *)c;

    feed_fail(f, "unavailable", "the daemon is shutting down; not all of the input was delivered");
    feed_end(f);
}

static const struct call_kind feed_kind = {.release = feed_release, .drain = feed_drain};

/* False: it waits for room, or it is over. */
static bool feed_type(struct e2b_input_feed *f)
{
    struct hf_error err;
    int rc = stdin_feed_flush(&f->feed, &err);

    return rc < 0 ? feed_fail(f, e2b_rpc_code(&err), e2b_input_refusal(&err)) : rc > 0;
}

static bool feed_start(struct e2b_input_feed *f, const json_t *start)
{
    const char *code;
    char why[160];
    struct process *p =
        e2b_rpc_select(dialect_base_of(f->call.rq)->engine, start, true, &code, why, sizeof why);

    if (p == NULL)
        return feed_fail(f, code, why);
    stdin_feed_bind(&f->feed, p);
    return true;
}

static bool feed_data(struct e2b_input_feed *f, const json_t *data)
{
    const char *code, *why;
    const json_t *bytes;

    if (f->feed.process == NULL)
        return feed_fail(f, "invalid_argument", "the first message must be start");
    bytes = e2b_input_bytes(f->feed.process, json_object_get(data, "input"), &code, &why);
    if (bytes == NULL)
        return feed_fail(f, code, why);
    stdin_feed_hold(&f->feed, json_string_value(bytes), json_string_length(bytes));
    return feed_type(f);
}

/* False: no further message for now. */
static bool feed_message(struct e2b_input_feed *f)
{
    struct hf_error err = {0};
    json_auto_t *m = NULL;
    const json_t *part;

    if (f->in.head[0] != 0)
        return feed_fail(f, "invalid_argument",
                         "messages must not be compressed, and their other flags must be 0");
    m = e2b_rpc_decode(&e2b_stream_input_request, f->codec, buf_data(&f->in.message),
                       f->in.message.len, &err);
    if (m == NULL)
        return feed_fail(f, e2b_rpc_code(&err), err.detail);
    if ((part = json_object_get(m, "start")) != NULL)
        return feed_start(f, part);
    if ((part = json_object_get(m, "data")) != NULL)
        return feed_data(f, part);
    return true; /* a keep-alive, or an unknown message */
}

static void feed_reply(struct e2b_input_feed *f)
{
    f->done = true;
    if (e2b_envelope_is_clean(&f->in))
        e2b_rpc_reply_stream_empty(f->call.rq, f->codec);
    else
        feed_fail(f, "invalid_argument", "the last message is cut short");
}

static void feed_on_room(void *arg)
{
    struct e2b_input_feed *f = arg;
    bool typed = feed_type(f);

    if (typed && f->ended)
        feed_reply(f);
    else if (typed)
        http_body_resume(f->call.rq);
    if (f->done)
        feed_end(f);
    else
        feed_count(f);
}

static size_t feed_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct e2b_input_feed *f = http_user(rq);
    size_t at = 0;
    bool go = f->feed.held.len == 0;

    while (go && at < len) {
        struct hf_error err;
        size_t used;
        enum envelope_state s =
            e2b_envelope_feed(&f->in, (const char *)bytes + at, len - at, &used, &err);

        at += used;
        if (s == ENVELOPE_ERROR)
            go = feed_fail(f, e2b_rpc_code(&err), err.detail);
        else if (s == ENVELOPE_MESSAGE)
            go = feed_message(f);
    }
    f->ended = last;
    if (last && go)
        feed_reply(f);
    if (f->done) {
        feed_end(f);
        return len;
    }
    feed_count(f);
    return at;
}

void e2b_stream_input(struct http_request *rq)
{
    enum rpc_codec codec;
    struct e2b_input_feed *f;

    if (!e2b_rpc_admit(rq, true, &codec))
        return;
    f = call_begin(rq, &feed_kind, sizeof *f);
    f->codec = codec;
    stdin_feed_init(&f->feed, feed_on_room, f);
    http_body_stream(rq, feed_on_body);
}
