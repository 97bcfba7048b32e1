/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_watch.c - WatchDir: the changes in a directory as a stream of messages
 *
 * One start when all watches are set, then events and keep-alives. The protocol has no message for
 * lost changes, so the stream ends with data_loss then. Layer: dialects.
 */
#include "dialects/e2b/e2b_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/e2b/e2b_stream.h"

/* --- requests ------------------------------------------------------------------------------- */

int e2b_watch_decode(const struct http_request *rq, const json_t *message,
                     struct e2b_watch_open *out, struct hf_error *err)
{
    const json_t *path = json_object_get(message, "path");
    int rc = e2b_user(rq, &out->file.user, &out->file.given, err);

    if (rc == 0)
        rc = e2b_file_path(&out->file.user, path != NULL ? json_string_value(path) : "",
                           json_string_length(path), out->file.path, err);
    out->open = (struct file_watch_open){
        .path = out->file.path,
        .user = file_user(&out->file),
        .recursive = json_is_true(json_object_get(message, "recursive")),
        .entries = json_is_true(json_object_get(message, "includeEntry")),
        .local = !json_is_true(json_object_get(message, "allowNetworkMounts")),
        .client = http_peer(rq),
    };
    return rc;
}

static bool has_errno(const struct hf_error *err, int errnum)
{
    return err->errno_name != NULL && strcmp(err->errno_name, hf_errno_name(errnum)) == 0;
}

void e2b_watch_refuse(struct http_request *rq, const struct hf_error *err)
{
    char text[sizeof err->detail + 64];

    if (has_errno(err, ENOENT)) {
        snprintf(text, sizeof text, "path %s not found: no such file or directory", err->path);
        e2b_rpc_fail(rq, "not_found", text);
    } else if (has_errno(err, ENOTDIR)) {
        snprintf(text, sizeof text, "path %s not a directory", err->path);
        e2b_rpc_fail(rq, "invalid_argument", text);
    } else if (has_errno(err, EREMOTE)) {
        snprintf(text, sizeof text, "cannot watch path on network filesystem: %s", err->path);
        e2b_rpc_fail(rq, "invalid_argument", text);
    } else if (has_errno(err, EACCES)) {
        e2b_rpc_fail(rq, "permission_denied", err->detail);
    } else {
        e2b_rpc_error(rq, err);
    }
}

/* --- events --------------------------------------------------------------------------------- */

void e2b_watch_events(const struct file_report *r, e2b_watch_put *put, void *arg)
{
    switch (r->change) {
    case FILE_CREATE: put(arg, r->path, "EVENT_TYPE_CREATE", r->entry); break;
    case FILE_WRITE: put(arg, r->path, "EVENT_TYPE_WRITE", r->entry); break;
    case FILE_REMOVE: put(arg, r->path, "EVENT_TYPE_REMOVE", NULL); break;
    case FILE_CHMOD: put(arg, r->path, "EVENT_TYPE_CHMOD", r->entry); break;
    case FILE_RENAME:
        put(arg, r->from, "EVENT_TYPE_RENAME", NULL);
        put(arg, r->path, "EVENT_TYPE_CREATE", r->entry);
        break;
    case FILE_END:
        put(arg, ".", strcmp(r->reason, "moved") == 0 ? "EVENT_TYPE_RENAME" : "EVENT_TYPE_REMOVE",
            NULL);
        break;
    default: break; /* the protocol has no event for it */
    }
}

void e2b_watch_write(struct json_out *o, const char *name, const char *type, json_t *entry)
{
    struct file_entry e;

    json_open(o, '{');
    json_kstr(o, "name", name);
    json_kstr(o, "type", type);
    if (entry != NULL && file_entry_of(&e, entry)) {
        json_key(o, "entry");
        e2b_write_entry(o, &e);
        file_entry_fini(&e);
    }
    json_close(o, '}');
}

/* --- the stream ----------------------------------------------------------------------------- */

struct e2b_watch {
    struct call call;
    struct file_watch *watch; /* NULL: it has ended */
    struct timer *keepalive, *deadline;
    struct e2b_stream_request request;
};

static void watch_release(struct call *c)
{
    struct e2b_watch *w = (struct e2b_watch *)c;

    file_watch_stop(w->watch);
    timer_close(w->keepalive);
    timer_close(w->deadline);
}

static void watch_write(struct e2b_watch *w, const struct buf *b)
{
    struct iovec iov = {buf_data(b), b->len};

    http_stream_write(w->call.out, &iov, 1);
    timer_start(w->keepalive, w->request.keepalive_ms);
}

/* Ends the stream, or refuses it if it has not started. code NULL: success. */
static void watch_finish(struct e2b_watch *w, const char *code, const char *message)
{
    hf_autobuf struct buf last = {0};

    if (!w->call.streams) {
        e2b_rpc_fail(call_end(&w->call), code, message);
        return;
    }
    if (w->request.grpc) {
        e2b_grpc_end(w->call.out, code, message);
    } else {
        e2b_rpc_end(&last, code, message);
        watch_write(w, &last);
    }
    call_stream_end(&w->call);
}

/* The message in its JSON form; it came from a table, except for an entry of the helper. */
static void watch_send(struct e2b_watch *w, const struct buf *json)
{
    hf_autobuf struct buf wire = {0}, all = {0};
    json_auto_t *text = NULL, *tree = NULL;
    const struct buf *body = json;
    char head[RPC_HEAD_BYTES];

    if (w->request.codec == RPC_PROTO) {
        text = json_parse(buf_data(json), json->len, NULL);
        tree = text != NULL ? e2b_pb_from_json(&e2b_watch_response, text, NULL) : NULL;
        if (tree == NULL)
            return;
        pb_to_wire(&e2b_watch_response, tree, &wire);
        body = &wire;
    }
    e2b_rpc_head(head, 0, body->len);
    buf_put(&all, head, sizeof head);
    buf_put(&all, buf_data(body), body->len);
    watch_write(w, &all);
}

static void watch_send_empty(struct e2b_watch *w, const char *name)
{
    struct json_out o = dialect_reply_open(w->call.base);

    json_kopen(&o, name, '{');
    json_close(&o, '}');
    json_close(&o, '}');
    watch_send(w, o.buf);
}

static void watch_put(void *arg, const char *name, const char *type, json_t *entry)
{
    struct e2b_watch *w = arg;
    struct json_out o = dialect_reply_open(w->call.base);

    json_key(&o, "filesystem");
    e2b_watch_write(&o, name, type, entry);
    json_close(&o, '}');
    watch_send(w, o.buf);
}

static void watch_begin(struct e2b_watch *w)
{
    const char *type = e2b_rpc_stream_type(w->call.rq, w->request.codec);

    http_add_header(w->call.rq, "Cache-Control", "no-cache");
    call_stream(&w->call, 200, type);
    watch_send_empty(w, "start");
}

static void watch_on_report(void *arg, const struct file_report *r)
{
    struct e2b_watch *w = arg;

    if (r->change == FILE_READY)
        watch_begin(w);
    else if (r->change == FILE_OVERFLOW)
        watch_finish(w, "data_loss", "changes were lost; list the directory and watch again");
    else
        e2b_watch_events(r, watch_put, w);
}

static void watch_on_end(void *arg, const struct hf_error *err)
{
    struct e2b_watch *w = arg;

    w->watch = NULL;
    if (err == NULL)
        watch_finish(w, NULL, NULL);
    else if (!w->call.streams)
        e2b_watch_refuse(call_end(&w->call), err);
    else if (((struct e2b *)w->call.base)->sandbox.killed)
        call_stream_abort(&w->call); /* with the machine; the SDK requests /health and reports it */
    else
        watch_finish(w, e2b_rpc_code(err), err->detail);
}

static bool watch_has_room(void *arg)
{
    const struct e2b_watch *w = arg;

    return !w->call.streams || call_is_ready(&w->call);
}

static void watch_drain(struct call *c)
{
    watch_finish((struct e2b_watch *)c, "unavailable",
                 "the daemon is shutting down; list the directory and watch again");
}

static void watch_room(struct call *c)
{
    file_watch_pump(((struct e2b_watch *)c)->watch);
}

static const struct file_watch_ops watch_ops = {
    .report = watch_on_report,
    .ended = watch_on_end,
    .room = watch_has_room,
};
static const struct call_kind watch_kind = {
    .release = watch_release,
    .drain = watch_drain,
    .room = watch_room,
};

static void on_keepalive(struct timer *t, void *arg)
{
    struct e2b_watch *w = arg;

    (void)t;
    if (http_stream_ready(w->call.out))
        watch_send_empty(w, "keepalive");
    else
        timer_start(w->keepalive, w->request.keepalive_ms);
}

static void on_deadline(struct timer *t, void *arg)
{
    (void)t;
    watch_finish(arg, "deadline_exceeded", "context deadline exceeded");
}

static void watch_start(struct http_request *rq, const struct e2b_watch_open *o,
                        const struct e2b_stream_request *request)
{
    struct e2b_watch *w = call_begin(rq, &watch_kind, sizeof *w);
    struct hf_error err = {0};

    w->request = *request;
    w->keepalive = timer_new(w->call.base->loop, on_keepalive, w);
    w->deadline = timer_new(w->call.base->loop, on_deadline, w);
    if (request->deadline_ms > 0)
        timer_start(w->deadline, (uint64_t)request->deadline_ms);
    if (dialect_check_open(w->call.base, &err) < 0 ||
        file_watch_start(w->call.base->engine, &o->open, &watch_ops, w, &w->watch, &err) < 0)
        e2b_rpc_error(call_end(&w->call), &err);
}

void e2b_watch_dir(struct http_request *rq)
{
    struct e2b_stream_request request = {0};
    json_auto_t *message = e2b_rpc_request(rq, &e2b_watch_request, true, &request.codec);
    struct e2b_watch_open *o;
    struct hf_error err = {0};

    if (message == NULL || !e2b_stream_decode(rq, &request))
        return;
    o = hf_xalloc(sizeof *o);
    if (e2b_watch_decode(rq, message, o, &err) < 0)
        e2b_rpc_error(rq, &err);
    else
        watch_start(rq, o, &request);
    free(o);
}
