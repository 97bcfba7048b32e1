/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_update.c - Write, SetSize, SetTitle, UpdateAnnotations, Shutdown. Layer: dialects.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/gitpod/gitpod.h"

#define NOT_FOUND "terminal not found"

/* --- Write -------------------------------------------------------------------------------- */

static void write_done(struct http_request *rq, size_t taken, const struct hf_error *err)
{
    struct buf wire = {0}, json = {0};

    if (err != NULL) {
        gitpod_error(rq, err);
        return;
    }
    if (taken > 0)
        pb_put_number(&wire, 1, taken);
    buf_printf(&json, "{\"bytesWritten\":%zu}", taken);
    gitpod_reply(rq, &wire, &json);
    buf_fini(&wire);
    buf_fini(&json);
}

void gitpod_write(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_write_request);
    struct process *p = message == NULL ? NULL : gitpod_find(rq, message, true, NOT_FOUND);
    const json_t *data = json_object_get(message, "stdin");
    struct buf bytes = {0};

    if (p == NULL)
        return;
    if (data != NULL)
        buf_put(&bytes, json_string_value(data), json_string_length(data));
    input_call_take(&gitpod_of(rq)->typing, rq, p, &bytes, false, write_done);
    buf_fini(&bytes);
}

/* --- SetSize -------------------------------------------------------------------------------- */

/* The client that opened the terminal has a token; others must set force. */
static bool may_size(struct process *p, const json_t *message)
{
    const char *token = json_string_value(json_object_get(message, "token")), *ours;
    struct process_view v;
    bool fits;
    json_t *meta;

    if (json_is_true(json_object_get(message, "force")))
        return true;
    if (token == NULL)
        return false;
    process_view(p, &v);
    meta = gitpod_meta(&v);
    ours = json_string_value(json_object_get(json_object_get(meta, "gitpod"), "token"));
    fits = ours != NULL && strcmp(ours, token) == 0;
    json_decref(meta);
    return fits;
}

/* A zero leaves that dimension unchanged: programs divide by it. */
static void resize(struct http_request *rq, struct process *p, const json_t *size)
{
    int64_t rows = json_integer_value(json_object_get(size, "rows")),
            cols = json_integer_value(json_object_get(size, "cols"));
    struct hf_error err = {0};
    struct process_view v;

    process_view(p, &v);
    if (process_resize(p, rows == 0 ? v.rows : rows, cols == 0 ? v.cols : cols, "api", &err) < 0)
        gitpod_error(rq, &err);
    else
        gitpod_reply_empty(rq);
}

void gitpod_set_size(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_size_request);
    struct process *p = message == NULL ? NULL : gitpod_find(rq, message, true, NOT_FOUND);
    const json_t *size = json_object_get(message, "size");

    if (p == NULL)
        return;
    if (!may_size(p, message))
        gitpod_fail(rq, GRPC_FAILED_PRECONDITION, "wrong token or force not set");
    else if (size == NULL)
        gitpod_fail(rq, GRPC_INVALID_ARGUMENT, "size is missing");
    else
        resize(rq, p, size);
}

/* --- title and annotations -------------------------------------------------------------------- */

static void reply_set(struct http_request *rq, struct process *p, const json_t *meta)
{
    struct hf_error err = {0};

    if (gitpod_meta_set(p, meta, &err) < 0)
        gitpod_error(rq, &err);
    else
        gitpod_reply_empty(rq);
}

void gitpod_set_title(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_title_request);
    struct process *p = message == NULL ? NULL : gitpod_find(rq, message, true, NOT_FOUND);
    json_t *title = json_object_get(message, "title"), *meta;
    struct process_view v;

    if (p == NULL)
        return;
    if (json_string_length(title) >= sizeof((struct gitpod_title *)NULL)->text) {
        gitpod_fail(rq, GRPC_INVALID_ARGUMENT, "the title is too long");
        return;
    }
    process_view(p, &v);
    meta = gitpod_meta(&v);
    if (json_string_length(title) > 0)
        json_object_set(gitpod_meta_own(meta), "title", title);
    else
        json_object_del(gitpod_meta_own(meta), "title"); /* back to the program's */
    reply_set(rq, p, meta);
    json_decref(meta);
}

static json_t *annotations_of(json_t *own)
{
    json_t *all = json_object_get(own, "annotations");

    if (json_is_object(all))
        return all;
    all = json_object();
    json_object_set_new(own, "annotations", all);
    return all;
}

void gitpod_annotate(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_annotate_request);
    struct process *p = message == NULL ? NULL : gitpod_find(rq, message, true, NOT_FOUND);
    const json_t *deleted = json_object_get(message, "deleted");
    json_t *changed = json_object_get(message, "changed"), *all, *meta;
    struct process_view v;

    if (p == NULL)
        return;
    process_view(p, &v);
    meta = gitpod_meta(&v);
    all = annotations_of(gitpod_meta_own(meta));
    if (changed != NULL)
        json_object_update(all, changed);
    for (size_t i = 0; i < json_array_size(deleted); i++)
        json_object_del(all, json_string_value(json_array_get(deleted, i)));
    reply_set(rq, p, meta);
    json_decref(meta);
}

/* --- Shutdown --------------------------------------------------------------------------------- */

struct gitpod_update_shutdown {
    struct pending pending;
    struct http_request *rq; /* NULL: the client has disconnected; the termination continues */
    struct process *process; /* referenced */
};

static void ending_free(struct pending *pending)
{
    struct gitpod_update_shutdown *e = list_entry(pending, struct gitpod_update_shutdown, pending);

    process_end_cancel(e->process, e);
    process_unref(e->process);
    pending_fini(pending);
    free(e);
}

static void ending_drain(struct pending *pending)
{
    struct gitpod_update_shutdown *e = list_entry(pending, struct gitpod_update_shutdown, pending);

    if (e->rq != NULL)
        gitpod_fail(e->rq, GRPC_UNAVAILABLE,
                    "the daemon is shutting down; the terminal is still being terminated");
    ending_free(pending);
}

static const struct pending_kind ending_kind = {.drain = ending_drain, .free = ending_free};

static void ending_on_disconnect(void *user)
{
    ending_free(&((struct gitpod_update_shutdown *)user)->pending);
}

static void ending_done(void *arg, struct process *p, const struct survivors *s)
{
    struct gitpod_update_shutdown *e = arg;

    (void)p, (void)s;
    gitpod_reply_empty(e->rq);
    ending_free(&e->pending);
}

static void ignore_signal(void *arg, int rc, const struct hf_error *err)
{
    (void)arg, (void)rc, (void)err;
}

/* The exit that listeners get, whatever the signals did. */
static void note_success(struct process *p)
{
    struct hf_error err = {0};
    struct process_view v;
    json_t *meta;

    process_view(p, &v);
    meta = gitpod_meta(&v);
    json_object_set_new(gitpod_meta_own(meta), "force_success", json_true());
    gitpod_meta_set(p, meta, &err);
    json_decref(meta);
}

/* An interactive shell ignores TERM, but exits when its terminal hangs up. */
static void end_terminal(struct http_request *rq, struct process *p)
{
    struct gitpod *g = gitpod_of(rq);
    struct gitpod_update_shutdown *e = hf_xalloc(sizeof *e);
    struct hf_error err = {0};

    e->rq = rq;
    e->process = process_ref(p);
    pending_init(&e->pending, &g->pending, &ending_kind);
    http_set_user(rq, e, ending_on_disconnect);
    process_signal(p, SIGHUP, TARGET_TREE, ignore_signal, NULL, &err);
    process_terminate(p, GITPOD_GRACE_MS, "api", ending_done, e);
}

/* The gateway has this as a GET, which any page can make a browser send. */
static bool is_cross_site(const struct http_request *rq)
{
    const char *site = http_header(rq, "Sec-Fetch-Site");

    return site != NULL && strcmp(site, "cross-site") == 0;
}

void gitpod_shutdown(struct http_request *rq)
{
    json_auto_t *message = gitpod_request(rq, &gitpod_shutdown_request);
    struct process *p = message == NULL ? NULL : gitpod_find(rq, message, true, "not found");

    if (p == NULL)
        return;
    if (is_cross_site(rq)) {
        gitpod_fail(rq, GRPC_PERMISSION_DENIED, "cross-site requests are refused");
        return;
    }
    if (json_is_true(json_object_get(message, "forceSuccess")))
        note_success(p);
    end_terminal(rq, p);
}
