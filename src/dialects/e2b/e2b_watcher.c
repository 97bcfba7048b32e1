/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_watcher.c - CreateWatcher, GetWatcherEvents, RemoveWatcher: watches that are polled
 *
 * As in the original, a watcher whose directory was removed stays and has no further events, and
 * one that failed replies with its error each time. Lost changes are an error once, in their place.
 * Layer: dialects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/file_watch_poll.h"
#include "dialects/e2b/e2b_watch.h"

/* --- CreateWatcher -------------------------------------------------------------------------- */

struct e2b_watcher_call {
    struct call call;
    struct watch_poll *poll; /* NULL: it is ready, or has failed */
    enum rpc_codec codec;
};

/* A client that does not get the id cannot remove it. */
static void create_release(struct call *c)
{
    struct e2b_watcher_call *w = (struct e2b_watcher_call *)c;

    if (w->poll != NULL)
        watch_poll_remove(w->poll);
}

static const struct call_kind create_kind = {.release = create_release};

static void create_ready(void *arg, struct watch_poll *p, const struct hf_error *err)
{
    struct e2b_watcher_call *w = arg;
    enum rpc_codec codec = w->codec;
    struct dialect_base *base = w->call.base;
    struct http_request *rq;
    struct json_out o;

    w->poll = NULL;
    rq = call_end(&w->call);
    if (err != NULL) {
        e2b_watch_refuse(rq, err);
        return;
    }
    o = dialect_reply_open(base);
    json_kstr(&o, "watcherId", watch_poll_id(p));
    json_close(&o, '}');
    e2b_rpc_reply(rq, &e2b_watcher, codec, o.buf);
}

static void create_start(struct http_request *rq, const struct e2b_watch_open *o,
                         enum rpc_codec codec)
{
    struct e2b_watcher_call *w = call_begin(rq, &create_kind, sizeof *w);
    struct e2b *e = (struct e2b *)w->call.base;
    struct hf_error err = {0};

    w->codec = codec;
    if (dialect_check_open(&e->base, &err) < 0 ||
        watch_poll_start(&e->watchers, e->base.engine, &o->open, create_ready, w, &w->poll, &err) <
            0)
        e2b_rpc_error(call_end(&w->call), &err);
}

void e2b_create_watcher(struct http_request *rq)
{
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_watch_request, false, &codec);
    struct e2b_watch_open *o;
    struct hf_error err = {0};

    if (message == NULL)
        return;
    o = hf_xalloc(sizeof *o);
    if (e2b_watch_decode(rq, message, o, &err) < 0)
        e2b_rpc_error(rq, &err);
    else
        create_start(rq, o, codec);
    free(o);
}

/* --- the others ----------------------------------------------------------------------------- */

/* NULL: replied. */
static struct watch_poll *find(struct http_request *rq, enum rpc_codec *codec)
{
    json_auto_t *message = e2b_rpc_request(rq, &e2b_watcher, false, codec);
    const char *id = json_string_value(json_object_get(message, "watcherId"));
    struct watch_poll *p;
    char text[160];

    if (message == NULL)
        return NULL;
    p = id != NULL ? watch_poll_find(&e2b_of(rq)->watchers, id) : NULL;
    if (p != NULL)
        return p;
    snprintf(text, sizeof text, "watcher with id %.100s not found", id != NULL ? id : "");
    e2b_rpc_fail(rq, "not_found", text);
    return NULL;
}

static void put_event(void *arg, const char *name, const char *type, json_t *entry)
{
    e2b_watch_write(arg, name, type, entry);
}

static void put_report(void *arg, const struct file_report *r)
{
    e2b_watch_events(r, put_event, arg);
}

void e2b_get_watcher_events(struct http_request *rq)
{
    enum rpc_codec codec;
    struct watch_poll *p = find(rq, &codec);
    struct hf_error err = {0};
    struct json_out o;
    int rc;

    if (p == NULL)
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    json_kopen(&o, "events", '[');
    rc = watch_poll_take(p, put_report, &o, &err);
    json_close(&o, ']');
    json_close(&o, '}');
    if (rc == -EOVERFLOW)
        e2b_rpc_fail(rq, "data_loss", "changes were lost; list the directory");
    else if (rc < 0)
        e2b_rpc_error(rq, &err);
    else
        e2b_rpc_reply(rq, &e2b_watcher_events, codec, o.buf);
}

void e2b_remove_watcher(struct http_request *rq)
{
    enum rpc_codec codec;
    struct watch_poll *p = find(rq, &codec);

    if (p == NULL)
        return;
    watch_poll_remove(p);
    e2b_rpc_reply_empty(rq, codec);
}
