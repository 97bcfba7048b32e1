/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_exchange.c - one POST: a plain JSON reply, or a stream of events. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/mcp/mcp_call.h"
#include "dialects/mcp/mcp_session.h"
#include "transport/sse.h"

#define PIECE_BYTES (64 * 1024)

static struct mcp_exchange *exchange_of(struct call *c)
{
    return list_entry(c, struct mcp_exchange, call);
}

/* --- the stream ------------------------------------------------------------------- */

/* A large reply is sent in pieces: the connection buffers a limited amount per peer. */
static void exchange_pump(struct mcp_exchange *x)
{
    while (x->unsent.len > 0 && http_stream_ready(x->call.out)) {
        size_t n = x->unsent.len < PIECE_BYTES ? x->unsent.len : PIECE_BYTES;
        struct iovec iov = {buf_data(&x->unsent), n};

        http_stream_write(x->call.out, &iov, 1);
        buf_drop(&x->unsent, n);
    }
}

static void write_event(struct mcp_exchange *x, const char *message, size_t len)
{
    sse_event(&x->unsent, "message", NULL, message, len);
    exchange_pump(x);
}

/* Replies of a batch that were collected for an array are sent one by one. */
static void write_held(struct mcp_exchange *x)
{
    while (x->replies.len > 0) {
        const char *at = buf_data(&x->replies), *end = memchr(at, '\n', x->replies.len);
        size_t len = end != NULL ? (size_t)(end - at) : x->replies.len;

        write_event(x, at, len);
        buf_drop(&x->replies, len + (end != NULL));
    }
}

/* Begins the stream, unless it has begun. */
static void make_stream(struct mcp_exchange *x)
{
    if (x->call.rq == NULL)
        return;
    http_add_header(x->call.rq, "Cache-Control", "no-store");
    http_add_header(x->call.rq, "X-Accel-Buffering", "no");
    call_stream_sse(&x->call);
    write_held(x);
}

void exchange_add_reply(struct mcp_exchange *x, const struct buf *message)
{
    x->reply_count++;
    if (x->call.out != NULL) {
        write_event(x, buf_data(message), message->len);
        return;
    }
    /* Our JSON texts contain no newline, so one can separate them. */
    if (x->replies.len > 0)
        buf_putc(&x->replies, '\n');
    buf_put(&x->replies, buf_data(message), message->len);
}

void exchange_notify(struct mcp_exchange *x, const struct buf *message)
{
    make_stream(x);
    if (x->unsent.len == 0 && http_stream_ready(x->call.out))
        write_event(x, buf_data(message), message->len);
}

void exchange_add_fault(struct mcp_exchange *x, const struct rpc_fault *f)
{
    struct buf *out = &x->call.base->scratch;

    x->status = x->batch ? 200 : 400;
    rpc_write_error(out, f->id, f->code, f->message, NULL);
    exchange_add_reply(x, out);
}

/* --- the end ---------------------------------------------------------------------- */

/* The session may be idle from now on, and may expire. */
static void leave_session(struct mcp_exchange *x)
{
    if (x->session == NULL)
        return;
    list_remove(&x->link);
    session_touch(x->session);
    x->session = NULL;
}

/* The plain reply to a batch is an array. */
static void reply_batch(struct mcp_exchange *x, struct http_request *rq)
{
    struct buf *out = &x->call.base->scratch;

    buf_clear(out);
    buf_putc(out, '[');
    for (size_t i = 0; i < x->replies.len; i++)
        buf_putc(out, buf_data(&x->replies)[i] == '\n' ? ',' : buf_data(&x->replies)[i]);
    buf_putc(out, ']');
    http_reply_json(rq, 200, out);
}

/* All calls are done: replies, or ends the stream once all data is sent. */
static void exchange_finish(struct mcp_exchange *x)
{
    struct http_request *rq;

    /* A cancelled call gets no reply: if all were cancelled, send an empty stream. */
    if (x->reply_count == 0 && x->status != 202)
        make_stream(x);
    x->ending = x->unsent.len > 0;
    if (x->ending) {
        leave_session(x);
        return;
    }
    if (x->call.out != NULL) {
        call_stream_end(&x->call);
        return;
    }
    rq = call_detach(&x->call);
    if (x->reply_count == 0)
        http_reply_empty(rq, 202);
    else if (x->batch)
        reply_batch(x, rq);
    else
        http_reply_json(rq, x->status, &x->replies);
    call_end(&x->call);
}

void exchange_check_done(struct mcp_exchange *x)
{
    if (!x->opening && list_is_empty(&x->calls))
        exchange_finish(x);
}

static void abandon_calls(struct mcp_exchange *x, bool cancelled)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &x->calls)
        mcp_call_abandon(list_entry(it, struct mcp_call, link), cancelled);
}

static void exchange_release(struct call *c)
{
    struct mcp_exchange *x = exchange_of(c);

    while (!list_is_empty(&x->calls)) /* if the dialect is being freed: they will be, too */
        mcp_call_detach(list_entry(x->calls.next, struct mcp_call, link));
    leave_session(x);
    timer_close(x->timer);
    buf_fini(&x->replies);
    buf_fini(&x->unsent);
}

/* Where requests are self-contained, disconnecting cancels them. Where there are sessions it does
 * not: the network may have failed, and cancelling has its own message. */
static void exchange_disconnected(struct call *c)
{
    abandon_calls(exchange_of(c), exchange_of(c)->revision->stateless);
}

static void exchange_drain(struct call *c)
{
    (void)c; /* the last of its calls ends it */
}

static void exchange_room(struct call *c)
{
    struct mcp_exchange *x = exchange_of(c);

    exchange_pump(x);
    if (x->ending)
        exchange_finish(x);
}

static const struct call_kind exchange_kind = {
    .release = exchange_release,
    .disconnected = exchange_disconnected,
    .drain = exchange_drain,
    .room = exchange_room,
};

/* --- the beginning ------------------------------------------------------------------ */

struct mcp_exchange *mcp_exchange_new(struct http_request *rq, struct mcp_session *s,
                                      const struct revision *rev)
{
    struct mcp_exchange *x = call_begin(rq, &exchange_kind, sizeof *x);

    x->session = s;
    x->revision = rev;
    x->status = 202;
    x->role = http_role(rq);
    x->opening = true;
    list_init(&x->calls);
    if (s != NULL)
        list_append(&s->exchanges, &x->link);
    return x;
}

/* Nothing was sent for a while: send a keep-alive so that no proxy gives up. */
static void exchange_on_timer(struct timer *t, void *arg)
{
    (void)t;
    make_stream(arg);
}

void exchange_opened(struct mcp_exchange *x)
{
    x->opening = false;
    if (!list_is_empty(&x->calls)) {
        x->timer = timer_new(x->call.base->loop, exchange_on_timer, x);
        timer_start(x->timer, SSE_KEEPALIVE_MS);
    }
    exchange_check_done(x);
}

/* --- for the session ------------------------------------------------------------------ */

void mcp_session_cancel_call(struct mcp_session *s, const json_t *id)
{
    struct list *it, *tmp, *it2, *tmp2;

    list_for_each (it, tmp, &s->exchanges) {
        struct mcp_exchange *x = list_entry(it, struct mcp_exchange, link);

        list_for_each (it2, tmp2, &x->calls) {
            struct mcp_call *c = list_entry(it2, struct mcp_call, link);

            if (!json_equal(c->id, id))
                continue;
            mcp_call_abandon(c, true);
            exchange_check_done(x);
            return;
        }
    }
}

void mcp_session_end_calls(struct mcp_session *s)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &s->exchanges) {
        struct mcp_exchange *x = list_entry(it, struct mcp_exchange, link);

        abandon_calls(x, true);
        exchange_check_done(x);
    }
}
