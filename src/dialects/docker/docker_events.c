/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_events.c - GET /events: containers that start, die and are destroyed, as they do
 *
 * A request is a cursor into the engine's log, so nothing is queued for it: a client that reads too
 * slowly, so that the log has overwritten what it still needs, is cut off. A process of any dialect
 * is a container here as well. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rfc3339.h"
#include "dialects/common/caller.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_filter.h"
#include "dialects/docker/docker_limits.h"
#include "engine/events.h"

struct docker_events {
    struct call call;
    struct event_subscriber subscriber;
    struct timer *timer; /* NULL: it has no end */
    json_t *filters;
    uint64_t next;              /* in the engine's log */
    int64_t since_ms, until_ms; /* -1: not given */
};

/* --- an event -------------------------------------------------------------------------------- */

static const char *action_of(const char *type)
{
    static const struct {
        const char *type, *action;
    } rows[] = {
        {"process.created", "start"},
        {"process.exited", "die"},
        {"process.deleted", "destroy"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(type, rows[i].type) == 0)
            return rows[i].action;
    return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static int64_t time_of(const json_t *object, const char *key)
{
    int64_t ms = 0;

    (void)rfc3339_parse(text_of(object, key), &ms);
    return ms;
}

/* Those of the container, and what Docker adds. Numbers are texts there. */
static json_t *attributes_of(const struct docker_entry *b, const json_t *process, bool died)
{
    const json_t *labels = json_object_get(b->config, "labels"), *code;
    json_t *all = json_is_object(labels) ? json_copy((json_t *)(uintptr_t)labels) : json_object();
    int64_t lived_ms;
    char text[24];

    json_object_set_new(all, "image", json_string(docker_entry_image(b)));
    json_object_set_new(all, "name", json_string(b->name));
    if (!died)
        return all;
    code = json_object_get(process, "exit_code");
    lived_ms = time_of(process, "exited_at") - time_of(process, "created_at");
    snprintf(text, sizeof text, "%d", json_is_integer(code) ? (int)json_integer_value(code) : 255);
    json_object_set_new(all, "exitCode", json_string(text));
    snprintf(text, sizeof text, "%lld", (long long)(lived_ms > 0 ? lived_ms / 1000 : 0));
    json_object_set_new(all, "execDuration", json_string(text));
    return all;
}

static void write_event(struct json_out *o, const struct docker_subject *e,
                        const json_t *attributes, int64_t ms)
{
    json_kstr(o, "status", e->action);
    json_kstr(o, "id", e->id);
    json_kstr(o, "from", e->image);
    json_kstr(o, "Type", "container");
    json_kstr(o, "Action", e->action);
    json_kopen(o, "Actor", '{');
    json_kstr(o, "ID", e->id);
    json_key(o, "Attributes");
    json_value(o, attributes);
    json_close(o, '}');
    json_kstr(o, "scope", "local");
    json_kint(o, "time", ms / 1000);
    json_kint(o, "timeNano", ms * 1000000);
}

/* Takes ownership of the attributes. */
static void events_send(struct docker_events *d, const struct docker_subject *e, json_t *attributes,
                        int64_t ms)
{
    struct json_out o = dialect_reply_open(d->call.base);
    struct iovec iov;

    write_event(&o, e, attributes, ms);
    json_decref(attributes);
    json_close(&o, '}');
    buf_putc(o.buf, '\n');
    iov = (struct iovec){buf_data(o.buf), o.buf->len};
    http_stream_write(d->call.out, &iov, 1);
}

/* False: everything later is not wanted, either. */
static bool events_take(struct docker_events *d, const struct event *e)
{
    const char *action = e->helper ? NULL : action_of(e->type);
    json_auto_t *tree = action != NULL ? json_loadb(e->json, e->len, JSON_ALLOW_NUL, NULL) : NULL;
    const json_t *process = json_object_get(tree, "process");
    int64_t ms = time_of(tree, "time");
    docker_entry_auto b = {0};
    struct docker_subject out;

    if (action == NULL || process == NULL)
        return true;
    if (d->until_ms >= 0 && ms > d->until_ms)
        return false;
    if (ms < d->since_ms)
        return true;
    docker_entry_of_event((struct docker *)d->call.base, process, &b);
    out = (struct docker_subject){
        .action = action,
        .id = b.id,
        .name = b.name,
        .image = docker_entry_image(&b),
        .labels = json_object_get(b.config, "labels"),
    };
    if (docker_filter_fits(DOCKER_FILTER_EVENTS, d->filters, &out))
        events_send(d, &out, attributes_of(&b, process, strcmp(action, "die") == 0), ms);
    return true;
}

/* --- the call -------------------------------------------------------------------------------- */

static void events_release(struct call *c)
{
    struct docker_events *d = (struct docker_events *)c;

    events_unsubscribe(&d->subscriber);
    timer_close(d->timer);
    json_decref(d->filters);
    ((struct docker *)c->base)->events--;
}

static void events_pump(struct docker_events *d)
{
    struct events *log = engine_events(d->call.base->engine);
    struct event e;

    while (call_is_ready(&d->call)) {
        if (d->next < events_first(log)) {
            call_stream_abort(&d->call);
            return;
        }
        if (!events_get(log, d->next, &e))
            break;
        d->next = e.id + 1;
        if (!events_take(d, &e)) {
            call_stream_end(&d->call);
            return;
        }
    }
    if (d->until_ms >= 0 && d->next >= events_next(log) && clock_wall_ms() >= d->until_ms)
        call_stream_end(&d->call);
}

static void events_room(struct call *c)
{
    events_pump((struct docker_events *)c);
}

static void events_on_append(void *arg)
{
    events_pump(arg);
}

/* The clock of the wall may have been set back meanwhile. */
static void events_on_timer(struct timer *t, void *arg)
{
    struct docker_events *d = arg;
    int64_t left = d->until_ms - clock_wall_ms();

    if (left > 0)
        timer_start(t, (uint64_t)left);
    else
        events_pump(d);
}

static const struct call_kind events_kind = {.release = events_release, .room = events_room};

/* Takes ownership of the filters. */
static void events_begin(struct http_request *rq, json_t *filters, int64_t since_ms,
                         int64_t until_ms)
{
    struct docker_events *d = call_begin(rq, &events_kind, sizeof *d);
    struct events *log = engine_events(d->call.base->engine);
    int64_t left = until_ms - clock_wall_ms();

    docker_of(rq)->events++;
    d->filters = filters;
    d->since_ms = since_ms;
    d->until_ms = until_ms;
    d->next = since_ms >= 0 || (until_ms >= 0 && left <= 0) ? events_first(log) : events_next(log);
    d->subscriber.fn = events_on_append;
    d->subscriber.arg = d;
    events_subscribe(log, &d->subscriber);
    docker_headers(rq);
    call_stream(&d->call, 200, "application/json");
    if (until_ms >= 0 && left > 0) {
        d->timer = timer_new(d->call.base->loop, events_on_timer, d);
        timer_start(d->timer, (uint64_t)left);
    }
    events_pump(d);
}

/* False: replied. */
static bool query_time(struct http_request *rq, const char *name, int64_t *ms)
{
    const char *text = http_query(rq, name);

    if (text == NULL || text[0] == '\0' || docker_time(text, ms) || rfc3339_parse(text, ms))
        return true;
    docker_fail(rq, 400, "invalid %s: %.100s", name, text);
    return false;
}

void docker_get_events(struct http_request *rq)
{
    int64_t since_ms = -1, until_ms = -1;
    struct hf_error err = {0};
    json_t *filters;

    if (!query_time(rq, "since", &since_ms) || !query_time(rq, "until", &until_ms))
        return;
    if (since_ms >= 0 && until_ms >= 0 && until_ms < since_ms) {
        docker_fail(rq, 400, "`since` time cannot be after `until` time");
        return;
    }
    if (docker_of(rq)->events >= caller_share(rq, LIMIT_DOCKER_EVENTS)) {
        docker_fail(rq, 429, "%zu requests for events are already in progress; try again later",
                    docker_of(rq)->events);
        return;
    }
    filters = docker_filter_parse(DOCKER_FILTER_EVENTS, http_query(rq, "filters"), &err);
    if (filters != NULL)
        events_begin(rq, filters, since_ms, until_ms);
    else
        docker_error(rq, &err);
}
