/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - requests in progress. Layer: dialects.
 */
#include "dialects/common/call.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/dialect_base.h"
#include "transport/sse.h"

static void call_leave_carrier(struct call *c)
{
    struct call_carrier *k = c->carrier;

    c->carrier = NULL;
    if (k != NULL && k->ops->leave != NULL)
        k->ops->leave(k);
}

static void call_free(struct call *c)
{
    call_leave_carrier(c);
    if (c->kind->release != NULL)
        c->kind->release(c);
    list_remove(&c->link);
    free(c);
}

/* --- what ends it from outside ---------------------------------------------------------- */

void call_leave(struct call *c)
{
    bool stays = c->kind->stays; /* it may end in `disconnected` */

    c->rq = NULL;
    c->out = NULL;
    call_leave_carrier(c);
    if (c->kind->disconnected != NULL)
        c->kind->disconnected(c);
    if (!stays)
        call_free(c);
}

static void call_on_disconnect(void *arg)
{
    call_leave(arg);
}

static void call_drain(struct call *c)
{
    const char *text = c->kind->drain_text;
    struct hf_error err = {0};

    if (c->kind->drain != NULL) {
        c->kind->drain(c);
    } else if (c->kind->stays && text == NULL) {
        return;
    } else if (c->out != NULL) {
        call_stream_abort(c);
    } else {
        hf_fail(&err, HF_E_shutting_down, "%s",
                text != NULL ? text : "the daemon is shutting down");
        call_fail(c, &err);
    }
}

void call_outlast_drain(struct call *c)
{
    (void)c;
}

void call_drain_all(struct list *calls)
{
    struct list todo;

    /* Draining one may end others, as a connection does what it carries. */
    list_append(calls, &todo); /* makes it a second head, */
    list_remove(calls);        /* and now the only one */
    while (!list_is_empty(&todo)) {
        struct list *first = todo.next;

        list_remove(first);
        list_append(calls, first);
        call_drain(list_entry(first, struct call, link));
    }
}

void call_free_all(struct list *calls)
{
    while (!list_is_empty(calls)) {
        struct list *first = calls->next;

        call_free(list_entry(first, struct call, link));
        assert(calls->next != first);
    }
}

void call_room(struct call *c)
{
    if (c->kind->room != NULL)
        c->kind->room(c);
}

static void call_on_room(void *arg)
{
    call_room(arg);
}

static const struct http_stream_ops stream_ops = {.on_drain = call_on_room,
                                                  .on_disconnect = call_on_disconnect};

/* --- life cycle ----------------------------------------------------------------------------- */

void call_adopt_unattended(struct call *c, struct dialect_base *b, const struct call_kind *kind)
{
    c->kind = kind;
    c->base = b;
    list_append(&b->calls, &c->link);
}

void call_adopt_carried(struct call *c, struct dialect_base *b, const struct call_kind *kind,
                        struct call_carrier *k)
{
    call_adopt_unattended(c, b, kind);
    c->carrier = k;
    k->call = c;
}

void call_adopt(struct call *c, struct http_request *rq, const struct call_kind *kind)
{
    call_adopt_unattended(c, dialect_base_of(rq), kind);
    c->rq = rq;
    http_set_user(rq, c, call_on_disconnect);
}

void *call_begin(struct http_request *rq, const struct call_kind *kind, size_t size)
{
    struct call *c = hf_xalloc(size);

    call_adopt(c, rq, kind);
    return c;
}

struct http_request *call_detach(struct call *c)
{
    struct http_request *rq = c->rq;

    if (rq != NULL)
        http_set_user(rq, NULL, NULL);
    c->rq = NULL;
    return rq;
}

struct http_request *call_end(struct call *c)
{
    struct http_request *rq = c->rq;

    if (rq != NULL)
        http_set_user(rq, NULL, NULL);
    call_free(c);
    return rq;
}

/* The reply may be written from what the call holds, so the call is freed after it. */
void call_send(struct call *c, int status, struct json_out *o)
{
    if (c->rq != NULL) {
        dialect_reply_send(c->rq, status, o);
    } else if (c->carrier != NULL) {
        json_close(o, '}');
        c->carrier->ops->reply(c->carrier, status, o->buf);
    }
    call_free(c);
}

void call_send_empty(struct call *c, int status)
{
    if (c->rq != NULL)
        http_reply_empty(c->rq, status);
    call_free(c);
}

void call_fail(struct call *c, const struct hf_error *err)
{
    if (c->rq != NULL)
        http_reply_error(c->rq, err);
    call_free(c);
}

/* --- streams -------------------------------------------------------------------------------- */

/* The stream belongs to the call before it starts, because starting may report a disconnect. */
void call_stream_sized(struct call *c, int status, const char *type, int64_t length)
{
    struct http_request *rq = c->rq;

    c->rq = NULL;
    c->streams = true;
    c->out = length < 0
                 ? http_stream_start(rq, status, type, &stream_ops, c)
                 : http_stream_start_sized(rq, status, type, (uint64_t)length, &stream_ops, c);
}

void call_stream(struct call *c, int status, const char *type)
{
    call_stream_sized(c, status, type, -1);
}

void call_stream_sse(struct call *c)
{
    struct http_request *rq = c->rq;

    c->rq = NULL;
    c->streams = true;
    if (c->carrier == NULL)
        c->out = sse_start(rq, &stream_ops, c);
}

bool call_is_ready(const struct call *c)
{
    if (c->carrier != NULL)
        return c->streams && c->carrier->ops->ready(c->carrier);
    return c->out != NULL && http_stream_ready(c->out);
}

void call_event(struct call *c, const char *event, const struct buf *data)
{
    if (c->carrier != NULL)
        c->carrier->ops->event(c->carrier, data);
    else
        sse_send(c->out, event, NULL, buf_data(data), data->len);
}

void call_stream_detach(struct call *c)
{
    if (c->carrier != NULL && c->carrier->ops->reply != NULL)
        c->carrier->ops->reply(c->carrier, 200, NULL);
    else if (c->out != NULL)
        http_stream_end(c->out);
    c->out = NULL;
    call_leave_carrier(c);
}

void call_stream_end(struct call *c)
{
    call_stream_detach(c);
    call_free(c);
}

/* A carrier has no other end than the regular one: its client waits for what never comes. */
void call_stream_abort(struct call *c)
{
    if (c->out != NULL)
        http_stream_abort(c->out);
    call_free(c);
}
