/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_wait.c - POST …/wait: sends the head of the response at once, since `docker run` starts
 * only after it, and the status when it is known. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_wait_list.h"
#include "engine/events.h"

struct docker_wait_waiting {
    struct pending pending;
    struct list link; /* in created->waits until there is a process */
    struct docker *docker;
    struct http_stream *out;
    struct process *process; /* referenced; NULL: there is none yet, or it is the sandbox */
    struct exit_waiter waiter;
    struct event_subscriber events; /* until it is removed */
    bool removed;                   /* waits for the removal */
    bool subscribed;
};

static void waiting_free(struct pending *p)
{
    struct docker_wait_waiting *w = list_entry(p, struct docker_wait_waiting, pending);

    list_remove(&w->link);
    exit_waiter_cancel(&w->waiter);
    if (w->subscribed)
        events_unsubscribe(&w->events);
    process_unref(w->process);
    w->docker->waits--;
    pending_fini(p);
    free(w);
}

/* A client that gets no status must not take the response for one. */
static void waiting_drain(struct pending *p)
{
    http_stream_abort(list_entry(p, struct docker_wait_waiting, pending)->out);
    waiting_free(p);
}

static const struct pending_kind waiting_kind = {.drain = waiting_drain, .free = waiting_free};

static void waiting_reply(struct docker_wait_waiting *w, int code)
{
    struct json_out o = dialect_reply_open(&w->docker->base);
    struct iovec iov;

    json_kint(&o, "StatusCode", code);
    json_close(&o, '}');
    buf_putc(o.buf, '\n');
    iov = (struct iovec){buf_data(o.buf), o.buf->len};
    http_stream_write(w->out, &iov, 1);
    http_stream_end(w->out);
    waiting_free(&w->pending);
}

/* --- the end of a process ------------------------------------------------------------ */

static void waiting_done(struct docker_wait_waiting *w)
{
    struct process_view v;

    process_view(w->process, &v);
    waiting_reply(w, docker_exit_code(v.exit));
}

static bool is_removed(const struct docker_wait_waiting *w)
{
    struct process_view v;

    process_view(w->process, &v);
    return engine_find(w->docker->base.engine, v.id, NULL) == NULL;
}

static void waiting_on_events(void *arg)
{
    struct docker_wait_waiting *w = arg;

    if (is_removed(w))
        waiting_done(w);
}

static void waiting_on_exit(void *arg, struct process *p)
{
    struct docker_wait_waiting *w = arg;

    (void)p;
    if (!w->removed || is_removed(w)) {
        waiting_done(w);
        return;
    }
    w->events = (struct event_subscriber){.fn = waiting_on_events, .arg = w};
    w->subscribed = true;
    events_subscribe(engine_events(w->docker->base.engine), &w->events);
}

static void waiting_watch(struct docker_wait_waiting *w, struct process *p)
{
    w->process = process_ref(p);
    process_wait_exit(p, &w->waiter);
}

void waits_bind(struct created *c, struct process *p)
{
    while (!list_is_empty(&c->waits)) {
        struct docker_wait_waiting *w = list_entry(c->waits.next, struct docker_wait_waiting, link);

        list_remove(&w->link);
        waiting_watch(w, p);
    }
}

void waits_end(struct created *c, int code)
{
    while (!list_is_empty(&c->waits))
        waiting_reply(list_entry(c->waits.next, struct docker_wait_waiting, link), code);
}

/* --- start ------------------------------------------------------------------------------- */

static void waiting_on_drain(void *arg)
{
    (void)arg;
}

static void waiting_on_disconnect(void *arg)
{
    waiting_free(&((struct docker_wait_waiting *)arg)->pending);
}

static const struct http_stream_ops out_ops = {.on_drain = waiting_on_drain,
                                               .on_disconnect = waiting_on_disconnect};

static struct docker_wait_waiting *waiting_begin(struct http_request *rq, bool removed)
{
    struct docker *dk = docker_of(rq);
    struct docker_wait_waiting *w = hf_xalloc(sizeof *w);

    w->docker = dk;
    w->removed = removed;
    list_init(&w->link);
    list_init(&w->waiter.link);
    w->waiter.fn = waiting_on_exit;
    w->waiter.arg = w;
    dk->waits++;
    pending_init(&w->pending, &dk->base.pending, &waiting_kind);
    docker_headers(rq);
    w->out = http_stream_start(rq, 200, "application/json", &out_ops, w);
    return w;
}

/* A process runs once, so do not wait for one that has exited, whatever the condition. */
static void wait_for(struct http_request *rq, struct docker_entry *b, const char *condition)
{
    struct docker_wait_waiting *w = waiting_begin(rq, strcmp(condition, "removed") == 0);

    if (b->kind == DOCKER_ENTRY_PROCESS)
        waiting_watch(w, b->process);
    else if (b->kind == DOCKER_ENTRY_CREATED && strcmp(condition, "not-running") != 0)
        list_append(&b->created->waits, &w->link);
    else if (b->kind == DOCKER_ENTRY_CREATED)
        waiting_reply(w, b->created->exit_code);
}

void docker_wait(struct http_request *rq)
{
    const char *condition = http_query(rq, "condition");
    struct docker_entry b;

    if (condition == NULL || condition[0] == '\0')
        condition = "not-running";
    if (!docker_entry_of_request(rq, &b))
        return;
    if (strcmp(condition, "not-running") != 0 && strcmp(condition, "next-exit") != 0 &&
        strcmp(condition, "removed") != 0)
        docker_fail(rq, 400, "invalid condition: \"%.100s\"", condition);
    else if (docker_of(rq)->waits >= LIMIT_WAITS)
        docker_fail(rq, 429, "%d requests are already waiting: that is the limit", LIMIT_WAITS);
    else
        wait_for(rq, &b, condition);
    docker_entry_fini(&b);
}
