/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gitpod_update.c - Write, SetSize, SetTitle, UpdateAnnotations, Shutdown. Layer: dialects.
 */
#include <signal.h>
#include <string.h>

#include "dialects/common/call.h"
#include "dialects/common/input_call.h"
#include "dialects/common/own_meta.h"
#include "dialects/common/request_checks.h"
#include "dialects/gitpod/gitpod.h"
#include "dialects/gitpod/gitpod_limits.h"

/* --- Write ---------------------------------------------------------------------------------- */

static void write_reply(struct http_request *rq, size_t taken)
{
    json_auto_t *reply = json_object();

    if (taken > 0)
        json_object_set_new(reply, "bytesWritten", json_integer((json_int_t)taken));
    grpc_reply(rq, &gitpod_write_response, reply);
}

void gitpod_write(struct http_request *rq)
{
    json_auto_t *message = NULL;
    struct process *p = gitpod_find(rq, &gitpod_write_request, true, GITPOD_NOT_FOUND, &message);
    const json_t *data = json_object_get(message, "stdin");
    struct buf bytes = {0};

    if (p == NULL)
        return;
    if (data != NULL)
        buf_put(&bytes, json_string_value(data), json_string_length(data));
    input_call_reply(rq, p, &bytes, write_reply);
}

/* --- SetSize -------------------------------------------------------------------------------- */

/* The client that opened the terminal has a token; others must set force. */
static bool may_size(struct process *p, const json_t *message)
{
    json_auto_t *meta = gitpod_meta(p);
    const char *token = json_string_value(json_object_get(message, "token")),
               *ours = json_string_value(json_object_get(meta, "token"));

    return json_is_true(json_object_get(message, "force")) ||
           (token != NULL && ours != NULL && strcmp(ours, token) == 0);
}

static void reply_empty(struct http_request *rq, int rc, const struct hf_error *err)
{
    if (rc < 0)
        http_reply_error(rq, err);
    else
        grpc_reply(rq, &pb_empty, NULL);
}

static void resize(struct http_request *rq, struct process *p, const json_t *size)
{
    int64_t rows = json_integer_value(json_object_get(size, "rows")),
            cols = json_integer_value(json_object_get(size, "cols"));
    struct hf_error err = {0};

    reply_empty(rq, process_resize_given(p, &rows, &cols, &err), &err);
}

void gitpod_set_size(struct http_request *rq)
{
    json_auto_t *message = NULL;
    struct process *p = gitpod_find(rq, &gitpod_size_request, true, GITPOD_NOT_FOUND, &message);
    const json_t *size = json_object_get(message, "size");

    if (p == NULL)
        return;
    if (!may_size(p, message))
        grpc_fail(rq, GRPC_FAILED_PRECONDITION, "wrong token or force not set");
    else if (size == NULL)
        grpc_fail(rq, GRPC_INVALID_ARGUMENT, "size is missing");
    else
        resize(rq, p, size);
}

/* --- title and annotations ------------------------------------------------------------------ */

void gitpod_set_title(struct http_request *rq)
{
    json_auto_t *message = NULL, *meta = NULL;
    struct process *p = gitpod_find(rq, &gitpod_title_request, true, GITPOD_NOT_FOUND, &message);
    json_t *title = json_object_get(message, "title");
    struct hf_error err = {0};

    if (p == NULL)
        return;
    if (json_string_length(title) >= sizeof((struct gitpod_title *)NULL)->text) {
        grpc_fail(rq, GRPC_INVALID_ARGUMENT, "the title is too long");
        return;
    }
    meta = gitpod_meta(p);
    if (json_string_length(title) > 0)
        json_object_set(meta, "title", title);
    else
        json_object_del(meta, "title"); /* back to the program's */
    reply_empty(rq, own_meta_set(p, "gitpod", meta, &err), &err);
}

static json_t *annotations_of(json_t *meta)
{
    json_t *all = json_object_get(meta, "annotations");

    if (json_is_object(all))
        return all;
    all = json_object();
    json_object_set_new(meta, "annotations", all);
    return all;
}

void gitpod_annotate(struct http_request *rq)
{
    json_auto_t *message = NULL, *meta = NULL;
    struct process *p = gitpod_find(rq, &gitpod_annotate_request, true, GITPOD_NOT_FOUND, &message);
    const json_t *deleted = json_object_get(message, "deleted");
    json_t *changed = json_object_get(message, "changed"), *all;
    struct hf_error err = {0};

    if (p == NULL)
        return;
    meta = gitpod_meta(p);
    all = annotations_of(meta);
    if (changed != NULL)
        json_object_update(all, changed);
    for (size_t i = 0; i < json_array_size(deleted); i++)
        json_object_del(all, json_string_value(json_array_get(deleted, i)));
    reply_empty(rq, own_meta_set(p, "gitpod", meta, &err), &err);
}

/* --- Shutdown ------------------------------------------------------------------------------- */

/* The termination continues when the client disconnects. */
struct gitpod_shutdown {
    struct call call;
    struct process *process; /* referenced */
};

static void shutdown_release(struct call *c)
{
    struct gitpod_shutdown *s = list_entry(c, struct gitpod_shutdown, call);

    process_end_cancel(s->process, s);
    process_unref(s->process);
}

static void shutdown_drain(struct call *c)
{
    grpc_fail(call_end(c), GRPC_UNAVAILABLE,
              "the daemon is shutting down; the terminal is still being terminated");
}

static const struct call_kind shutdown_kind = {.release = shutdown_release,
                                               .drain = shutdown_drain};

static void shutdown_on_ended(void *arg, struct process *p, const struct survivors *survivors)
{
    struct gitpod_shutdown *s = arg;

    (void)p, (void)survivors;
    grpc_reply(call_end(&s->call), &pb_empty, NULL);
}

static void ignore_signal(void *arg, int rc, const struct hf_error *err)
{
    (void)arg, (void)rc, (void)err;
}

/* An interactive shell ignores TERM, but exits when its terminal hangs up. */
static void end_terminal(struct http_request *rq, struct process *p)
{
    struct gitpod_shutdown *s = call_begin(rq, &shutdown_kind, sizeof *s);
    struct hf_error err = {0};

    s->process = process_ref(p);
    process_signal(p, SIGHUP, TARGET_TREE, ignore_signal, NULL, &err);
    process_terminate(p, GITPOD_GRACE_MS, "api", shutdown_on_ended, s);
}

/* The exit that listeners get, whatever the signals did. */
static void note_success(struct process *p)
{
    json_auto_t *meta = gitpod_meta(p);
    struct hf_error err = {0};

    json_object_set_new(meta, "force_success", json_true());
    own_meta_set(p, "gitpod", meta, &err);
}

/* The gateway has this as a GET, which any page can make a browser send. */
static bool is_cross_site(const struct http_request *rq)
{
    const char *site = http_header(rq, "Sec-Fetch-Site");

    return site != NULL && strcmp(site, "cross-site") == 0;
}

void gitpod_shutdown(struct http_request *rq)
{
    json_auto_t *message = NULL;
    struct process *p = gitpod_find(rq, &gitpod_shutdown_request, true, "not found", &message);

    if (p == NULL)
        return;
    if (is_cross_site(rq)) {
        grpc_fail(rq, GRPC_PERMISSION_DENIED, "cross-site requests are refused");
        return;
    }
    if (json_is_true(json_object_get(message, "forceSuccess")))
        note_success(p);
    end_terminal(rq, p);
}
