/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_watch.c - …/fs/watch: what changes below some paths, by WebSocket
 *
 * The first message subscribes; "subscribed" is sent when all watches are set. A rename is reported
 * as the original's library does: "rename" of the old path, "create" of the new one. Whatever is
 * missed is an error. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dialects/common/call.h"
#include "dialects/common/file_entry.h"
#include "dialects/common/file_watch.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_fs_decode.h"
#include "dialects/fly/fly_limits.h"
#include "transport/ws.h"

#define CLOSE_END 1000
#define CLOSE_FAILED 1011

struct fly_watch;

struct fly_watch_path {
    struct fly_watch *owner;
    struct file_watch *watch; /* NULL: it has ended */
    char path[PATH_MAX];
};

struct fly_watch {
    struct call call; /* without a request */
    struct ws *ws;
    size_t count, ready, ended;
    struct fly_watch_path *paths; /* NULL: not subscribed */
    bool closing;
};

static void stop_all(struct fly_watch *w)
{
    for (size_t i = 0; w->paths != NULL && i < w->count; i++) {
        file_watch_stop(w->paths[i].watch);
        w->paths[i].watch = NULL;
    }
}

static void watching_release(struct call *c)
{
    struct fly_watch *w = (struct fly_watch *)c;

    stop_all(w);
    free(w->paths);
}

/* A draining server closes its WebSockets itself, with 1001. */
static const struct call_kind watching_kind = {.release = watching_release, .stays = true};

/* --- messages -------------------------------------------------------------------------------- */

static struct json_out message_open(struct fly_watch *w, const char *type)
{
    struct json_out o = dialect_reply_open(w->call.base);

    json_kstr(&o, "type", type);
    return o;
}

static void message_send(struct fly_watch *w, struct json_out *o)
{
    json_ktime(o, "timestamp", clock_wall_ms());
    json_close(o, '}');
    ws_send_text(w->ws, buf_data(o->buf), o->buf->len);
}

static void send_error(struct fly_watch *w, const char *path, const char *text)
{
    struct json_out o = message_open(w, "error");

    if (path != NULL)
        json_kstr(&o, "path", path);
    json_kstr(&o, "message", text);
    message_send(w, &o);
}

static void fail(struct fly_watch *w, const char *path, const struct hf_error *err)
{
    if (w->closing)
        return;
    w->closing = true;
    stop_all(w);
    send_error(w, path, err->detail);
    ws_close(w->ws, CLOSE_FAILED, hf_code_name(err->code));
}

static void send_subscribed(struct fly_watch *w)
{
    struct json_out o = message_open(w, "subscribed");

    json_kopen(&o, "paths", '[');
    for (size_t i = 0; i < w->count; i++)
        json_str(&o, w->paths[i].path);
    json_close(&o, ']');
    message_send(w, &o);
}

/* `r` NULL: nothing but the path is known of the file. */
static void send_event(const struct fly_watch_path *p, const char *event, const char *below,
                       const struct file_report *r)
{
    struct json_out o = message_open(p->owner, "event");
    const json_t *size = r != NULL ? json_object_get(r->entry, "size") : NULL;
    struct buf path = {0};

    buf_puts(&path, p->path);
    if (strcmp(below, ".") != 0)
        buf_printf(&path, "%s%s", p->path[strlen(p->path) - 1] == '/' ? "" : "/", below);
    json_kstr(&o, "path", buf_cstr(&path));
    json_kstr(&o, "event", event);
    if (r != NULL)
        json_kbool(&o, "isDir", r->dir);
    if (json_is_integer(size))
        json_kint(&o, "size", json_integer_value(size));
    message_send(p->owner, &o);
    buf_fini(&path);
}

/* --- reports --------------------------------------------------------------------------------- */

static void on_report(void *arg, const struct file_report *r)
{
    struct fly_watch_path *p = arg;
    struct fly_watch *w = p->owner;

    switch (r->change) {
    case FILE_READY:
        if (++w->ready == w->count)
            send_subscribed(w);
        break;
    case FILE_RENAME:
        send_event(p, "rename", r->from, NULL);
        send_event(p, "create", r->path, r);
        break;
    case FILE_CREATE:
    case FILE_WRITE:
    case FILE_REMOVE:
    case FILE_CHMOD: send_event(p, r->type, r->path, r); break;
    case FILE_UNWATCHED:
        send_error(w, r->path, "changes in this directory are not reported");
        break;
    case FILE_OVERFLOW:
        send_error(w, p->path, "changes were lost; list the directory again");
        break;
    case FILE_END: send_event(p, "remove", ".", NULL); break;
    }
}

static void on_ended(void *arg, const struct hf_error *err)
{
    struct fly_watch_path *p = arg;
    struct fly_watch *w = p->owner;

    p->watch = NULL;
    if (err != NULL) {
        fail(w, p->path, err);
    } else if (++w->ended == w->count && !w->closing) {
        w->closing = true;
        ws_close(w->ws, CLOSE_END, "what was watched is gone");
    }
}

static bool has_room(void *arg)
{
    return ws_ready(((const struct fly_watch_path *)arg)->owner->ws);
}

/* --- the subscription ------------------------------------------------------------------------ */

static void subscribe(struct fly_watch *w, const struct fly_fs_request *f)
{
    static const struct file_watch_ops ops = {
        .report = on_report, .ended = on_ended, .room = has_room};
    size_t count = json_array_size(f->paths);
    struct hf_error err = {0};

    w->paths = hf_xalloc(count * sizeof *w->paths);
    w->count = count;
    for (size_t i = 0; i < count; i++) {
        struct fly_watch_path *p = &w->paths[i];
        const struct file_watch_open o = {
            .path = p->path, .recursive = f->recursive, .entries = true, .client = ws_peer(w->ws)};

        p->owner = w;
        if (fly_fs_resolve(f, "paths", json_string_value(json_array_get(f->paths, i)), p->path,
                           &err) < 0 ||
            file_watch_start(w->call.base->engine, &o, &ops, p, &p->watch, &err) < 0) {
            fail(w, p->path, &err);
            return;
        }
    }
}

static void on_text(void *arg, const char *text, size_t len)
{
    struct fly_watch *w = arg;
    struct hf_error err = {0};
    json_auto_t *tree = json_parse(text, len, &err);
    struct fly_fs_request f = {0};

    if (w->closing)
        return;
    if (w->paths != NULL)
        send_error(w, NULL, "this connection has subscribed already; open another one");
    else if (tree == NULL || fly_fs_subscription(&f, tree, &err) < 0 ||
             dialect_check_open(w->call.base, &err) < 0)
        fail(w, NULL, &err);
    else
        subscribe(w, &f);
}

static size_t on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct fly_watch *w = arg;

    (void)bytes;
    if (last && !w->closing)
        send_error(w, NULL, "messages must be JSON text");
    return len;
}

static void on_drain(void *arg)
{
    struct fly_watch *w = arg;

    for (size_t i = 0; i < w->count; i++)
        file_watch_pump(w->paths[i].watch);
}

static void on_closed(void *arg, int code)
{
    (void)code;
    call_end(&((struct fly_watch *)arg)->call);
}

void fly_fs_watch(struct http_request *rq)
{
    static const struct ws_ops ops = {
        .on_text = on_text, .on_binary = on_binary, .on_drain = on_drain, .on_closed = on_closed};
    struct fly_watch *w = hf_xalloc(sizeof *w);

    call_adopt_unattended(&w->call, dialect_base_of(rq), &watching_kind);
    w->ws = ws_accept(rq, NULL, &ops, w);
    if (w->ws == NULL)
        call_end(&w->call);
}
