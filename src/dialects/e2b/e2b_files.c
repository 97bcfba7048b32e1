/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_files.c - access to files, and GET /files. Layer: dialects.
 */
#include "dialects/e2b/e2b_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/stream/viewer.h"

/* --- shared ------------------------------------------------------------------------------ */

int e2b_file_path(const struct user *u, const char *text, size_t len, char *out,
                  struct hf_error *err)
{
    if (len > 0 && strlen(text) == len && e2b_path(u, text, out, PATH_MAX))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "path",
                         "path must be a path without NUL and within the length limit");
}

void e2b_file_fault(struct file_fault *f, const char *text, size_t len)
{
    const char *sentence = len > 0 ? memchr(text, ' ', len) : NULL;
    size_t rest = sentence != NULL ? len - (size_t)(sentence - text) - 1 : 0;

    switch (file_op_errno(text, len)) {
    case ENOENT: *f = (struct file_fault){.code = "not_found", .status = 404}; break;
    case EEXIST: *f = (struct file_fault){.code = "already_exists", .status = 409}; break;
    case EACCES:
    case EPERM:
    case EROFS: *f = (struct file_fault){.code = "permission_denied", .status = 403}; break;
    case ENOSPC:
    case EDQUOT: *f = (struct file_fault){.code = "resource_exhausted", .status = 507}; break;
    case 0: *f = (struct file_fault){.code = "internal", .status = 500}; break;
    default: *f = (struct file_fault){.code = "invalid_argument", .status = 400}; break;
    }
    while (rest > 0 && sentence[rest] == '\n')
        rest--;
    snprintf(f->message, sizeof f->message, "%.*s", (int)(rest < 390 ? rest : 390),
             rest > 0 ? sentence + 1 : "");
    if (rest == 0)
        snprintf(f->message, sizeof f->message, "the file operation failed");
}

/* The query names the user here, because a link cannot send a header. */
static bool files_user(struct http_request *rq, struct file_request *request)
{
    const char *name = http_query(rq, "username");
    struct hf_error err = {0};

    if (name == NULL || name[0] == '\0') {
        if (e2b_user(rq, &request->user, &request->given, &err) == 0)
            return true;
    } else if (e2b_user_named(e2b_of(rq), name, &request->user, &request->given, &err) == 0) {
        return true;
    }
    e2b_plain_error(rq, 401, err.detail);
    return false;
}

static bool files_allowed(struct http_request *rq, const char *operation)
{
    const char *given = http_query(rq, "signature"), *path = http_query(rq, "path"),
               *user = http_query(rq, "username"), *wrong;
    const char *const parts[] = {
        [SIGNED_PATH] = path != NULL ? path : "",
        [SIGNED_OPERATION] = operation,
        [SIGNED_USER] = user != NULL ? user : "",
        [SIGNED_EXPIRES] = http_query(rq, "signature_expiration"),
    };

    if (http_role(rq) >= ROLE_OWN)
        return true;
    wrong = given == NULL ? "a token or a signature is required"
                          : e2b_signature_refusal(dialect_base_of(rq)->host.tokens, parts, given,
                                                  clock_wall_ms() / 1000);
    if (wrong != NULL)
        e2b_plain_error(rq, 401, wrong);
    else
        http_set_trusted(rq, ROLE_TYPE); /* weaker than a token, but authenticated */
    return wrong == NULL;
}

bool e2b_files_decode(struct http_request *rq, const char *operation, struct file_request *request)
{
    const char *path = http_query(rq, "path");
    struct hf_error err = {0};

    memset(request, 0, sizeof *request);
    if (!files_allowed(rq, operation) || !files_user(rq, request))
        return false;
    if (path == NULL || path[0] == '\0')
        return true; /* an upload may name it elsewhere */
    if (e2b_file_path(&request->user, path, strlen(path), request->path, &err) == 0)
        return true;
    e2b_plain_error(rq, 400, err.detail);
    return false;
}

/* --- GET /files -------------------------------------------------------------------------- */

#define ENTRY_LINE_BYTES (32 * 1024) /* an escaped path, and its parameters */

struct e2b_files_download {
    struct call call;        /* a stream from the first byte on */
    struct process *process; /* referenced; NULL until it has started */
    struct viewer *viewer;
    struct buf line, err; /* the entry that precedes the bytes; error output */
};

static struct e2b_files_download *download_of(struct call *c)
{
    return list_entry(c, struct e2b_files_download, call);
}

static void download_release(struct call *c)
{
    struct e2b_files_download *d = download_of(c);

    viewer_detach(d->viewer);
    process_unref(d->process);
    buf_fini(&d->line);
    buf_fini(&d->err);
}

/* The rest is not needed: terminate the reader too. A reader that is being started returns here
 * once it is running. */
static void download_disconnected(struct call *c)
{
    struct e2b_files_download *d = download_of(c);

    if (d->process == NULL)
        return;
    file_op_end(d->process);
    call_end(c);
}

static void download_drain(struct call *c)
{
    struct e2b_files_download *d = download_of(c);

    if (d->process == NULL)
        return; /* it is being started, and its callback comes soon */
    file_op_end(d->process);
    if (c->out != NULL)
        call_stream_abort(c);
    else
        e2b_plain_error(call_end(c), 503, "the daemon is shutting down");
}

static void download_room(struct call *c)
{
    viewer_pump(download_of(c)->viewer);
}

static const struct call_kind download_kind = {
    .stays = true,
    .release = download_release,
    .disconnected = download_disconnected,
    .drain = download_drain,
    .room = download_room,
};

static bool on_ready(void *arg)
{
    struct e2b_files_download *d = arg;

    return d->call.out == NULL || http_stream_ready(d->call.out);
}

static void download_write(struct e2b_files_download *d, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (len > 0)
        http_stream_write(d->call.out, &iov, 1);
}

/* The line confirms that the file could be opened; only then may the reply be a success. */
static void download_head(struct e2b_files_download *d, const struct slice *s)
{
    const char *end = memchr(s->bytes, '\n', s->len);
    size_t n = end != NULL ? (size_t)(end - s->bytes) + 1 : s->len;

    if (d->line.len + n <= ENTRY_LINE_BYTES)
        buf_put(&d->line, s->bytes, n);
    if (end == NULL)
        return;
    call_stream(&d->call, 200, "application/octet-stream");
    download_write(d, s->bytes + n, s->len - n);
}

static void on_bytes(void *arg, const struct slice *s)
{
    struct e2b_files_download *d = arg;

    if (s->stream == STREAM_STDERR) {
        if (d->err.len + s->len <= ENTRY_LINE_BYTES)
            buf_put(&d->err, s->bytes, s->len);
    } else if (d->call.out == NULL) {
        download_head(d, s);
    } else {
        download_write(d, s->bytes, s->len);
    }
}

static void on_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to; /* a lossless viewer from 0 on misses nothing */
}

static void on_exited(void *arg, const struct exit_record *x)
{
    struct e2b_files_download *d = arg;
    struct process *p = process_ref(d->process);
    struct file_fault f;

    if (d->call.out != NULL && x->exit_code == 0) {
        call_stream_end(&d->call);
    } else if (d->call.out != NULL) {
        call_stream_abort(&d->call);
    } else {
        e2b_file_fault(&f, buf_data(&d->err), d->err.len);
        e2b_plain_error(call_end(&d->call), f.status, f.message);
    }
    process_forget(p);
    process_unref(p);
}

static const struct viewer_ops viewer_ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .exited = on_exited,
};

static void on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    const struct viewer_options o = viewer_own(0);
    struct e2b_files_download *d = arg;
    struct hf_error err;

    if (p == NULL) {
        call_fail(&d->call, why);
        return;
    }
    d->process = process_ref(p);
    if (d->call.rq == NULL) {
        download_disconnected(&d->call);
    } else if (viewer_attach(p, &o, &viewer_ops, d, &d->viewer, &err) < 0) {
        file_op_end(p);
        call_fail(&d->call, &err);
    }
}

static void download_start(struct http_request *rq, const struct file_request *request)
{
    struct e2b_files_download *d = call_begin(rq, &download_kind, sizeof *d);
    const char *args[FILE_OP_ARGS];
    struct spawn_spec spec;
    struct hf_error err;

    file_op_spec(&spec, args, file_user(request), "read", request->path, NULL);
    if (engine_spawn(d->call.base->engine, &spec, on_spawned, d, &err) < 0)
        call_fail(&d->call, &err);
}

void e2b_files_get(struct http_request *rq)
{
    struct file_request *request = hf_xalloc(sizeof *request);

    if (e2b_files_decode(rq, "read", request)) {
        if (request->path[0] == '\0')
            e2b_plain_error(rq, 400, "name the file with ?path=");
        else
            download_start(rq, request);
    }
    free(request);
}
