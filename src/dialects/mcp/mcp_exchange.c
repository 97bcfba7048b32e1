/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_exchange.c - one POST: a plain JSON reply, or a stream of events. Layer: dialects.
 */
#include "dialects/mcp/mcp_exchange.h"

#include "base/mem.h"
#include "dialects/mcp/mcp_session.h"
#include "transport/sse.h"

#define PIECE_BYTES (64 * 1024)

static void exchange_on_disconnect(void *arg)
{
    struct mcp_exchange *x = arg;

    x->rq = NULL;
    x->stream = NULL;
    /* Where requests are self-contained, disconnecting cancels them. Where there are sessions it
     * does not: the network may have failed, and cancelling has its own message. */
    exchange_end(x, x->revision->stateless ? MCP_CALL_CANCELLED : MCP_CALL_DISCONNECTED);
}

static void exchange_free(struct mcp_exchange *x);
static bool exchange_finish(struct mcp_exchange *x);

/* A large reply is sent in pieces: the connection buffers a limited amount per peer. */
static void exchange_pump(struct mcp_exchange *x)
{
    while (x->out.len > 0 && http_stream_ready(x->stream)) {
        size_t n = x->out.len < PIECE_BYTES ? x->out.len : PIECE_BYTES;
        struct iovec iov = {buf_data(&x->out), n};

        http_stream_write(x->stream, &iov, 1);
        buf_drop(&x->out, n);
    }
}

static void exchange_on_drain(void *arg)
{
    struct mcp_exchange *x = arg;

    exchange_pump(x);
    if (x->ending && exchange_finish(x))
        exchange_free(x);
}

static const struct http_stream_ops stream_ops = {.on_drain = exchange_on_drain,
                                                  .on_disconnect = exchange_on_disconnect};

struct mcp_exchange *mcp_exchange_new(struct http_request *rq, struct mcp_session *s,
                                      const struct revision *rev)
{
    struct mcp_exchange *x = hf_xalloc(sizeof *x);

    x->mcp = mcp_of(rq);
    x->session = s;
    x->revision = rev;
    x->rq = rq;
    x->status = 200;
    x->role = http_role(rq);
    x->opening = true;
    list_init(&x->calls);
    list_append(&x->mcp->exchanges, &x->link);
    if (s != NULL)
        s->busy++;
    http_set_user(rq, x, exchange_on_disconnect);
    return x;
}

/* The session may be idle from now on, and may expire. */
static void leave_session(struct mcp_exchange *x)
{
    if (x->session == NULL)
        return;
    x->session->busy--;
    session_touch(x->mcp, x->session);
    x->session = NULL;
}

static void exchange_free(struct mcp_exchange *x)
{
    leave_session(x);
    list_remove(&x->link);
    timer_close(x->timer);
    buf_fini(&x->replies);
    buf_fini(&x->out);
    free(x);
}

static void write_event(struct mcp_exchange *x, const char *message, size_t len)
{
    sse_event(&x->out, "message", NULL, message, len);
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

void exchange_make_stream(struct mcp_exchange *x)
{
    struct http_request *rq = x->rq;

    if (x->stream != NULL || rq == NULL)
        return;
    x->rq = NULL;
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "X-Accel-Buffering", "no");
    x->stream = sse_start(rq, &stream_ops, x);
    write_held(x);
}

void exchange_add_reply(struct mcp_exchange *x, const struct buf *message)
{
    x->reply_count++;
    if (x->stream != NULL) {
        write_event(x, buf_data(message), message->len);
        return;
    }
    /* Our JSON texts contain no newline, so one can separate them. */
    if (x->replies.len > 0)
        buf_putc(&x->replies, '\n');
    buf_put(&x->replies, buf_data(message), message->len);
}

bool exchange_notify(struct mcp_exchange *x, const struct buf *message)
{
    exchange_make_stream(x);
    if (x->stream == NULL || x->out.len > 0 || !http_stream_ready(x->stream))
        return false;
    write_event(x, buf_data(message), message->len);
    return true;
}

void exchange_add_fault(struct mcp_exchange *x, const struct rpc_fault *f)
{
    if (!x->batch)
        x->status = 400;
    mcp_rpc_write_error(&x->mcp->scratch, f->id, f->code, f->message, NULL);
    exchange_add_reply(x, &x->mcp->scratch);
}

/* The plain reply to a batch is an array. */
static void reply_batch(struct mcp_exchange *x, struct http_request *rq)
{
    struct buf *out = &x->mcp->frame;

    buf_clear(out);
    buf_putc(out, '[');
    for (size_t i = 0; i < x->replies.len; i++)
        buf_putc(out, buf_data(&x->replies)[i] == '\n' ? ',' : buf_data(&x->replies)[i]);
    buf_putc(out, ']');
    http_reply_json(rq, 200, out);
}

/* Everything is queued: releases the connection. False: some data is not sent yet. */
static bool exchange_finish(struct mcp_exchange *x)
{
    struct http_request *rq = x->rq;

    if (rq != NULL && x->reply_count == 0) {
        /* All calls were cancelled, and a cancelled call gets no reply: send an empty stream. */
        exchange_make_stream(x);
        rq = NULL;
    }
    x->ending = x->stream != NULL && x->out.len > 0;
    if (x->ending) {
        leave_session(x);
        return false;
    }
    if (x->stream != NULL) {
        http_stream_end(x->stream);
    } else if (rq != NULL && x->batch) {
        reply_batch(x, rq);
    } else if (rq != NULL) {
        http_reply_json(rq, x->status, &x->replies);
    }
    x->stream = NULL;
    x->rq = NULL;
    return true;
}

void exchange_check_done(struct mcp_exchange *x)
{
    if (x->opening || !list_is_empty(&x->calls))
        return;
    if (exchange_finish(x))
        exchange_free(x);
}

/* Nothing was sent for a while: send a keep-alive so that no proxy gives up. */
static void exchange_on_timer(struct timer *t, void *arg)
{
    (void)t;
    exchange_make_stream(arg);
}

void exchange_opened(struct mcp_exchange *x)
{
    x->opening = false;
    if (!list_is_empty(&x->calls)) {
        x->timer = timer_new(engine_loop(x->mcp->engine), exchange_on_timer, x);
        timer_start(x->timer, SSE_KEEPALIVE_MS);
    }
    exchange_check_done(x);
}

void exchange_end(struct mcp_exchange *x, enum mcp_call_end why)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &x->calls) {
        struct mcp_call *c = list_entry(it, struct mcp_call, link);

        mcp_call_end_job(c, why);
        if (why == MCP_CALL_DRAIN) {
            mcp_rpc_write_error(
                &x->mcp->scratch, c->id, RPC_INTERNAL_ERROR,
                "the daemon is shutting down; processes keep running, so reconnect and find "
                "them with list_processes",
                "{\"code\":\"shutting_down\"}");
            exchange_add_reply(x, &x->mcp->scratch);
        }
        mcp_call_free(c);
    }
    if (why == MCP_CALL_FREE || exchange_finish(x))
        exchange_free(x);
}

static void cancel_call(struct mcp_call *c)
{
    struct mcp_exchange *x = c->exchange;

    mcp_call_end_job(c, MCP_CALL_CANCELLED);
    mcp_call_free(c);
    exchange_check_done(x);
}

void mcp_session_cancel_call(struct mcp_session *s, struct mcp *m, const json_t *id)
{
    struct list *it, *tmp, *it2, *tmp2;

    list_for_each (it, tmp, &m->exchanges) {
        struct mcp_exchange *x = list_entry(it, struct mcp_exchange, link);

        if (x->session != s)
            continue;
        list_for_each (it2, tmp2, &x->calls) {
            struct mcp_call *c = list_entry(it2, struct mcp_call, link);

            if (!json_equal(c->id, id))
                continue;
            cancel_call(c);
            return;
        }
    }
}

void mcp_session_end_calls(struct mcp_session *s, struct mcp *m)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->exchanges) {
        struct mcp_exchange *x = list_entry(it, struct mcp_exchange, link);

        if (x->session == s && !x->opening)
            exchange_end(x, MCP_CALL_CANCELLED);
    }
}
