/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_watch.c - POST /api/watch: what changes in a directory, as events
 *
 * The reply begins when all watches are set. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/cloudflare/cf_file.h"
#include "dialects/cloudflare/cf_glob.h"
#include "dialects/cloudflare/cloudflare_limits.h"
#include "dialects/common/file_watch.h"
#include "dialects/common/uuid.h"

struct cf_watch {
    struct call call;
    struct file_watch *watch; /* NULL: it has ended */
    json_t *body;             /* referenced: the lists belong to it */
    json_t *include, *exclude, *events;
    const char *given; /* the path, as the client named it */
    char path[PATH_MAX];
    bool recursive;
};

static void watching_release(struct call *c)
{
    struct cf_watch *w = (struct cf_watch *)c;

    file_watch_stop(w->watch);
    json_decref(w->body);
}

static void watching_room(struct call *c)
{
    file_watch_pump(((struct cf_watch *)c)->watch);
}

static const struct call_kind watching_kind = {
    .release = watching_release, .drain = cf_drain, .room = watching_room};

/* --- which changes --------------------------------------------------------------------------- */

static bool any_matches(const json_t *patterns, const char *path)
{
    for (size_t i = 0; i < json_array_size(patterns); i++)
        if (cf_glob_matches(json_string_value(json_array_get(patterns, i)), path))
            return true;
    return false;
}

static bool is_wanted(const struct cf_watch *w, const char *path)
{
    static const char *const hidden[] = {".git", "node_modules", ".DS_Store"};

    if (json_array_size(w->include) > 0)
        return any_matches(w->include, path);
    if (json_array_size(w->exclude) > 0)
        return !any_matches(w->exclude, path);
    for (size_t i = 0; i < CF_COUNT(hidden); i++)
        if (cf_glob_matches(hidden[i], path))
            return false;
    return true;
}

/* Changes of permissions are reported on request only. */
static bool is_requested(const struct cf_watch *w, const char *event)
{
    for (size_t i = 0; i < json_array_size(w->events); i++)
        if (strcmp(json_string_value(json_array_get(w->events, i)), event) == 0)
            return true;
    return json_array_size(w->events) == 0 && strcmp(event, "attrib") != 0;
}

/* --- events ---------------------------------------------------------------------------------- */

static void send_change(struct cf_watch *w, const char *event, const char *below, bool dir)
{
    bool self = strcmp(below, ".") == 0;
    struct buf path = {0};
    struct json_out o;

    if (!is_requested(w, event) || !is_wanted(w, self ? "" : below))
        return;
    buf_printf(&path, "%s%s%s", w->path, self || w->path[strlen(w->path) - 1] == '/' ? "" : "/",
               self ? "" : below);
    o = cf_event(&w->call, "event");
    json_kstr(&o, "eventType", event);
    json_kstr(&o, "path", buf_cstr(&path));
    json_kbool(&o, "isDirectory", dir);
    cf_event_send(&w->call, &o);
    buf_fini(&path);
}

static void send_text(struct cf_watch *w, const char *type, const char *key, const char *text)
{
    struct json_out o = cf_event(&w->call, type);

    json_kstr(&o, key, text);
    cf_event_send(&w->call, &o);
}

static void send_ready(struct cf_watch *w)
{
    char id[UUID_BYTES];
    struct json_out o;

    uuid_make(id);
    cf_stream_begin(&w->call);
    o = cf_event(&w->call, "watching");
    json_kstr(&o, "path", w->path);
    json_kstr(&o, "watchId", id);
    cf_event_send(&w->call, &o);
}

static void on_report(void *arg, const struct file_report *r)
{
    struct cf_watch *w = arg;

    switch (r->change) {
    case FILE_READY: send_ready(w); break;
    case FILE_CREATE: send_change(w, "create", r->path, r->dir); break;
    case FILE_WRITE: send_change(w, "modify", r->path, r->dir); break;
    case FILE_REMOVE: send_change(w, "delete", r->path, r->dir); break;
    case FILE_CHMOD: send_change(w, "attrib", r->path, r->dir); break;
    case FILE_RENAME:
        send_change(w, "move_from", r->from, r->dir);
        send_change(w, "move_to", r->path, r->dir);
        break;
    case FILE_UNWATCHED:
        send_text(w, "error", "error", "changes in a directory are not reported");
        break;
    case FILE_OVERFLOW:
        send_text(w, "error", "error", "changes were lost; list the directory again");
        break;
    case FILE_END: send_text(w, "stopped", "reason", r->reason); break;
    }
}

static void begin_failed(struct cf_watch *w, const struct hf_error *err)
{
    const char *name = err->errno_name != NULL ? err->errno_name : "";

    if (err->code == HF_E_not_found)
        cf_fail_about(&w->call, 404, "FILE_NOT_FOUND", err->detail, "path", w->given);
    else if (strcmp(name, "ENOTDIR") == 0)
        cf_fail_about(&w->call, 400, "NOT_DIRECTORY", err->detail, "path", w->given);
    else if (strcmp(name, "EACCES") == 0)
        cf_fail_about(&w->call, 403, "PERMISSION_DENIED", err->detail, "path", w->given);
    else
        cf_fail_about(&w->call, 500, "WATCH_START_ERROR", err->detail, "path", w->given);
}

static void on_ended(void *arg, const struct hf_error *err)
{
    struct cf_watch *w = arg;

    w->watch = NULL;
    if (!w->call.streams) {
        begin_failed(w, err);
        return;
    }
    if (err != NULL)
        send_text(w, "error", "error", err->detail);
    call_stream_end(&w->call);
}

static bool has_room(void *arg)
{
    const struct cf_watch *w = arg;

    return !w->call.streams || call_is_ready(&w->call);
}

/* --- the request ----------------------------------------------------------------------------- */

#define FIELD(n, k, m, ...) CF_FIELD(struct cf_watch, n, k, m, __VA_ARGS__)

static const struct json_field fields[] = {
    FIELD("path", STR, given),        FIELD("recursive", BOOL, recursive),
    FIELD("include", ARRAY, include), FIELD("exclude", ARRAY, exclude),
    FIELD("events", ARRAY, events),
};

static bool all_are(const json_t *list, bool (*valid)(const char *text))
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_text(json_array_get(list, i), "pattern", NULL);

        if (text == NULL || !valid(text))
            return false;
    }
    return json_array_size(list) <= LIMIT_CF_GLOBS;
}

static bool is_event(const char *text)
{
    static const char *const events[] = {"create",    "modify",  "delete",
                                         "move_from", "move_to", "attrib"};

    for (size_t i = 0; i < CF_COUNT(events); i++)
        if (strcmp(text, events[i]) == 0)
            return true;
    return false;
}

/* What is wrong; NULL: nothing. */
static const char *check(const struct cf_watch *w)
{
    if (w->given == NULL || w->given[0] == '\0')
        return "a path is required";
    if (json_array_size(w->include) > 0 && json_array_size(w->exclude) > 0)
        return "include and exclude cannot be used together";
    if (!all_are(w->include, cf_glob_is_valid) || !all_are(w->exclude, cf_glob_is_valid))
        return "patterns are short texts with *, ** and ?, and few";
    if (!all_are(w->events, is_event))
        return "events must be create, modify, delete, move_from, move_to or attrib";
    return NULL;
}

void cf_watch_begin(struct cf_request *q)
{
    static const struct file_watch_ops ops = {
        .report = on_report, .ended = on_ended, .room = has_room};
    struct cf_watch *w = cf_begin(q, &watching_kind, sizeof *w);
    struct file_watch_open o = {
        .path = w->path,
        .client = q->rq != NULL ? http_peer(q->rq) : "cloudflare multiplex",
    };
    struct hf_error err = {0};
    const char *wrong;

    w->body = json_incref(q->body);
    w->recursive = true;
    if (!cf_decode(q, fields, CF_COUNT(fields), w))
        return;
    wrong = check(w);
    if (wrong == NULL &&
        snprintf(w->path, sizeof w->path, "%s%s%s", w->given[0] == '/' ? "" : CF_WORKSPACE,
                 w->given[0] == '/' ? "" : "/", w->given) >= (int)sizeof w->path)
        wrong = "the path is too long";
    o.recursive = w->recursive;
    if (wrong != NULL)
        cf_fail(&w->call, 400, "VALIDATION_FAILED", wrong);
    else if (file_watch_start(w->call.base->engine, &o, &ops, w, &w->watch, &err) < 0)
        cf_error(&w->call, &err);
}
