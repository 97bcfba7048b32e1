/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_wait.c - POST …/wait: sends the head of the response at once, since `docker run` starts
 * only after it, and the status when it is known. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "dialects/docker/docker_entry.h"
#include "engine/events.h"

struct docker_wait_waiting {
    struct call call;
    struct list link;        /* in created->waits until there is a process */
    struct process *process; /* referenced; NULL: there is none yet, or it is the sandbox */
    struct exit_waiter waiter;
    struct event_subscriber events; /* until it is removed */
    bool removed;                   /* waits for the removal */
    bool subscribed;
};

static void waiting_release(struct call *c)
{
    struct docker_wait_waiting *w = (struct docker_wait_waiting *)c;

    list_remove(&w->link);
    exit_waiter_cancel(&w->waiter);
    if (w->subscribed)
        events_unsubscribe(&w->events);
    process_unref(w->process);
    ((struct docker *)c->base)->waits--;
}

/* A drain aborts it: a client that gets no status must not take the response for one. */
static const struct call_kind waiting_kind = {.release = waiting_release};

static void waiting_reply(struct docker_wait_waiting *w, int code)
{
    struct json_out o = dialect_reply_open(w->call.base);
    struct iovec iov;

    json_kint(&o, "StatusCode", code);
    json_close(&o, '}');
    buf_putc(o.buf, '\n');
    iov = (struct iovec){buf_data(o.buf), o.buf->len};
    http_stream_write(w->call.out, &iov, 1);
    call_stream_end(&w->call);
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
    return engine_find(w->call.base->engine, v.id, NULL) == NULL;
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
    events_subscribe(engine_events(w->call.base->engine), &w->events);
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

static struct docker_wait_waiting *waiting_begin(struct http_request *rq, bool removed)
{
    struct docker_wait_waiting *w = call_begin(rq, &waiting_kind, sizeof *w);

    w->removed = removed;
    list_init(&w->link);
    list_init(&w->waiter.link);
    w->waiter.fn = waiting_on_exit;
    w->waiter.arg = w;
    docker_of(rq)->waits++;
    docker_headers(rq);
    call_stream(&w->call, 200, "application/json");
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
    docker_entry_auto b = {0};

    if (condition == NULL || condition[0] == '\0')
        condition = "not-running";
    if (!docker_entry_of_request(rq, &b))
        return;
    if (strcmp(condition, "not-running") != 0 && strcmp(condition, "next-exit") != 0 &&
        strcmp(condition, "removed") != 0)
        docker_fail(rq, 400, "invalid condition: \"%.100s\"", condition);
    else if (docker_of(rq)->waits >= LIMIT_WAITS)
        docker_fail(rq, 429, "%d requests are already waiting; try again later", LIMIT_WAITS);
    else
        wait_for(rq, &b, condition);
}
