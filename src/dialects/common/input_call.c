/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_call.c - requests whose input waits for room in a process's queue. Layer: dialects.
 */
#include "dialects/common/input_call.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/call.h"
#include "dialects/common/stdin_feed.h"

struct input_call {
    struct call call;
    struct list link;       /* in the dialect's `typing` */
    struct stdin_feed feed; /* waits only for the first call of a process */
    size_t len;             /* of all its input */
    char *session;          /* its id, and the feed's process is its shell; NULL: none */
    uint64_t number;
    bool open; /* more of it may arrive */
    void *source;
    void (*free_source)(void *source); /* NULL: it has none */
    input_call_fn *done;
    input_call_reply_fn *reply; /* if `done` is NULL */
};

static void typing_release(struct call *c)
{
    struct input_call *t = list_entry(c, struct input_call, call);

    stdin_feed_fini(&t->feed);
    list_remove(&t->link);
    free(t->session);
    if (t->free_source != NULL)
        t->free_source(t->source);
}

static void typing_end(struct input_call *t, size_t accepted, const struct hf_error *err)
{
    input_call_fn *done = t->done;
    input_call_reply_fn *reply = t->reply;
    struct http_request *rq = call_end(&t->call);

    if (done != NULL)
        done(rq, accepted, err);
    else if (!dialect_failed(rq, err != NULL ? -1 : 0, err))
        reply(rq, accepted);
}

static ssize_t typing_put_session(struct stdin_feed *f, const void *bytes, size_t len,
                                  struct hf_error *err)
{
    struct input_call *t = list_entry(f, struct input_call, feed);
    struct session *s = session_find(process_engine(f->process), t->session, err);

    return s != NULL ? session_type(s, t->number, bytes, len, err) : -ESRCH;
}

/* False: it waits for room. True: it has finished and is freed. */
static bool typing_step(struct input_call *t)
{
    struct hf_error err;
    int rc = stdin_feed_flush(&t->feed, &err);

    if (rc == 0)
        return false;
    if (rc > 0 && t->open) {
        http_body_resume(t->call.rq);
        return false;
    }
    typing_end(t, t->len - t->feed.held.len, rc < 0 ? &err : NULL);
    return true;
}

static struct input_call *typing_first(const struct dialect_base *b, const struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &b->typing) {
        struct input_call *t = list_entry(it, struct input_call, link);

        if (t->feed.process == p)
            return t;
    }
    return NULL;
}

bool input_call_is_waiting(const struct dialect_base *b, const struct process *p)
{
    return typing_first(b, p) != NULL;
}

/* Iterates until a call has to wait. Thousands may have waited for the same process, so calls must
 * not recurse into each other. */
static void typing_run(const struct dialect_base *b, struct process *p)
{
    struct input_call *t;

    process_ref(p);
    while ((t = typing_first(b, p)) != NULL && typing_step(t))
        ;
    process_unref(p);
}

static void typing_on_room(void *arg)
{
    struct input_call *t = arg;

    typing_run(t->call.base, t->feed.process);
}

/* The client has disconnected: drops its remaining input, and starts the next call. */
static void typing_disconnected(struct call *c)
{
    const struct dialect_base *b = c->base;
    struct process *p = process_ref(list_entry(c, struct input_call, call)->feed.process);

    call_end(c);
    typing_run(b, p);
    process_unref(p);
}

/* Report how much was accepted: a client that believed none was would send it twice. */
static void typing_drain(struct call *c)
{
    struct input_call *t = list_entry(c, struct input_call, call);
    size_t accepted = t->len - t->feed.held.len;
    struct hf_error err = {0};

    if (accepted == 0)
        hf_fail(&err, HF_E_shutting_down,
                "the daemon is shutting down; none of the input was accepted");
    else
        hf_fail(&err, HF_E_internal,
                "the daemon is shutting down; %zu of %zu bytes of the input were accepted",
                accepted, t->len);
    typing_end(t, accepted, &err);
}

/* It stays, so that a disconnect can end it before the next one starts. */
static const struct call_kind typing_kind = {
    .release = typing_release,
    .stays = true,
    .disconnected = typing_disconnected,
    .drain = typing_drain,
};

static struct input_call *typing_new(struct http_request *rq, struct process *p, struct buf *bytes)
{
    struct input_call *t = call_begin(rq, &typing_kind, sizeof *t);

    stdin_feed_init(&t->feed, typing_on_room, t);
    stdin_feed_bind(&t->feed, p);
    t->feed.held = *bytes;
    t->len = bytes->len;
    *bytes = (struct buf){0};
    list_append(&t->call.base->typing, &t->link);
    return t;
}

/* Continues it if it is the first for its process. */
static void typing_begin(struct input_call *t)
{
    if (typing_first(t->call.base, t->feed.process) == t)
        typing_run(t->call.base, t->feed.process);
}

void input_call_take(struct http_request *rq, struct process *p, struct buf *bytes, bool eof,
                     input_call_fn *done)
{
    struct input_call *t = typing_new(rq, p, bytes);

    t->done = done;
    t->feed.eof = eof;
    typing_begin(t);
}

void input_call_reply(struct http_request *rq, struct process *p, struct buf *bytes,
                      input_call_reply_fn *reply)
{
    struct input_call *t = typing_new(rq, p, bytes);

    t->reply = reply;
    typing_begin(t);
}

struct input_call *input_call_open(struct http_request *rq, struct process *p, input_call_fn *done,
                                   void *source, void (*free_source)(void *source))
{
    struct input_call *t = typing_new(rq, p, &(struct buf){0});

    t->done = done;
    t->open = true;
    t->source = source;
    t->free_source = free_source;
    return t;
}

void *input_call_source(const struct input_call *t)
{
    return t->source;
}

bool input_call_is_full(const struct input_call *t)
{
    return t->feed.held.len > 0;
}

void input_call_put(struct input_call *t, const void *bytes, size_t len)
{
    stdin_feed_hold(&t->feed, bytes, len);
    t->len += len;
    typing_begin(t);
}

void input_call_close(struct input_call *t)
{
    t->open = false;
    typing_begin(t);
}

void input_call_fail(struct input_call *t, const struct hf_error *err)
{
    const struct dialect_base *b = t->call.base;
    struct process *p = process_ref(t->feed.process);

    typing_end(t, t->len - t->feed.held.len, err);
    typing_run(b, p);
    process_unref(p);
}

void input_call_take_session(struct http_request *rq, struct session *s, uint64_t number,
                             struct buf *bytes, input_call_fn *done)
{
    struct input_call *t = typing_new(rq, session_shell(s), bytes);

    t->done = done;
    t->feed.put = typing_put_session;
    t->session = hf_xstrdup(session_id(s));
    t->number = number;
    typing_begin(t);
}
