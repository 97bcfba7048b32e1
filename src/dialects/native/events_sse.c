/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_sse.c - GET /v1/events: what happens to processes, as server-sent events
 *
 * A subscriber is a cursor into the engine's event log. We write to it only while its socket has
 * room; it catches up from the log afterwards. When the log no longer has its next event, it
 * receives `reset`, so that it reads the state again, and continues with the oldest event in the
 * log. Layer: dialects.
 */
#include "engine/events.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/process_filter.h"
#include "transport/sse.h"

struct watcher {
    struct call call;
    struct event_subscriber subscriber;
    struct filter filter;
    uint64_t next; /* id of the event to send next */
    bool all;      /* viewer.* and session.* too */
    bool reset;    /* the requested event is no longer in the log */
    bool helpers;  /* include events of the daemon's own helpers */
};

static void watcher_release(struct call *c)
{
    struct watcher *w = list_entry(c, struct watcher, call);

    if (w->subscriber.fn != NULL)
        events_unsubscribe(&w->subscriber);
    filter_fini(&w->filter);
}

static void watcher_send(struct watcher *w, const char *type, uint64_t id, const char *json,
                         size_t len)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    sse_send(w->call.out, type, text, json, len);
}

/* The id is that of the event before the first, so that resuming from it is right. */
static void watcher_send_reset(struct watcher *w, uint64_t first, uint64_t next)
{
    struct json_out o = dialect_reply_open(w->call.base);

    json_ku64(&o, "first", first);
    json_ku64(&o, "next", next);
    json_close(&o, '}');
    watcher_send(w, "reset", first > 0 ? first - 1 : 0, buf_data(o.buf), o.buf->len);
    w->reset = false;
    w->next = first;
}

static bool watcher_wants(const struct watcher *w, const struct event *e)
{
    json_auto_t *tree = NULL;

    if (e->helper && !w->helpers)
        return false;
    if (!w->all && strncmp(e->type, "process.", 8) != 0)
        return false;
    if (filter_is_open(&w->filter))
        return true;
    tree = json_loadb(e->json, e->len, JSON_ALLOW_NUL, NULL);
    if (strncmp(e->type, "session.", 8) == 0)
        return filter_match_session(&w->filter, json_object_get(tree, "session"));
    return filter_match_json(&w->filter, json_object_get(tree, "process"));
}

static void watcher_pump(void *arg)
{
    struct watcher *w = arg;
    struct events *ev = engine_events(w->call.base->engine);
    struct event e;

    while (http_stream_ready(w->call.out)) {
        uint64_t first = events_first(ev);

        if (w->reset || w->next < first) {
            watcher_send_reset(w, first, events_next(ev));
            continue;
        }
        if (!events_get(ev, w->next, &e))
            break;
        w->next = e.id + 1;
        if (watcher_wants(w, &e))
            watcher_send(w, e.type, e.id, e.json, e.len);
    }
}

static void watcher_room(struct call *c)
{
    watcher_pump(list_entry(c, struct watcher, call));
}

static const struct call_kind watcher_kind = {
    .release = watcher_release,
    .drain = call_stream_end,
    .room = watcher_room,
};

/*
 * Both name the last event that the client saw. An id that this daemon has not issued yet comes
 * from an earlier run: then all events are new.
 */
static int watcher_decode_start(struct watcher *w, const struct http_request *rq,
                                struct hf_error *err)
{
    const struct events *ev = engine_events(w->call.base->engine);
    const char *last = http_header(rq, "Last-Event-ID"), *since = http_query(rq, "since");
    uint64_t id;

    w->next = events_next(ev);
    if (last == NULL && since == NULL)
        return 0;
    if (!text_to_u64(last != NULL ? last : since, INT64_MAX, &id))
        return hf_fail_field(err, last != NULL ? HF_E_bad_request : HF_E_bad_query,
                             last != NULL ? "Last-Event-ID" : "since",
                             "an event id must be a number");
    w->next = id + 1;
    w->reset = w->next > events_next(ev);
    return 0;
}

static void watcher_start(struct watcher *w)
{
    http_add_header(w->call.rq, "Cache-Control", "no-store");
    w->subscriber.fn = watcher_pump;
    w->subscriber.arg = w;
    events_subscribe(engine_events(w->call.base->engine), &w->subscriber);
    call_stream_sse(&w->call);
    watcher_pump(w);
}

static int check_accept(const struct http_request *rq, struct hf_error *err)
{
    if (http_accepts(rq, SSE_TYPE))
        return 0;
    return hf_fail(err, HF_E_not_acceptable, "events are available only as text/event-stream");
}

void events_handle(struct http_request *rq)
{
    struct watcher *w = call_begin(rq, &watcher_kind, sizeof *w);
    struct hf_error err;

    w->helpers = http_role(rq) == ROLE_OWN;
    if (check_accept(rq, &err) < 0 || filter_decode(&w->filter, rq, &err) < 0 ||
        native_decode_bool(rq, "all", &w->all, &err) < 0 || watcher_decode_start(w, rq, &err) < 0)
        call_fail(&w->call, &err);
    else if (http_method(rq) == HTTP_HEAD_M)
        http_reply(call_end(&w->call), 200, SSE_TYPE, "", 0);
    else
        watcher_start(w);
}
