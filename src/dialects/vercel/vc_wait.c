/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_wait.c - GET …/cmd/{id}: the state of a command, or how it ended
 *
 * Clients abandon a request whose head has not arrived after 300 s, and proxies sooner. So the head
 * of a long wait is sent early, and now and then a space, which JSON allows before the object.
 * Until then a shutdown is not an error: clients repeat the request to the next worker. Layer:
 * dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/vercel/vercel.h"
#include "dialects/vercel/vercel_limits.h"
#include "transport/sse.h"

struct vc_wait {
    struct call call;        /* a stream once the head was sent */
    struct process *process; /* referenced */
    struct exit_waiter waiter;
    struct timer *head;
    char session[BOX_SESSION_BYTES + 1];
    bool is_v1;
};

static void wait_release(struct call *c)
{
    struct vc_wait *w = (struct vc_wait *)c;

    exit_waiter_cancel(&w->waiter);
    timer_close(w->head);
    process_unref(w->process);
    ((struct vercel *)c->base)->waits--;
}

static void wait_drain(struct call *c)
{
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    if (c->streams)
        call_stream_abort(c);
    else
        call_fail(c, &err);
}

static const struct call_kind wait_kind = {.release = wait_release, .drain = wait_drain};

static void wait_on_exit(void *arg, struct process *p)
{
    struct vc_wait *w = arg;
    struct json_out o = dialect_reply_open(w->call.base);

    json_key(&o, "command");
    vc_write_command(&o, p, w->session, w->is_v1);
    if (!w->call.streams) {
        call_send(&w->call, 200, &o);
        return;
    }
    json_close(&o, '}');
    http_stream_write(w->call.out, &(struct iovec){buf_data(o.buf), o.buf->len}, 1);
    call_stream_end(&w->call);
}

static void wait_on_head(struct timer *t, void *arg)
{
    static char space[] = " ";
    struct vc_wait *w = arg;

    (void)t;
    call_stream(&w->call, 200, "application/json");
    http_stream_write(w->call.out, &(struct iovec){space, 1}, 1);
    http_stream_keep_alive(w->call.out, space, SSE_KEEPALIVE_MS);
}

static void wait_begin(struct http_request *rq, struct process *p)
{
    struct vc_wait *w = call_begin(rq, &wait_kind, sizeof *w);

    w->process = process_ref(p);
    w->head = timer_new(w->call.base->loop, wait_on_head, w);
    snprintf(w->session, sizeof w->session, "%s", http_param(rq, "session"));
    w->is_v1 = vc_is_v1(rq);
    list_init(&w->waiter.link);
    w->waiter.fn = wait_on_exit;
    w->waiter.arg = w;
    vc_of(rq)->waits++;
    process_wait_exit(p, &w->waiter);
    timer_start(w->head, VERCEL_HEAD_MS);
    if (w->call.base->draining)
        wait_drain(&w->call);
}

void vc_get(struct http_request *rq)
{
    struct process *p = vc_command(rq);
    struct hf_error err = {0};

    if (p == NULL)
        return;
    if (!dialect_query_flag(rq, "wait") || !process_is_running(p)) {
        vc_reply_command(rq, p);
    } else if (vc_of(rq)->waits >= LIMIT_WAITS) {
        hf_fail(&err, HF_E_too_many_waits, "%d requests are already waiting", LIMIT_WAITS);
        vc_error(rq, &err);
    } else {
        wait_begin(rq, p);
    }
}
