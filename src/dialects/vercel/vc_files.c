/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_files.c - fs/mkdir and fs/read
 *
 * A short-lived process does the work (file_op.h), as the user of plain commands. Layer: dialects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/collect.h"
#include "dialects/common/file_op.h"
#include "dialects/vercel/vercel.h"
#include "engine/stream/viewer.h"

#define REASON_BYTES 4096 /* of its error message */

/* --- errors ------------------------------------------------------------------------------ */

static const struct {
    int errnum, status;
    const char *code;
} faults[] = {
    {ENOENT, 404, "not_found"}, {EEXIST, 409, "conflict"},         {EACCES, 403, "forbidden"},
    {EPERM, 403, "forbidden"},  {EROFS, 403, "forbidden"},         {ENOSPC, 413, "no_space"},
    {EDQUOT, 413, "no_space"},  {0, 400, "file_operation_failed"},
};

/* "ERRNO sentence"; a retry would not help with any of them, so none is a 5xx. */
void vc_file_error(struct http_request *rq, const char *text, size_t len)
{
    const char *blank = len > 0 ? memchr(text, ' ', len) : NULL;
    int errnum = file_op_errno(text, len);
    size_t i = 0, rest = blank != NULL ? len - (size_t)(blank - text) - 1 : 0;
    char message[400];

    while (faults[i].errnum != errnum && faults[i].errnum != 0)
        i++;
    snprintf(message, sizeof message, "%.*s", (int)(rest < 390 ? rest : 390),
             rest > 0 ? blank + 1 : "");
    message[strcspn(message, "\n")] = '\0';
    vc_refuse(rq, faults[i].status, faults[i].code,
              message[0] != '\0' ? message : "the file operation failed");
}

/* --- mkdir ------------------------------------------------------------------------------- */

struct vc_files_call {
    struct pending pending;
    struct http_request *rq; /* NULL: no client waits for the reply */
    struct collect *collect;
};

static void call_done(struct vc_files_call *c)
{
    pending_fini(&c->pending);
    free(c);
}

static void call_free(struct pending *p)
{
    struct vc_files_call *c = list_entry(p, struct vc_files_call, pending);

    collect_free(c->collect);
    call_done(c);
}

/* It ends in a moment. */
static const struct pending_kind call_kind = {.drain = NULL, .free = call_free};

/* The operation completes all the same, and its helper is dropped afterwards. */
static void call_on_disconnect(void *user)
{
    ((struct vc_files_call *)user)->rq = NULL;
}

static void call_failed(void *arg, const struct hf_error *err)
{
    struct vc_files_call *c = arg;

    if (c->rq != NULL)
        vc_error(c->rq, err);
    call_done(c);
}

static void call_ended(void *arg, const struct collected *all)
{
    struct vc_files_call *c = arg;
    struct json_out o;

    if (c->rq != NULL && all->exit->exit_code == 0) {
        o = dialect_reply_open(dialect_base_of(c->rq));
        dialect_reply_send(c->rq, 200, &o);
    } else if (c->rq != NULL) {
        vc_file_error(c->rq, buf_data(all->err), all->err->len);
    }
    process_forget(all->process);
    call_done(c);
}

static const struct collect_ops call_ops = {.failed = call_failed, .done = call_ended};

/* False: replied. */
static bool decode_path(struct http_request *rq, char path[PATH_MAX])
{
    json_auto_t *body = vc_session(rq) == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};

    if (body == NULL)
        return false;
    if (vc_decode_path(body, vc_of(rq)->cwd, path, &err) == 0)
        return true;
    vc_error(rq, &err);
    return false;
}

void vc_mkdir(struct http_request *rq)
{
    struct vercel *v = vc_of(rq);
    const char *args[FILE_OP_ARGS];
    struct hf_error err = {0};
    struct spawn_spec spec;
    char path[PATH_MAX];
    struct vc_files_call *c;

    if (!decode_path(rq, path))
        return;
    c = hf_xalloc(sizeof *c);
    c->rq = rq;
    pending_init(&c->pending, &v->base.pending, &call_kind);
    http_set_user(rq, c, call_on_disconnect);
    file_op_spec(&spec, args, NULL, "mkdir", path, NULL);
    if (collect_start(v->base.engine, &spec, REASON_BYTES, &call_ops, c, &c->collect, &err) == 0)
        return;
    http_set_user(rq, NULL, NULL);
    call_done(c);
    vc_error(rq, &err);
}

/* --- read -------------------------------------------------------------------------------- */

struct vc_files_download {
    struct pending pending;
    struct http_request *rq;  /* until the first byte */
    struct http_stream *http; /* from then on */
    struct process *process;  /* referenced; NULL until it was started */
    struct viewer *viewer;
    struct buf reason; /* the error message */
};

static void download_free(struct pending *p)
{
    struct vc_files_download *d = list_entry(p, struct vc_files_download, pending);

    viewer_detach(d->viewer);
    process_unref(d->process);
    buf_fini(&d->reason);
    pending_fini(p);
    free(d);
}

/* No client reads the rest: end the reader too. */
static void download_give_up(struct vc_files_download *d)
{
    if (d->process != NULL)
        file_op_end(d->process);
    download_free(&d->pending);
}

/* Reading may be retried. */
static void download_drain(struct pending *p)
{
    struct vc_files_download *d = list_entry(p, struct vc_files_download, pending);

    if (d->http != NULL)
        http_stream_abort(d->http);
    else if (d->process == NULL)
        return; /* it is being started; its callback replies soon */
    else if (d->rq != NULL)
        vc_refuse(d->rq, 503, "shutting_down",
                  "the daemon is shutting down; try again in a moment");
    download_give_up(d);
}

static const struct pending_kind download_kind = {.drain = download_drain, .free = download_free};

static void download_on_room(void *arg)
{
    viewer_pump(((struct vc_files_download *)arg)->viewer);
}

static void download_on_disconnect(void *arg)
{
    struct vc_files_download *d = arg;

    d->rq = NULL;
    if (d->process != NULL)
        download_give_up(d);
}

static const struct http_stream_ops http_ops = {.on_drain = download_on_room,
                                                .on_disconnect = download_on_disconnect};

static bool download_ready(void *arg)
{
    struct vc_files_download *d = arg;

    return d->http == NULL || http_stream_ready(d->http);
}

static void download_write(struct vc_files_download *d, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (len > 0)
        http_stream_write(d->http, &iov, 1);
}

/* The first line reports whether the file could be opened; only then can the reply be a success. */
static void download_head(struct vc_files_download *d, const struct slice *s)
{
    const char *end = memchr(s->bytes, '\n', s->len);
    size_t n = end != NULL ? (size_t)(end - s->bytes) + 1 : s->len;

    if (end == NULL)
        return;
    d->http = http_stream_start(d->rq, 200, "application/octet-stream", &http_ops, d);
    d->rq = NULL;
    download_write(d, s->bytes + n, s->len - n);
}

static void download_bytes(void *arg, const struct slice *s)
{
    struct vc_files_download *d = arg;

    if (s->stream == STREAM_STDERR) {
        if (d->reason.len + s->len <= REASON_BYTES)
            buf_put(&d->reason, s->bytes, s->len);
    } else if (d->http == NULL) {
        download_head(d, s);
    } else {
        download_write(d, s->bytes, s->len);
    }
}

static void download_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to; /* a lossless viewer from 0 on misses nothing */
}

static void download_exited(void *arg, const struct exit_record *x)
{
    struct vc_files_download *d = arg;
    struct process *p = process_ref(d->process);

    if (d->http != NULL && x->exit_code == 0)
        http_stream_end(d->http);
    else if (d->http != NULL)
        http_stream_abort(d->http); /* half a file must not appear complete */
    else
        vc_file_error(d->rq, buf_data(&d->reason), d->reason.len);
    download_free(&d->pending);
    process_forget(p);
    process_unref(p);
}

static const struct viewer_ops viewer_ops = {
    .ready = download_ready,
    .bytes = download_bytes,
    .gap = download_gap,
    .exited = download_exited,
};

static void download_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct viewer_options o = viewer_own(0);
    struct vc_files_download *d = arg;
    struct hf_error err = {0};

    if (p != NULL)
        d->process = process_ref(p);
    if (d->rq == NULL) {
        download_give_up(d);
    } else if (p == NULL) {
        vc_error(d->rq, why);
        download_free(&d->pending);
    } else if (viewer_attach(p, &o, &viewer_ops, d, &d->viewer, &err) < 0) {
        vc_error(d->rq, &err);
        download_give_up(d);
    }
}

void vc_read(struct http_request *rq)
{
    struct vercel *v = vc_of(rq);
    const char *args[FILE_OP_ARGS];
    struct hf_error err = {0};
    struct spawn_spec spec;
    char path[PATH_MAX];
    struct vc_files_download *d;

    if (!decode_path(rq, path))
        return;
    d = hf_xalloc(sizeof *d);
    d->rq = rq;
    pending_init(&d->pending, &v->base.pending, &download_kind);
    http_set_user(rq, d, download_on_disconnect);
    file_op_spec(&spec, args, NULL, "read", path, NULL);
    if (engine_spawn(v->base.engine, &spec, download_on_spawned, d, &err) == 0)
        return;
    http_set_user(rq, NULL, NULL);
    download_free(&d->pending);
    vc_error(rq, &err);
}
