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
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/vercel/vercel.h"
#include "transport/sse.h"

struct vc_wait {
    struct pending pending;
    struct vercel *vercel;
    struct http_request *rq;    /* until the reply begins */
    struct http_stream *stream; /* from then on */
    struct process *process;    /* referenced */
    struct exit_waiter waiter;
    struct timer *head;
    char session[BOX_SESSION_BYTES + 1];
};

static void wait_free(struct pending *p)
{
    struct vc_wait *w = list_entry(p, struct vc_wait, pending);

    exit_waiter_cancel(&w->waiter);
    timer_close(w->head);
    process_unref(w->process);
    w->vercel->waits--;
    pending_fini(p);
    free(w);
}

static void wait_on_disconnect(void *user)
{
    wait_free(&((struct vc_wait *)user)->pending);
}

static void wait_on_room(void *arg)
{
    (void)arg; /* what is sent is short */
}

static const struct http_stream_ops stream_ops = {.on_drain = wait_on_room,
                                                  .on_disconnect = wait_on_disconnect};

static void wait_drain(struct pending *p)
{
    struct vc_wait *w = list_entry(p, struct vc_wait, pending);
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; try again in a moment");
    if (w->stream != NULL)
        http_stream_abort(w->stream);
    else
        vc_error(w->rq, &err);
    wait_free(p);
}

static const struct pending_kind wait_kind = {.drain = wait_drain, .free = wait_free};

static void wait_on_exit(void *arg, struct process *p)
{
    struct vc_wait *w = arg;
    struct json_out o = dialect_reply_open(&w->vercel->base);
    struct iovec iov;

    json_key(&o, "command");
    vc_write_command(&o, p, w->session);
    json_close(&o, '}');
    if (w->stream == NULL) {
        http_reply_json(w->rq, 200, o.buf);
    } else {
        iov = (struct iovec){buf_data(o.buf), o.buf->len};
        http_stream_write(w->stream, &iov, 1);
        http_stream_end(w->stream);
    }
    wait_free(&w->pending);
}

static void wait_on_head(struct timer *t, void *arg)
{
    static char space[] = " ";
    struct vc_wait *w = arg;

    (void)t;
    w->stream = http_stream_start(w->rq, 200, "application/json", &stream_ops, w);
    w->rq = NULL;
    http_stream_write(w->stream, &(struct iovec){space, 1}, 1);
    http_stream_keep_alive(w->stream, space, SSE_KEEPALIVE_MS);
}

static void wait_begin(struct http_request *rq, struct process *p)
{
    struct vercel *v = vc_of(rq);
    struct vc_wait *w = hf_xalloc(sizeof *w);

    w->vercel = v;
    w->rq = rq;
    w->process = process_ref(p);
    w->head = timer_new(v->base.loop, wait_on_head, w);
    snprintf(w->session, sizeof w->session, "%s", http_param(rq, "session"));
    list_init(&w->waiter.link);
    w->waiter.fn = wait_on_exit;
    w->waiter.arg = w;
    v->waits++;
    pending_init(&w->pending, &v->base.pending, &wait_kind);
    http_set_user(rq, w, wait_on_disconnect);
    process_wait_exit(p, &w->waiter);
    timer_start(w->head, VERCEL_HEAD_MS);
    if (v->base.draining)
        wait_drain(&w->pending);
}

void vc_get(struct http_request *rq)
{
    const char *wait = http_query(rq, "wait");
    struct process *p = vc_command(rq);
    struct hf_error err = {0};

    if (p == NULL)
        return;
    if (wait == NULL || strcmp(wait, "true") != 0 || !process_is_running(p)) {
        vc_reply_command(rq, p);
    } else if (vc_of(rq)->waits >= LIMIT_WAITS) {
        hf_fail(&err, HF_E_too_many_waits, "%d requests are already waiting", LIMIT_WAITS);
        vc_error(rq, &err);
    } else {
        wait_begin(rq, p);
    }
}
