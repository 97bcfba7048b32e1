/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_bus.c - GET /event and /global/event: what happens, as server-sent events
 *
 * An event is written once and kept until every listener has received it; a listener is a position
 * in that queue. No events are produced without listeners. A listener that lets LIMIT_OC_BUS_BYTES
 * pile up is disconnected, so that its client sees an error and starts over, rather than missing
 * events. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opencode/opencode_limits.h"
#include "transport/sse.h"

struct oc_bus_entry {
    struct list link;
    char *directory; /* NULL: for all listeners */
    struct buf text;
};

struct oc_bus_listener {
    struct call call;
    struct list link; /* in oc.streams */
    struct timer *heartbeat;
    char *directory; /* NULL: all of them, wrapped */
    uint64_t next;
    bool ending; /* end it once everything is sent */
};

bool oc_is_heard(const struct oc *oc)
{
    return !list_is_empty(&oc->streams);
}

/* --- the queue --------------------------------------------------------------------- */

static void entry_drop(struct oc *oc)
{
    struct oc_bus_entry *e = list_entry(oc->entries.next, struct oc_bus_entry, link);

    list_remove(&e->link);
    oc->entry_first++;
    oc->entry_bytes -= e->text.len;
    free(e->directory);
    buf_fini(&e->text);
    free(e);
}

static void drop_taken(struct oc *oc)
{
    uint64_t least = oc->entry_next;
    struct list *it, *tmp;

    list_for_each (it, tmp, &oc->streams) {
        const struct oc_bus_listener *s = list_entry(it, struct oc_bus_listener, link);

        least = s->next < least ? s->next : least;
    }
    while (oc->entry_first < oc->entry_next &&
           (oc->entry_first < least || oc->entry_bytes > LIMIT_OC_BUS_BYTES))
        entry_drop(oc);
}

/* One past the last if there is none. */
static const struct list *entry_at(const struct oc *oc, uint64_t number)
{
    const struct list *l = oc->entries.next;

    for (uint64_t n = oc->entry_first; n < number; n++)
        l = l->next;
    return l;
}

/* --- a listener ------------------------------------------------------------------------ */

static void listener_release(struct call *c)
{
    struct oc_bus_listener *s = list_entry(c, struct oc_bus_listener, call);
    struct oc *oc = oc_of_call(&s->call);

    list_remove(&s->link);
    timer_close(s->heartbeat);
    free(s->directory);
    drop_taken(oc);
    if (!oc_is_heard(oc))
        oc_publish_stop(oc);
}

static void listener_send(struct oc_bus_listener *s, const char *json, size_t len,
                          const char *directory)
{
    struct buf wrapped = {0};

    if (s->directory == NULL) {
        struct json_out o;

        json_out_init(&o, &wrapped);
        json_open(&o, '{');
        if (directory != NULL)
            json_kstr(&o, "directory", directory);
        json_key(&o, "payload");
        json_raw(&o, json, len);
        json_close(&o, '}');
        json = buf_data(&wrapped);
        len = wrapped.len;
    }
    sse_send(s->call.out, NULL, NULL, json, len);
    buf_fini(&wrapped);
}

static bool listener_wants(const struct oc_bus_listener *s, const struct oc_bus_entry *e)
{
    return s->directory == NULL || e->directory == NULL || strcmp(s->directory, e->directory) == 0;
}

static void listener_pump(struct call *c)
{
    struct oc_bus_listener *s = list_entry(c, struct oc_bus_listener, call);
    struct oc *oc = oc_of_call(&s->call);
    const struct list *at;

    if (s->next < oc->entry_first) {
        call_stream_abort(c);
        return;
    }
    at = entry_at(oc, s->next);
    for (; s->next < oc->entry_next && http_stream_ready(c->out); s->next++, at = at->next) {
        const struct oc_bus_entry *e = list_entry(at, struct oc_bus_entry, link);

        if (listener_wants(s, e))
            listener_send(s, buf_data(&e->text), e->text.len,
                          e->directory != NULL ? e->directory : oc->cwd);
    }
    if (s->ending && s->next == oc->entry_next)
        call_stream_end(c);
}

/* A drain aborts it: a clean end would end the client's loop. After a reset it reconnects to the
 * next worker. */
static const struct call_kind listener_kind = {.release = listener_release, .room = listener_pump};

static void pump_all(struct oc *oc)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &oc->streams)
        listener_pump(&list_entry(it, struct oc_bus_listener, link)->call);
    drop_taken(oc);
}

void oc_streams_end(struct oc *oc, const char *directory)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &oc->streams) {
        struct oc_bus_listener *s = list_entry(it, struct oc_bus_listener, link);

        if (s->directory != NULL && strcmp(s->directory, directory) == 0)
            s->ending = true; /* for good, even if another directory is disposed of first */
    }
    pump_all(oc);
}

/* --- publishing -------------------------------------------------------------------------- */

struct json_out oc_event(struct oc *oc, const char *type)
{
    struct json_out o;
    char id[OC_ID_BYTES];

    oc_new_id("evt", false, id);
    buf_clear(&oc->event);
    json_out_init(&o, &oc->event);
    json_open(&o, '{');
    json_kstr(&o, "id", id);
    json_kstr(&o, "type", type);
    json_kopen(&o, "properties", '{');
    return o;
}

static void event_shut(struct json_out *o)
{
    json_close(o, '}');
    json_close(o, '}');
}

void oc_event_send(struct oc *oc, struct json_out *o, const char *directory)
{
    struct oc_bus_entry *e = hf_xalloc(sizeof *e);

    event_shut(o);
    e->text = oc->event;
    e->directory = hf_xstrdup(directory);
    oc->event = (struct buf){0};
    list_append(&oc->entries, &e->link);
    oc->entry_next++;
    oc->entry_bytes += e->text.len;
    pump_all(oc);
}

/* To this listener only, and for no directory. */
static void listener_say(struct oc_bus_listener *s, const char *type)
{
    struct json_out o = oc_event(oc_of_call(&s->call), type);

    event_shut(&o);
    listener_send(s, buf_data(o.buf), o.buf->len, NULL);
}

static void listener_on_heartbeat(struct timer *t, void *arg)
{
    struct oc_bus_listener *s = arg;

    timer_start(t, OC_HEARTBEAT_MS);
    if (http_stream_ready(s->call.out))
        listener_say(s, "server.heartbeat");
}

/* --- setup --------------------------------------------------------------------------------- */

static bool is_global(const struct http_request *rq)
{
    return strstr(http_path(rq), "/global/event") != NULL;
}

void oc_events(struct http_request *rq)
{
    struct oc *oc = oc_of(rq);
    struct oc_bus_listener *s;
    char directory[PATH_MAX];

    http_add_header(rq, "Cache-Control", "no-cache, no-transform");
    http_add_header(rq, "X-Accel-Buffering", "no");
    if (http_method(rq) == HTTP_HEAD_M) {
        http_reply(rq, 200, SSE_TYPE, "", 0);
        return;
    }
    s = call_begin(rq, &listener_kind, sizeof *s);
    if (!is_global(rq))
        s->directory = hf_xstrdup(oc_directory(rq, directory));
    s->next = oc->entry_next;
    s->heartbeat = timer_new(oc->base.loop, listener_on_heartbeat, s);
    timer_start(s->heartbeat, OC_HEARTBEAT_MS);
    if (!oc_is_heard(oc))
        oc_publish_start(oc);
    list_append(&oc->streams, &s->link);
    call_stream(&s->call, 200, SSE_TYPE);
    listener_say(s, "server.connected");
}
