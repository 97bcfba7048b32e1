/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_mux.c - GET /ws: the route API through one WebSocket
 *
 * Each request is a call with an id chosen by the client. Replies that the socket has no room for
 * wait here, and no further request is read until they are sent, so the calls in progress bound the
 * memory. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/cloudflare/cf_call_own.h"
#include "dialects/cloudflare/cf_wire.h"
#include "transport/ws.h"

struct cf_mux_held {
    struct list link;
    struct buf text;
};

struct cf_mux {
    struct pending pending;
    struct cf *cf;
    struct ws *ws;
    struct list calls; /* struct cf_call */
    size_t count;
    struct list held; /* struct cf_mux_held: to be sent */
    bool paused;
};

static void held_free(struct cf_mux_held *h)
{
    list_remove(&h->link);
    buf_fini(&h->text);
    free(h);
}

static void mux_end(struct cf_mux *m, enum cf_close_reason why)
{
    while (!list_is_empty(&m->calls))
        cf_call_cancel(list_entry(m->calls.next, struct cf_call, link), why);
    while (!list_is_empty(&m->held))
        held_free(list_entry(m->held.next, struct cf_mux_held, link));
    pending_fini(&m->pending);
    free(m);
}

static void mux_free(struct pending *p)
{
    mux_end(list_entry(p, struct cf_mux, pending), CF_FREED);
}

/* A server that shuts down closes its WebSockets itself; each call is notified separately. */
static const struct pending_kind mux_kind = {.drain = NULL, .free = mux_free};

/* --- to the client ------------------------------------------------------------------------ */

bool cf_mux_ready(const struct cf_mux *m)
{
    return list_is_empty(&m->held) && ws_ready(m->ws);
}

void cf_mux_send(struct cf_mux *m, const struct buf *text)
{
    struct cf_mux_held *h;

    if (cf_mux_ready(m)) {
        ws_send_text(m->ws, buf_data(text), text->len);
        return;
    }
    h = hf_xalloc(sizeof *h);
    buf_put(&h->text, buf_data(text), text->len);
    list_append(&m->held, &h->link);
    m->paused = true;
    ws_pause(m->ws);
}

void cf_mux_add(struct cf_mux *m, struct cf_call *c)
{
    list_append(&m->calls, &c->link);
    m->count++;
}

void cf_mux_done(struct cf_mux *m, struct cf_call *c)
{
    list_remove(&c->link);
    m->count--;
}

static void mux_on_drain(void *arg)
{
    struct cf_mux *m = arg;
    struct list *it, *tmp;

    while (!list_is_empty(&m->held) && ws_ready(m->ws)) {
        struct cf_mux_held *h = list_entry(m->held.next, struct cf_mux_held, link);

        ws_send_text(m->ws, buf_data(&h->text), h->text.len);
        held_free(h);
    }
    if (!cf_mux_ready(m))
        return;
    if (m->paused) {
        m->paused = false;
        ws_resume(m->ws);
    }
    list_for_each (it, tmp, &m->calls)
        cf_call_drained(list_entry(it, struct cf_call, link));
}

static void mux_error(struct cf_mux *m, const char *id, const char *code, const char *message,
                      int status)
{
    struct json_out o = dialect_reply_open(&m->cf->base);

    json_kstr(&o, "type", "error");
    if (id != NULL)
        json_kstr(&o, "id", id);
    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    json_kint(&o, "status", status);
    json_close(&o, '}');
    cf_mux_send(m, o.buf);
}

/* --- from the client ------------------------------------------------------------------------- */

static struct cf_call *mux_find(struct cf_mux *m, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->calls) {
        struct cf_call *c = list_entry(it, struct cf_call, link);

        if (strcmp(c->id, id) == 0)
            return c;
    }
    return NULL;
}

static void mux_request(struct cf_mux *m, const struct cf_mux_frame *f)
{
    struct cf_call_request request = {f->id, f->method, f->path, f->session, json_incref(f->body)};

    if (mux_find(m, f->id) != NULL) {
        json_decref(f->body);
        mux_error(m, f->id, "INVALID_REQUEST", "this id is in use", 400);
    } else if (m->count >= LIMIT_CF_CALLS) {
        json_decref(f->body);
        mux_error(m, f->id, "INTERNAL_ERROR", "too many requests in progress", 429);
    } else {
        cf_call_mux(m->cf, m, ws_role(m->ws), &request);
    }
}

static void mux_on_text(void *arg, const char *text, size_t len)
{
    struct cf_mux *m = arg;
    struct cf_mux_frame f;
    struct cf_call *c;
    const char *code = NULL;
    const char *wrong = cf_mux_decode(&f, text, len, &code);

    if (wrong != NULL) {
        mux_error(m, f.id, code, wrong, 400);
    } else if (f.cancel) {
        c = mux_find(m, f.id);
        if (c != NULL)
            cf_call_cancel(c, CF_CLIENT_CLOSED);
    } else {
        mux_request(m, &f);
    }
    cf_mux_frame_fini(&f);
}

static size_t mux_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    (void)bytes;
    if (last)
        mux_error(arg, NULL, "PARSE_ERROR", "messages must be JSON text", 400);
    return len;
}

static void mux_on_closed(void *arg, int code)
{
    (void)code;
    mux_end(arg, CF_CLIENT_CLOSED);
}

static const struct ws_ops ws_ops = {
    .on_text = mux_on_text,
    .on_binary = mux_on_binary,
    .on_drain = mux_on_drain,
    .on_closed = mux_on_closed,
};

void cf_mux(struct http_request *rq)
{
    struct cf_mux *m = hf_xalloc(sizeof *m);

    m->cf = cf_of(rq);
    list_init(&m->calls);
    list_init(&m->held);
    pending_init(&m->pending, &m->cf->base.pending, &mux_kind);
    m->ws = ws_accept(rq, NULL, &ws_ops, m);
    if (m->ws == NULL)
        mux_end(m, CF_FREED);
    else
        ws_allow_text(m->ws, LIMIT_CF_FRAME_BYTES);
}
