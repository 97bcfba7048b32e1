/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_mux.c - GET /ws: the route API through one WebSocket
 *
 * Each request is a call with an id chosen by the client, and the multiplex carries them (call.h).
 * Replies that the socket has no room for wait here, and no further request is read until they are
 * sent, so the calls in progress bound the memory. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/cloudflare/cf_request.h"
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "transport/sse.h"
#include "transport/ws.h"

struct cf_mux {
    struct call call;
    struct cf *cf;
    struct ws *ws;
    struct list lanes; /* struct cf_mux_lane */
    size_t count;
    struct buf frame; /* of a call: what is in the scratch buffer becomes a member of it */
    struct buf held;  /* messages to be sent, each after its length in a size_t */
};

/* What carries one call. */
struct cf_mux_lane {
    struct call_carrier carrier;
    struct cf_mux *mux;
    struct list link; /* in mux->lanes */
    char *id;
    struct timer *keepalive; /* of a stream; NULL: none */
};

static struct cf_mux_lane *lane_first(const struct cf_mux *m)
{
    return list_entry(m->lanes.next, struct cf_mux_lane, link);
}

static void mux_release(struct call *c)
{
    struct cf_mux *m = list_entry(c, struct cf_mux, call);

    while (!list_is_empty(&m->lanes))
        call_leave(lane_first(m)->carrier.call);
    buf_fini(&m->held);
    buf_fini(&m->frame);
}

/* A server that shuts down closes its WebSockets itself; each call is notified separately. */
static const struct call_kind mux_kind = {.release = mux_release, .stays = true};

/* --- to the client ------------------------------------------------------------------------ */

static bool mux_ready(const struct cf_mux *m)
{
    return m->held.len == 0 && ws_ready(m->ws);
}

static void mux_send(struct cf_mux *m, const struct buf *text)
{
    if (mux_ready(m)) {
        ws_send_text(m->ws, buf_data(text), text->len);
        return;
    }
    buf_put(&m->held, &text->len, sizeof text->len);
    buf_put(&m->held, buf_data(text), text->len);
    ws_pause(m->ws);
}

static void mux_send_held(struct cf_mux *m)
{
    size_t at = 0, len;

    for (; at < m->held.len && ws_ready(m->ws); at += len) {
        memcpy(&len, buf_data(&m->held) + at, sizeof len);
        at += sizeof len;
        ws_send_text(m->ws, buf_data(&m->held) + at, len);
    }
    buf_drop(&m->held, at);
}

/* {"type":…,"id":…, and room for more,*/
static struct json_out frame_open(struct cf_mux *m, const char *type, const char *id)
{
    struct json_out o;

    buf_clear(&m->frame);
    json_out_init(&o, &m->frame);
    json_open(&o, '{');
    json_kstr(&o, "type", type);
    if (id != NULL)
        json_kstr(&o, "id", id);
    return o;
}

static void frame_send(struct cf_mux *m, struct json_out *o)
{
    json_close(o, '}');
    mux_send(m, o->buf);
}

static void mux_error(struct cf_mux *m, const char *id, const char *code, const char *message,
                      int status)
{
    struct json_out o = frame_open(m, "error", id);

    json_kstr(&o, "code", code);
    json_kstr(&o, "message", message);
    json_kint(&o, "status", status);
    frame_send(m, &o);
}

static void mux_on_drain(void *arg)
{
    struct cf_mux *m = arg;
    struct list *it, *tmp;

    mux_send_held(m);
    if (!mux_ready(m))
        return;
    ws_resume(m->ws);
    list_for_each (it, tmp, &m->lanes)
        call_room(list_entry(it, struct cf_mux_lane, link)->carrier.call);
}

/* --- calls ---------------------------------------------------------------------------------- */

static struct cf_mux_lane *lane_of(struct call_carrier *k)
{
    return list_entry(k, struct cf_mux_lane, carrier);
}

static void lane_reply(struct call_carrier *k, int status, const struct buf *body)
{
    const struct cf_mux_lane *l = lane_of(k);
    struct json_out o = frame_open(l->mux, "response", l->id);

    json_kint(&o, "status", status);
    if (body != NULL) {
        json_key(&o, "body");
        json_raw(&o, buf_data(body), body->len);
    }
    json_kbool(&o, "done", true);
    frame_send(l->mux, &o);
}

static void lane_chunk(struct cf_mux_lane *l, const char *data, size_t len)
{
    struct json_out o = frame_open(l->mux, "stream", l->id);

    json_key(&o, "data");
    json_strn(&o, data, len);
    frame_send(l->mux, &o);
}

/* The client abandons a stream that is silent for too long; it skips empty events. */
static void lane_on_keepalive(struct timer *t, void *arg)
{
    struct cf_mux_lane *l = arg;

    timer_start(t, SSE_KEEPALIVE_MS);
    if (mux_ready(l->mux))
        lane_chunk(l, "", 0);
}

static void lane_event(struct call_carrier *k, const struct buf *data)
{
    struct cf_mux_lane *l = lane_of(k);

    if (l->keepalive == NULL)
        l->keepalive = timer_new(l->mux->cf->base.loop, lane_on_keepalive, l);
    timer_start(l->keepalive, SSE_KEEPALIVE_MS);
    lane_chunk(l, buf_data(data), data->len);
}

static bool lane_ready(const struct call_carrier *k)
{
    return mux_ready(list_entry(k, const struct cf_mux_lane, carrier)->mux);
}

static void lane_leave(struct call_carrier *k)
{
    struct cf_mux_lane *l = lane_of(k);

    list_remove(&l->link);
    l->mux->count--;
    timer_close(l->keepalive);
    free(l->id);
    free(l);
}

static const struct call_carrier_ops lane_ops = {
    .reply = lane_reply,
    .event = lane_event,
    .ready = lane_ready,
    .leave = lane_leave,
};

static struct cf_mux_lane *lane_new(struct cf_mux *m, const char *id)
{
    struct cf_mux_lane *l = hf_xalloc(sizeof *l);

    l->carrier.ops = &lane_ops;
    l->mux = m;
    l->id = hf_xstrdup(id);
    list_append(&m->lanes, &l->link);
    m->count++;
    return l;
}

static struct cf_mux_lane *lane_find(const struct cf_mux *m, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->lanes) {
        struct cf_mux_lane *l = list_entry(it, struct cf_mux_lane, link);

        if (strcmp(l->id, id) == 0)
            return l;
    }
    return NULL;
}

/* --- from the client ------------------------------------------------------------------------- */

static void mux_dispatch(struct cf_mux *m, const struct cf_mux_frame *f)
{
    struct cf_request q = {
        .cf = m->cf,
        .carrier = &lane_new(m, f->id)->carrier,
        .role = ws_role(m->ws),
        .session = f->session,
        .body = f->body,
    };

    if (strncmp(f->path, "/api/", 5) == 0)
        cf_dispatch(&q, http_method_of(f->method, strlen(f->method)), f->path + 4);
    else
        cf_fail(cf_call(&q), 404, "UNKNOWN_ERROR", "The requested endpoint was not found");
}

static void mux_request(struct cf_mux *m, const struct cf_mux_frame *f)
{
    if (lane_find(m, f->id) != NULL)
        mux_error(m, f->id, "INVALID_REQUEST", "another request with this id is in progress", 400);
    else if (m->count >= LIMIT_CF_CALLS)
        mux_error(m, f->id, "INTERNAL_ERROR", "too many requests in progress", 429);
    else
        mux_dispatch(m, f);
}

static void mux_on_text(void *arg, const char *text, size_t len)
{
    struct cf_mux *m = arg;
    struct cf_mux_frame f;
    struct cf_mux_lane *l;
    const char *code = NULL;
    const char *wrong = cf_mux_decode(&f, text, len, &code);

    if (wrong != NULL) {
        mux_error(m, f.id, code, wrong, 400);
    } else if (f.cancel) {
        l = lane_find(m, f.id);
        if (l != NULL)
            call_leave(l->carrier.call);
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
    call_end(&((struct cf_mux *)arg)->call);
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
    list_init(&m->lanes);
    call_adopt_unattended(&m->call, &m->cf->base, &mux_kind);
    m->ws = ws_accept(rq, NULL, &ws_ops, m);
    if (m->ws == NULL)
        call_end(&m->call);
    else
        ws_allow_text(m->ws, LIMIT_CF_FRAME_BYTES);
}
