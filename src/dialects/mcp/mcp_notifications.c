/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_notifications.c - notifications that belong to no call. Layer: dialects.
 */
#include "dialects/mcp/mcp_notifications.h"

#include <string.h>

#include "base/mem.h"
#include "dialects/common/call.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_resource.h"
#include "engine/events.h"
#include "engine/stream/viewer.h"
#include "transport/sse.h"

struct subscription {
    struct list link; /* feed.subscriptions */
    struct mcp_feed *feed;
    struct process *process; /* referenced */
    struct viewer *viewer;   /* consumes everything and stores nothing */
    bool changed;
    char uri[];
};

/* A feed's stream: the call lasts until either side ends it. */
struct mcp_feed_stream {
    struct call call;
    struct mcp_feed *feed;
    struct event_subscriber subscriber;
    uint64_t next_event;
    struct timer *spacing;
};

/* --- sending ------------------------------------------------------------------- */

static bool feed_has_room(const struct mcp_feed *f)
{
    return http_stream_ready(f->stream->call.out);
}

/* The message in the scratch buffer, once it is closed. */
static void feed_write(struct mcp_feed *f, struct json_out *o)
{
    rpc_close(o);
    sse_send(f->stream->call.out, "message", NULL, buf_data(o->buf), o->buf->len);
}

static void write_tag(struct json_out *o, const struct mcp_feed *f)
{
    if (f->tag == NULL)
        return;
    json_kopen(o, "_meta", '{');
    json_key(o, "io.modelcontextprotocol/subscriptionId");
    json_value(o, f->tag);
    json_close(o, '}');
}

/* uri NULL: none. */
static void send_notification(struct mcp_feed *f, const char *method, const char *uri)
{
    struct json_out o = rpc_open_notification(&f->mcp->base.scratch, method);

    write_tag(&o, f);
    if (uri != NULL)
        json_kstr(&o, "uri", uri);
    feed_write(f, &o);
}

static bool feed_has_changes(const struct mcp_feed *f)
{
    struct list *it, *tmp;

    if (f->list_changed)
        return true;
    list_for_each (it, tmp, (struct list *)&f->subscriptions) {
        if (list_entry(it, struct subscription, link)->changed)
            return true;
    }
    return false;
}

/* Sends all recorded changes while the stream has room. */
static void feed_flush(struct mcp_feed *f)
{
    struct list *it, *tmp;

    if (f->list_changed && feed_has_room(f)) {
        f->list_changed = false;
        send_notification(f, "notifications/resources/list_changed", NULL);
    }
    list_for_each (it, tmp, &f->subscriptions) {
        struct subscription *s = list_entry(it, struct subscription, link);

        if (!s->changed || !feed_has_room(f))
            continue;
        s->changed = false;
        send_notification(f, "notifications/resources/updated", s->uri);
    }
}

static void feed_on_spacing(struct timer *t, void *arg)
{
    (void)t;
    feed_flush(arg);
}

/* Schedules the sending of what has changed. */
static void feed_arm(struct mcp_feed *f)
{
    if (f->stream != NULL && feed_has_changes(f) && !timer_is_active(f->stream->spacing))
        timer_start(f->stream->spacing, FEED_SPACING_MS);
}

/* --- what changes ----------------------------------------------------------------- */

/* A process that started or was removed changes the list of resources. */
static void feed_on_events(void *arg)
{
    struct mcp_feed_stream *st = arg;
    struct mcp_feed *f = st->feed;
    struct events *ev = engine_events(st->call.base->engine);
    struct event e;

    while (events_get(ev, st->next_event, &e)) {
        st->next_event = e.id + 1;
        if (e.helper)
            continue; /* it is in no client's list */
        if (strcmp(e.type, "process.created") == 0 || strcmp(e.type, "process.deleted") == 0)
            f->list_changed = f->wants_list;
    }
    feed_arm(f);
}

static void subscription_note(struct subscription *s)
{
    s->changed = true;
    feed_arm(s->feed);
}

static void subscription_bytes(void *arg, const struct slice *s)
{
    (void)s;
    subscription_note(arg);
}

static void subscription_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)from, (void)to;
    subscription_note(arg);
}

static void subscription_exited(void *arg, const struct exit_record *x)
{
    struct subscription *s = arg;

    (void)x;
    subscription_note(s);
    viewer_detach(s->viewer);
    s->viewer = NULL;
}

static const struct viewer_ops subscription_ops = {
    .bytes = subscription_bytes,
    .gap = subscription_gap,
    .exited = subscription_exited,
};

static void subscription_free(struct subscription *s)
{
    viewer_detach(s->viewer);
    process_unref(s->process);
    list_remove(&s->link);
    s->feed->subscription_count--;
    free(s);
}

static struct subscription *find(struct mcp_feed *f, const char *uri)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &f->subscriptions) {
        struct subscription *s = list_entry(it, struct subscription, link);

        if (strcmp(s->uri, uri) == 0)
            return s;
    }
    return NULL;
}

int mcp_feed_subscribe(struct mcp_feed *f, const char *uri, struct hf_error *err)
{
    const struct viewer_options o = {
        .since = SINCE_NOW, .internal = true, .read_only = true, .only_stream = -1};
    enum resource_kind kind;
    struct process *p = resource_find(f->mcp, uri, &kind, err);
    struct subscription *s;

    if (p == NULL)
        return -1;
    if (find(f, uri) != NULL)
        return 0;
    if (f->subscription_count >= LIMIT_MCP_SUBSCRIPTIONS)
        return hf_fail(err, HF_E_too_many_viewers, "at most %d resources can be subscribed to",
                       LIMIT_MCP_SUBSCRIPTIONS);
    s = hf_xalloc(sizeof *s + strlen(uri) + 1);
    s->feed = f;
    memcpy(s->uri, uri, strlen(uri) + 1);
    s->process = process_ref(p);
    list_append(&f->subscriptions, &s->link);
    f->subscription_count++;
    if (!process_is_running(p))
        return 0; /* no further change is possible */
    if (viewer_attach(p, &o, &subscription_ops, s, &s->viewer, err) == 0)
        return 0;
    subscription_free(s);
    return -1;
}

void mcp_feed_unsubscribe(struct mcp_feed *f, const char *uri)
{
    struct subscription *s = find(f, uri);

    if (s != NULL)
        subscription_free(s);
}

/* --- the stream --------------------------------------------------------------------- */

static struct mcp_feed_stream *feed_stream_of(struct call *c)
{
    return list_entry(c, struct mcp_feed_stream, call);
}

static void feed_stream_release(struct call *c)
{
    struct mcp_feed_stream *st = feed_stream_of(c);

    st->feed->stream = NULL;
    events_unsubscribe(&st->subscriber);
    timer_close(st->spacing);
    st->feed->on_closed(st->feed);
}

/* A listening request gets its result. */
static void feed_stream_drain(struct call *c)
{
    struct mcp_feed *f = feed_stream_of(c)->feed;
    struct json_out o;

    if (f->tag != NULL) {
        o = rpc_open_result(&c->base->scratch, f->tag);
        json_kstr(&o, "resultType", "complete");
        write_tag(&o, f);
        feed_write(f, &o);
    }
    call_stream_end(c);
}

static void feed_stream_room(struct call *c)
{
    feed_arm(feed_stream_of(c)->feed);
}

static const struct call_kind feed_stream_kind = {
    .release = feed_stream_release,
    .drain = feed_stream_drain,
    .room = feed_stream_room,
};

void mcp_feed_start(struct mcp_feed *f, struct http_request *rq)
{
    struct events *ev = engine_events(f->mcp->base.engine);
    struct mcp_feed_stream *st;

    if (f->stream != NULL)
        call_stream_end(&f->stream->call);
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "X-Accel-Buffering", "no");
    st = call_begin(rq, &feed_stream_kind, sizeof *st);
    st->feed = f;
    st->next_event = events_next(ev);
    st->subscriber = (struct event_subscriber){.fn = feed_on_events, .arg = st};
    events_subscribe(ev, &st->subscriber);
    st->spacing = timer_new(st->call.base->loop, feed_on_spacing, f);
    call_stream_sse(&st->call);
    f->stream = st;
    feed_arm(f);
}

void mcp_feed_init(struct mcp_feed *f, struct mcp *m, void (*on_closed)(struct mcp_feed *f))
{
    *f = (struct mcp_feed){.mcp = m, .on_closed = on_closed};
    list_init(&f->subscriptions);
}

void mcp_feed_fini(struct mcp_feed *f)
{
    if (f->stream != NULL)
        call_stream_end(&f->stream->call);
    while (!list_is_empty(&f->subscriptions))
        subscription_free(list_entry(f->subscriptions.next, struct subscription, link));
    json_decref(f->tag);
}

/* --- listening ------------------------------------------------------------------------ */

static void listen_free(struct mcp_feed *f)
{
    mcp_feed_fini(f);
    free(f);
}

/* Subscribes to those that exist, and lists them: the acknowledgement leaves out the others, as the
 * protocol prescribes for anything unsupported. Tools and prompts never change. */
static void subscribe_all(struct mcp_feed *f, const json_t *uris, struct json_out *o)
{
    struct hf_error err;
    size_t i;
    json_t *v;

    json_kopen(o, "resourceSubscriptions", '[');
    json_array_foreach ((json_t *)uris, i, v) {
        const char *uri = json_string_value(v);

        if (uri != NULL && mcp_feed_subscribe(f, uri, &err) == 0)
            json_str(o, uri);
    }
    json_close(o, ']');
}

static void acknowledge(struct mcp_feed *f, const json_t *wish)
{
    const json_t *uris = json_object_get(wish, "resourceSubscriptions");
    struct json_out o =
        rpc_open_notification(&f->mcp->base.scratch, "notifications/subscriptions/acknowledged");

    write_tag(&o, f);
    json_kopen(&o, "notifications", '{');
    if (f->wants_list)
        json_kbool(&o, "resourcesListChanged", true);
    if (json_is_array(uris))
        subscribe_all(f, uris, &o);
    json_close(&o, '}');
    feed_write(f, &o);
}

void mcp_listen_start(struct http_request *rq, const struct rpc_message *m)
{
    struct mcp *mcp = mcp_of(rq);
    const json_t *wish = json_object_get(m->params, "notifications");
    struct mcp_feed *f;

    if (!json_is_object(wish)) {
        rpc_write_error(&mcp->base.scratch, m->id, RPC_INVALID_PARAMS,
                        "\"notifications\" must be an object that lists what to listen for", NULL);
        http_reply_json(rq, 400, &mcp->base.scratch);
        return;
    }
    f = hf_xalloc(sizeof *f);
    mcp_feed_init(f, mcp, listen_free);
    f->tag = json_incref(m->id);
    f->wants_list = json_is_true(json_object_get(wish, "resourcesListChanged"));
    mcp_feed_start(f, rq);
    acknowledge(f, wish);
}
