/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_stream_input.c - StreamInput: a body of messages, delivered as they arrive
 *
 * When the process has no room, reading pauses, so the sender waits. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/e2b/e2b_envelope.h"
#include "dialects/e2b/e2b_input.h"

struct e2b_stream_input_feed {
    struct pending pending;
    struct http_request *rq;
    enum rpc_codec codec;
    struct process *process; /* referenced; NULL until the start message */
    struct input_waiter waiter;
    struct envelope in;
    json_t *bytes; /* being delivered; NULL: none */
    size_t taken;
    bool ended; /* the body is complete; the reply follows once the last bytes are delivered */
    bool done;  /* replied to; freed when the current call returns */
};

static void feed_free(struct pending *p)
{
    struct e2b_stream_input_feed *f = list_entry(p, struct e2b_stream_input_feed, pending);

    input_waiter_cancel(&f->waiter);
    process_unref(f->process);
    json_decref(f->bytes);
    e2b_envelope_fini(&f->in);
    pending_fini(p);
    free(f);
}

static bool feed_fail(struct e2b_stream_input_feed *f, const char *code, const char *why)
{
    e2b_rpc_fail(f->rq, code, why);
    f->done = true;
    return false;
}

static void feed_drain(struct pending *p)
{
    struct e2b_stream_input_feed *f = list_entry(p, struct e2b_stream_input_feed, pending);

    feed_fail(f, "unavailable", "the daemon is shutting down; not all of the input was delivered");
    feed_free(p);
}

static const struct pending_kind feed_kind = {.drain = feed_drain, .free = feed_free};

/* --- delivery --------------------------------------------------------------------------- */

/* False: it waits for room, or it is over. */
static bool feed_type(struct e2b_stream_input_feed *f)
{
    size_t len = json_string_length(f->bytes);

    while (f->taken < len) {
        struct hf_error err;
        ssize_t n =
            process_input(f->process, json_string_value(f->bytes) + f->taken, len - f->taken, &err);

        if (n < 0)
            return feed_fail(f, e2b_rpc_code(&err), e2b_input_refusal(&err));
        f->taken += (size_t)n;
        if (n == 0) {
            process_wait_for_room(f->process, &f->waiter);
            return false;
        }
    }
    json_decref(f->bytes);
    f->bytes = NULL;
    return true;
}

/* --- messages ------------------------------------------------------------------------------ */

static bool feed_start(struct e2b_stream_input_feed *f, const json_t *start)
{
    const char *code;
    char why[160];
    struct process *p =
        e2b_rpc_select(dialect_base_of(f->rq)->engine, start, true, &code, why, sizeof why);

    if (p == NULL)
        return feed_fail(f, code, why);
    process_unref(f->process);
    f->process = process_ref(p);
    return true;
}

static bool feed_data(struct e2b_stream_input_feed *f, const json_t *data)
{
    const char *code, *why;
    const json_t *bytes;

    if (f->process == NULL)
        return feed_fail(f, "invalid_argument", "the first message must be start");
    bytes = e2b_input_bytes(f->process, json_object_get(data, "input"), &code, &why);
    if (bytes == NULL)
        return feed_fail(f, code, why);
    f->bytes = json_incref((json_t *)(uintptr_t)bytes);
    f->taken = 0;
    return feed_type(f);
}

/* False: no further message for now. */
static bool feed_message(struct e2b_stream_input_feed *f)
{
    struct hf_error err = {0};
    json_auto_t *m = NULL;
    const json_t *part;

    if (f->in.head[0] != 0)
        return feed_fail(f, "invalid_argument", "messages must not be compressed or marked");
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

/* --- the body --------------------------------------------------------------------------------- */

static void feed_reply(struct e2b_stream_input_feed *f)
{
    struct buf *b = &dialect_base_of(f->rq)->scratch;
    size_t len = f->codec == RPC_JSON ? 2 : 0;
    char head[RPC_HEAD_BYTES];

    f->done = true;
    if (!e2b_envelope_is_clean(&f->in)) {
        feed_fail(f, "invalid_argument", "the last message is cut short");
        return;
    }
    buf_clear(b);
    e2b_rpc_head(head, 0, len);
    buf_put(b, head, sizeof head);
    buf_put(b, "{}", len);
    e2b_rpc_end(b, NULL, NULL);
    http_reply(f->rq, 200, e2b_rpc_stream_type(f->codec), buf_data(b), b->len);
}

static void feed_on_room(void *arg)
{
    struct e2b_stream_input_feed *f = arg;
    bool typed = feed_type(f);

    if (typed && f->ended)
        feed_reply(f);
    else if (typed)
        http_body_resume(f->rq);
    if (f->done)
        feed_free(&f->pending);
}

static size_t feed_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct e2b_stream_input_feed *f = http_user(rq);
    size_t at = 0;
    bool go = f->bytes == NULL;

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
        feed_free(&f->pending);
        return len;
    }
    return at;
}

static void feed_on_disconnect(void *user)
{
    feed_free(&((struct e2b_stream_input_feed *)user)->pending);
}

void e2b_stream_input(struct http_request *rq)
{
    enum rpc_codec codec;
    struct e2b_stream_input_feed *f;

    if (!e2b_rpc_admit(rq, true, &codec))
        return;
    f = hf_xalloc(sizeof *f);
    f->rq = rq;
    f->codec = codec;
    list_init(&f->waiter.link);
    f->waiter.fn = feed_on_room;
    f->waiter.arg = f;
    pending_init(&f->pending, &dialect_base_of(rq)->pending, &feed_kind);
    http_set_user(rq, f, feed_on_disconnect);
    http_body_stream(rq, feed_on_body);
}
