/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_watch.c - GET …/pods?watch=true: the pod, again whenever a process of it has changed
 *
 * A version of the pod is a position in the engine's log of events, so a client may continue after
 * the worker has died. Only the present state is ever sent: changes that come faster than the
 * client reads, or than KUBE_WATCH_MS, are one. The pod is serialised once for all watches, and
 * sending it is heavy work. It is as old as the daemon and is never deleted. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/call.h"
#include "dialects/common/caller.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "engine/engine.h"
#include "engine/events.h"

#define NAMESPACE_BYTES 254 /* a DNS name and NUL */

struct kube_watch {
    struct call call;
    struct event_subscriber subscriber;
    struct timer *timer;
    struct task again; /* no time was left in this turn */
    char ns[NAMESPACE_BYTES];
    bool table, columns_sent; /* as a table, whose columns are in the first event alone */
    bool selected;            /* the selectors of the request match the pod */
    bool added, changed;      /* the client knows the pod; it knows an older one */
    bool initial;             /* it waits to hear that it knows everything */
    bool bookmarks;
    uint64_t next; /* in the engine's log */
    /* On the monotonic clock. */
    uint64_t end_ms, bookmark_ms;
};

uint64_t kube_version_now(struct kube *k)
{
    return events_next(engine_events(k->base.engine));
}

/* --- events ---------------------------------------------------------------------------------- */

static struct json_out event_open(struct kube_watch *w, const char *type)
{
    struct json_out o = dialect_reply_open(w->call.base);

    json_kstr(&o, "type", type);
    json_kopen(&o, "object", '{');
    return o;
}

static void event_send(struct kube_watch *w, struct json_out *o)
{
    struct iovec iov;

    json_close(o, '}');
    json_close(o, '}');
    buf_putc(o->buf, '\n');
    iov = (struct iovec){buf_data(o->buf), o->buf->len};
    http_stream_write(w->call.out, &iov, 1);
}

static void send_pod(struct kube_watch *w)
{
    struct json_out o = event_open(w, w->added ? "MODIFIED" : "ADDED");
    struct kube *k = (struct kube *)w->call.base;

    if (w->table)
        kube_write_table(&o, k, w->ns, true, !w->columns_sent, &k->shown);
    else
        kube_write_pod(&o, k, w->ns, &k->shown);
    event_send(w, &o);
    w->columns_sent = w->added = true;
    w->changed = false;
}

/* So far the client knows everything. */
static void send_bookmark(struct kube_watch *w, uint64_t now)
{
    struct json_out o = event_open(w, "BOOKMARK");
    char version[24];

    snprintf(version, sizeof version, "%llu", (unsigned long long)w->next);
    json_kstr(&o, "kind", w->table ? "Table" : "Pod");
    json_kstr(&o, "apiVersion", w->table ? "meta.k8s.io/v1" : "v1");
    json_kopen(&o, "metadata", '{');
    json_kstr(&o, "resourceVersion", version);
    if (!w->table)
        json_knull(&o, "creationTimestamp");
    if (w->initial) {
        json_kopen(&o, "annotations", '{');
        json_kstr(&o, "k8s.io/initial-events-end", "true");
        json_close(&o, '}');
    }
    json_close(&o, '}');
    if (w->table) {
        json_kopen(&o, "columnDefinitions", '[');
        json_close(&o, ']');
        json_kopen(&o, "rows", '[');
        json_close(&o, ']');
    } else {
        json_kopen(&o, "spec", '{');
        json_knull(&o, "containers");
        json_close(&o, '}');
        json_kopen(&o, "status", '{');
        json_close(&o, '}');
    }
    event_send(w, &o);
    w->initial = false;
    w->bookmark_ms = now + KUBE_BOOKMARK_MS;
}

/* The client lists again, as it does after any long absence. */
static void send_expired(struct kube_watch *w, uint64_t wanted)
{
    struct json_out o = event_open(w, "ERROR");
    char message[100];

    snprintf(message, sizeof message, "too old resource version: %llu (%llu)",
             (unsigned long long)wanted, (unsigned long long)w->next);
    json_kstr(&o, "kind", "Status");
    json_kstr(&o, "apiVersion", "v1");
    json_kopen(&o, "metadata", '{');
    json_close(&o, '}');
    json_kstr(&o, "status", "Failure");
    json_kstr(&o, "message", message);
    json_kstr(&o, "reason", "Expired");
    json_kint(&o, "code", 410);
    event_send(w, &o);
}

/* --- what is due ----------------------------------------------------------------------------- */

/* Has a process changed? What the log has dropped may have said so. */
static void read_log(struct kube_watch *w)
{
    struct events *log = engine_events(w->call.base->engine);
    struct event e;

    if (w->next < events_first(log)) {
        w->changed = true;
        w->next = events_first(log);
    }
    while (events_get(log, w->next, &e)) {
        w->next = e.id + 1;
        if (!e.helper && strncmp(e.type, "process.", 8) == 0)
            w->changed = true;
    }
}

static bool is_behind(const struct kube_watch *w)
{
    return w->selected && (w->changed || !w->added);
}

/* When may the pod be serialised again? 0: it need not be. */
static uint64_t snapshot_due_ms(struct kube *k)
{
    return k->shown_version == 0 || k->shown_version == kube_version_now(k)
               ? 0
               : k->shown_ms + KUBE_WATCH_MS;
}

static void snapshot_update(struct kube *k, uint64_t now)
{
    if (k->shown_version == kube_version_now(k))
        return;
    kube_snapshot_take(&k->shown, k);
    k->shown_version = kube_version_now(k);
    k->shown_ms = now;
}

static void wait_for_next(struct kube_watch *w, uint64_t now)
{
    uint64_t at = w->end_ms, due = w->bookmark_ms;

    if (is_behind(w))
        due = snapshot_due_ms((struct kube *)w->call.base);
    if ((is_behind(w) || w->bookmarks) && due < at)
        at = due;
    timer_start(w->timer, at > now ? at - now : 1);
}

/* A bookmark promises that the client knows everything before it, so it waits for the pod. */
static void watch_step(struct kube_watch *w)
{
    struct kube *k = (struct kube *)w->call.base;
    uint64_t now = clock_mono_ms();
    bool over = now >= w->end_ms;

    read_log(w);
    if (call_is_ready(&w->call) && is_behind(w) && now >= snapshot_due_ms(k)) {
        if (!loop_has_time(k->base.loop)) {
            loop_defer_work(k->base.loop, &w->again);
            return;
        }
        snapshot_update(k, now);
        send_pod(w);
    }
    if (call_is_ready(&w->call) && !is_behind(w) &&
        (w->initial || (w->bookmarks && (over || now >= w->bookmark_ms))))
        send_bookmark(w, now);
    if (over)
        call_stream_end(&w->call);
    else if (call_is_ready(&w->call))
        wait_for_next(w, now);
    else
        timer_start(w->timer, w->end_ms - now);
}

/* --- the call -------------------------------------------------------------------------------- */

static void watch_release(struct call *c)
{
    struct kube_watch *w = (struct kube_watch *)c;
    struct kube *k = (struct kube *)c->base;

    events_unsubscribe(&w->subscriber);
    timer_close(w->timer);
    task_cancel(&w->again);
    if (--k->watches > 0)
        return;
    kube_snapshot_fini(&k->shown);
    k->shown_version = 0;
}

static void watch_room(struct call *c)
{
    watch_step((struct kube_watch *)c);
}

static void watch_on_append(void *arg)
{
    watch_step(arg);
}

static void watch_on_timer(struct timer *t, void *arg)
{
    (void)t;
    watch_step(arg);
}

static void watch_again(void *arg)
{
    watch_step(arg);
}

/* Its end is regular, as that of the time: clients watch again from where they are. */
static void watch_drain(struct call *c)
{
    call_stream_end(c);
}

static const struct call_kind watch_kind = {
    .release = watch_release, .room = watch_room, .drain = watch_drain};

/* --- the request ----------------------------------------------------------------------------- */

struct watch_query {
    int64_t timeout_s;
    uint64_t version; /* 0: any, and the pod comes first */
    bool initial;     /* then a bookmark says that it was all */
};

/* False: replied. */
static bool query_decode(struct http_request *rq, struct watch_query *q)
{
    const char *seconds = http_query(rq, "timeoutSeconds");
    const char *version = http_query(rq, "resourceVersion");

    *q = (struct watch_query){.initial = kube_flag(rq, "sendInitialEvents")};
    if (seconds != NULL && seconds[0] != '\0' &&
        !text_to_i64(seconds, 0, INT64_MAX, &q->timeout_s)) {
        kube_refuse(rq, 400, "invalid value for timeoutSeconds: %.100s", seconds);
        return false;
    }
    if (version != NULL && version[0] != '\0' && !text_to_u64(version, UINT64_MAX, &q->version)) {
        kube_refuse(rq, 400, "invalid resource version: %.100s", version);
        return false;
    }
    if (q->timeout_s < 1 || q->timeout_s > LIMIT_KUBE_WATCH_S)
        q->timeout_s = LIMIT_KUBE_WATCH_S;
    return true;
}

static struct kube_watch *watch_begin(struct http_request *rq, const struct watch_query *q, int pod)
{
    struct kube_watch *w = call_begin(rq, &watch_kind, sizeof *w);
    uint64_t now = clock_mono_ms();

    kube_of(rq)->watches++;
    snprintf(w->ns, sizeof w->ns, "%s", kube_namespace(rq));
    w->table = kube_wants_table(rq);
    w->selected = pod > 0;
    w->bookmarks = kube_flag(rq, "allowWatchBookmarks");
    w->initial = q->initial && w->bookmarks;
    w->added = q->version > 0 && !q->initial;
    w->end_ms = now + (uint64_t)q->timeout_s * 1000;
    w->bookmark_ms = now + KUBE_BOOKMARK_MS;
    w->next = kube_version_now(kube_of(rq));
    w->timer = timer_new(w->call.base->loop, watch_on_timer, w);
    w->again = (struct task){.fn = watch_again, .arg = w};
    return w;
}

void kube_watch(struct http_request *rq, int pod)
{
    struct events *log = engine_events(dialect_base_of(rq)->engine);
    struct watch_query q;
    struct kube_watch *w;
    bool expired;

    if (!query_decode(rq, &q))
        return;
    if (kube_of(rq)->watches >= caller_share(rq, LIMIT_KUBE_WATCHES)) {
        kube_refuse(rq, 429, "%zu watches are already in progress; try again later",
                    kube_of(rq)->watches);
        return;
    }
    w = watch_begin(rq, &q, pod);
    expired = w->added && (q.version < events_first(log) || q.version > w->next);
    call_stream(&w->call, 200, "application/json");
    if (expired) {
        send_expired(w, q.version);
        call_stream_end(&w->call);
        return;
    }
    if (w->added)
        w->next = q.version;
    w->subscriber.fn = watch_on_append;
    w->subscriber.arg = w;
    events_subscribe(log, &w->subscriber);
    watch_step(w);
}
