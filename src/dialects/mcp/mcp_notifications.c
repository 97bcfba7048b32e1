/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_notifications.c - notifications that belong to no call. Layer: dialects.
 */
#include "dialects/mcp/mcp_notifications.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/mcp/mcp_resource.h"
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

/* --- sending ------------------------------------------------------------------- */

void mcp_feed_write(struct mcp_feed *f, const struct buf *message)
{
    sse_send(f->stream, "message", NULL, buf_data(message), message->len);
}

/* uri NULL: none. */
static void send_notification(struct mcp_feed *f, const char *method, const char *uri)
{
    struct buf *out = &f->mcp->scratch;
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "jsonrpc", "2.0");
    json_kstr(&o, "method", method);
    json_key(&o, "params");
    json_open(&o, '{');
    if (f->tag != NULL) {
        json_key(&o, "_meta");
        json_open(&o, '{');
        json_key(&o, "io.modelcontextprotocol/subscriptionId");
        json_value(&o, f->tag);
        json_close(&o, '}');
    }
    if (uri != NULL)
        json_kstr(&o, "uri", uri);
    json_close(&o, '}');
    json_close(&o, '}');
    mcp_feed_write(f, out);
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

    if (f->list_changed && http_stream_ready(f->stream)) {
        f->list_changed = false;
        send_notification(f, "notifications/resources/list_changed", NULL);
    }
    list_for_each (it, tmp, &f->subscriptions) {
        struct subscription *s = list_entry(it, struct subscription, link);

        if (!s->changed || !http_stream_ready(f->stream))
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

/* Schedules the sending of a recorded change. */
static void feed_arm(struct mcp_feed *f)
{
    if (f->stream != NULL && !timer_is_active(f->spacing))
        timer_start(f->spacing, FEED_SPACING_MS);
}

static void feed_on_drain(void *arg)
{
    struct mcp_feed *f = arg;

    if (feed_has_changes(f))
        feed_arm(f);
}

/* --- what changes ----------------------------------------------------------------- */

/* A process that started or was removed changes the list of resources. */
static void feed_on_events(void *arg)
{
    struct mcp_feed *f = arg;
    struct events *ev = engine_events(f->mcp->engine);
    struct event e;

    while (events_get(ev, f->next_event, &e)) {
        f->next_event = e.id + 1;
        if (e.helper)
            continue; /* it is in no client's list */
        if (strcmp(e.type, "process.created") == 0 || strcmp(e.type, "process.deleted") == 0)
            f->list_changed = f->wants_list;
    }
    if (f->list_changed)
        feed_arm(f);
}

static bool subscription_ready(void *arg)
{
    (void)arg;
    return true;
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
    .ready = subscription_ready,
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

/* The stream has ended, whichever side ended it. */
static void feed_forget_stream(struct mcp_feed *f)
{
    f->stream = NULL;
    events_unsubscribe(&f->subscriber);
    timer_close(f->spacing);
    f->spacing = NULL;
}

static void feed_on_disconnect(void *arg)
{
    struct mcp_feed *f = arg;

    feed_forget_stream(f);
    f->on_disconnect(f);
}

static const struct http_stream_ops feed_ops = {.on_drain = feed_on_drain,
                                                .on_disconnect = feed_on_disconnect};

void mcp_feed_init(struct mcp_feed *f, struct mcp *m, void (*on_disconnect)(struct mcp_feed *f))
{
    *f = (struct mcp_feed){.mcp = m, .on_disconnect = on_disconnect};
    list_init(&f->subscriptions);
    list_append(&m->feeds, &f->link);
}

void mcp_feed_stop(struct mcp_feed *f)
{
    struct http_stream *stream = f->stream;

    if (stream == NULL)
        return;
    feed_forget_stream(f);
    http_stream_end(stream);
}

void mcp_feed_fini(struct mcp_feed *f)
{
    mcp_feed_stop(f);
    while (!list_is_empty(&f->subscriptions))
        subscription_free(list_entry(f->subscriptions.next, struct subscription, link));
    json_decref(f->tag);
    list_remove(&f->link);
}

void mcp_feed_start(struct mcp_feed *f, struct http_request *rq)
{
    struct engine *e = f->mcp->engine;

    mcp_feed_stop(f);
    http_add_header(rq, "Cache-Control", "no-store");
    http_add_header(rq, "X-Accel-Buffering", "no");
    f->next_event = events_next(engine_events(e));
    f->subscriber = (struct event_subscriber){.fn = feed_on_events, .arg = f};
    events_subscribe(engine_events(e), &f->subscriber);
    f->spacing = timer_new(engine_loop(e), feed_on_spacing, f);
    f->stream = sse_start(rq, &feed_ops, f);
    if (feed_has_changes(f))
        feed_arm(f);
}
