/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_send_input.c - SendInput, whose bytes stay together (dialects/common/input_call.h)
 *
 * The original has no limit for its size, so a long one is not held: its beginning says for whom
 * it is, and the rest is read only as fast as the process reads. The reply is sent when all of it
 * is in the process's queue. Layer: dialects.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/call.h"
#include "dialects/common/input_call.h"
#include "dialects/e2b/e2b_input.h"
#include "dialects/e2b/e2b_limits.h"
#include "dialects/e2b/e2b_long_input.h"

/* The start of a body, until it is whole or too long for that. */
struct e2b_send_input {
    struct call call;
    enum rpc_codec codec;
    struct buf head;
};

/* The rest of one that is too long. */
struct e2b_send_rest {
    struct long_input in;
    struct buf out; /* decoded, for one piece */
};

static void on_typed(struct http_request *rq, size_t accepted, const struct hf_error *err)
{
    (void)accepted;
    if (err != NULL)
        e2b_rpc_fail(rq, e2b_rpc_code(err), e2b_input_refusal(err));
    else
        e2b_rpc_reply_empty_as(rq);
}

/* The process that the message names, if it accepts that kind of input. NULL: replied. */
static struct process *input_process(struct http_request *rq, const json_t *message,
                                     const json_t **bytes)
{
    struct process *p = e2b_rpc_process(rq, message, true);
    const char *code, *why;

    if (p == NULL)
        return NULL;
    *bytes = e2b_input_bytes(p, json_object_get(message, "input"), &code, &why);
    if (*bytes != NULL)
        return p;
    e2b_rpc_fail(rq, code, why);
    return NULL;
}

/* --- a body that is held -------------------------------------------------------------------- */

static void send_release(struct call *c)
{
    buf_fini(&list_entry(c, struct e2b_send_input, call)->head);
}

static const struct call_kind send_kind = {
    .release = send_release,
    .drain_text = "the daemon is shutting down; none of the input was accepted",
};

static void send_whole(struct http_request *rq, enum rpc_codec codec, const struct buf *body)
{
    struct hf_error err = {0};
    json_auto_t *message = e2b_rpc_message(rq, &e2b_input_request, (struct rpc_form){codec, false},
                                           buf_data(body), body->len, &err);
    const json_t *bytes;
    struct process *p;
    struct buf typed = {0};

    if (message == NULL) {
        e2b_rpc_error(rq, &err);
        return;
    }
    p = input_process(rq, message, &bytes);
    if (p == NULL)
        return;
    buf_put(&typed, json_string_value(bytes), json_string_length(bytes));
    input_call_take(rq, p, &typed, false, on_typed);
}

/* --- a body that is not --------------------------------------------------------------------- */

static void rest_free(void *source)
{
    struct e2b_send_rest *r = source;

    buf_fini(&r->out);
    free(r);
}

static void rest_feed(struct input_call *t, struct e2b_send_rest *r, const char *bytes, size_t len)
{
    struct hf_error err = {0};

    buf_clear(&r->out);
    if (long_input_feed(&r->in, bytes, len, &r->out, &err))
        input_call_put(t, buf_data(&r->out), r->out.len);
    else
        input_call_fail(t, &err);
}

static size_t rest_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct input_call *t = http_user(rq);
    struct e2b_send_rest *r = input_call_source(t);
    struct hf_error err = {0};

    if (last && long_input_is_whole(&r->in)) {
        input_call_close(t);
    } else if (last) {
        hf_fail(&err, HF_E_bad_value,
                "the message is cut short; the part that arrived was sent to the process");
        input_call_fail(t, &err);
    } else if (input_call_is_full(t)) {
        return 0;
    } else {
        rest_feed(t, r, bytes, len);
    }
    return len;
}

/* Continues with the rest of the body. False: it has replied instead. */
static bool send_long(struct http_request *rq, enum rpc_codec codec, const struct buf *head)
{
    struct e2b_send_rest *r = hf_xalloc(sizeof *r);
    size_t skip = e2b_grpc_is(rq, &codec) ? RPC_HEAD_BYTES : 0, used = 0;
    const char *at = (const char *)buf_data(head) + skip;
    struct hf_error err = {0};
    json_auto_t *message = NULL;
    struct process *p = NULL;
    const json_t *bytes;
    struct input_call *t;

    if (skip > 0 && *(const char *)buf_data(head) != 0)
        hf_fail(&err, HF_E_bad_value, "the message must not be compressed");
    else
        message = long_input_begin(&r->in, codec, at, head->len - skip, &used, &err);
    if (message == NULL)
        e2b_rpc_error(rq, &err);
    else
        p = input_process(rq, message, &bytes);
    if (p == NULL) {
        free(r);
        return false;
    }
    t = input_call_open(rq, p, on_typed, r, rest_free);
    http_body_stream(rq, rest_on_body);
    rest_feed(t, r, at + used, head->len - skip - used);
    return true;
}

/* --- the request ----------------------------------------------------------------------------- */

static size_t send_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    struct e2b_send_input *s = http_user(rq);
    size_t room = LIMIT_E2B_INPUT_HEAD_BYTES - s->head.len;
    enum rpc_codec codec = s->codec;
    struct buf head;

    buf_put(&s->head, bytes, len < room ? len : room);
    if (!last && len < room)
        return len;
    head = s->head;
    s->head = (struct buf){0};
    rq = call_end(&s->call);
    if (last)
        send_whole(rq, codec, &head);
    else if (send_long(rq, codec, &head))
        len = room;
    buf_fini(&head);
    return len;
}

void e2b_send_input(struct http_request *rq)
{
    struct e2b_send_input *s;
    enum rpc_codec codec;

    if (!e2b_rpc_admit(rq, false, &codec))
        return;
    s = call_begin(rq, &send_kind, sizeof *s);
    s->codec = codec;
    http_body_stream(rq, send_on_body);
}
