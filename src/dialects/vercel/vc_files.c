/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_files.c - fs/mkdir, fs/read, and fs/write: files as a gzipped tar, unpacked below the
 * directory in x-cwd
 *
 * A short-lived process does the work (file_op.h), as the user of plain commands. A body is read as
 * fast as that process accepts it, so nothing is buffered here. Layer: dialects.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dialects/common/collect.h"
#include "dialects/common/file_op.h"
#include "dialects/common/file_read.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/vercel/vercel.h"

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

struct vc_mkdir {
    struct call call;
    struct collect *collect; /* NULL: it has ended */
};

static void mkdir_release(struct call *c)
{
    if (((struct vc_mkdir *)c)->collect != NULL)
        collect_free(((struct vc_mkdir *)c)->collect);
}

/* It ends in a moment, and completes although its client disconnects. */
static const struct call_kind mkdir_kind = {.release = mkdir_release, .stays = true};

static void mkdir_failed(void *arg, const struct hf_error *err)
{
    struct vc_mkdir *m = arg;

    m->collect = NULL;
    call_fail(&m->call, err);
}

static void mkdir_done(void *arg, const struct collected *all)
{
    struct vc_mkdir *m = arg;
    struct http_request *rq = call_detach(&m->call);

    m->collect = NULL;
    call_end(&m->call);
    if (rq != NULL && all->exit->exit_code == 0)
        vc_reply_nothing(rq);
    else if (rq != NULL)
        vc_file_error(rq, buf_data(all->err), all->err->len);
    process_forget(all->process);
}

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
    static const struct collect_ops ops = {.failed = mkdir_failed, .done = mkdir_done};
    const char *args[FILE_OP_ARGS];
    struct hf_error err = {0};
    struct spawn_spec spec;
    char path[PATH_MAX];
    struct vc_mkdir *m;

    if (!decode_path(rq, path))
        return;
    m = call_begin(rq, &mkdir_kind, sizeof *m);
    file_op_spec(&spec, args, NULL, "mkdir", path, NULL);
    if (collect_start(m->call.base->engine, &spec, REASON_BYTES, &ops, m, &m->collect, &err) < 0)
        mkdir_failed(m, &err);
}

void vc_read(struct http_request *rq)
{
    char path[PATH_MAX];

    if (decode_path(rq, path))
        file_read_begin(rq, NULL, path, vc_file_error,
                        "the daemon is shutting down; try again in a moment");
}

/* --- write ------------------------------------------------------------------------------- */

struct vc_upload {
    struct call call;
    struct stdin_feed feed; /* its process is NULL until it was started */
    struct exit_waiter exit;
};

static void upload_release(struct call *c)
{
    struct vc_upload *u = (struct vc_upload *)c;

    stdin_feed_fini(&u->feed);
    exit_waiter_cancel(&u->exit);
}

static void upload_leave(struct call *c)
{
    file_op_end(((struct vc_upload *)c)->feed.process);
}

/* Writing it again gives the same result, so the client may try the next worker. */
static void upload_drain(struct call *c)
{
    struct http_request *rq = call_detach(c);

    if (rq != NULL)
        vc_refuse(rq, 503, "shutting_down",
                  "the daemon is shutting down; send it again in a moment");
    if (c->kind->stays)
        return; /* it is being started, and ends once it has */
    upload_leave(c);
    call_end(c);
}

static const struct call_kind starting_kind = {
    .release = upload_release, .drain = upload_drain, .stays = true};
static const struct call_kind upload_kind = {
    .release = upload_release, .disconnected = upload_leave, .drain = upload_drain};

/* Its output is short, and kept whole. */
static void upload_on_exit(void *arg, struct process *p)
{
    struct vc_upload *u = arg;
    struct http_request *rq = call_detach(&u->call);
    struct journal *j = process_journal(p);
    struct slice s = journal_slice(j, journal_first(j), REASON_BYTES);
    struct process_view v;

    process_view(p, &v);
    if (v.exit->exit_code == 0)
        vc_reply_nothing(rq);
    else
        vc_file_error(rq, s.bytes, s.stream == STREAM_STDERR ? s.len : 0);
    process_ref(p);
    call_end(&u->call);
    process_forget(p);
    process_unref(p);
}

/* A process that stops reading has failed, and its exit gives the reason. */
static size_t upload_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    return stdin_feed_take(&((struct vc_upload *)http_user(rq))->feed, bytes, len, last);
}

static void upload_on_room(void *arg)
{
    http_body_resume(((struct vc_upload *)arg)->call.rq);
}

static void upload_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct vc_upload *u = arg;

    if (p == NULL) {
        call_fail(&u->call, err);
        return;
    }
    u->call.kind = &upload_kind;
    stdin_feed_bind(&u->feed, p);
    if (u->call.rq == NULL) {
        upload_leave(&u->call);
        call_end(&u->call);
        return;
    }
    process_wait_exit(p, &u->exit);
    http_body_stream(u->call.rq, upload_on_body);
}

/* NULL: replied. */
static const char *target(struct http_request *rq)
{
    const char *dir = http_header(rq, "x-cwd");

    if (dir == NULL || dir[0] == '\0')
        return vc_of(rq)->cwd;
    if (dir[0] == '/')
        return dir;
    vc_refuse(rq, 400, "bad_request", "the header x-cwd must be an absolute directory");
    return NULL;
}

void vc_write(struct http_request *rq)
{
    const char *dir = vc_session(rq) == NULL ? NULL : target(rq), *args[FILE_OP_ARGS];
    struct hf_error err = {0};
    struct spawn_spec spec;
    struct vc_upload *u;

    if (dir == NULL)
        return;
    u = call_begin(rq, &starting_kind, sizeof *u);
    stdin_feed_init(&u->feed, upload_on_room, u);
    list_init(&u->exit.link);
    u->exit.fn = upload_on_exit;
    u->exit.arg = u;
    file_op_spec(&spec, args, NULL, "untar", dir, NULL);
    if (engine_spawn(u->call.base->engine, &spec, upload_on_spawned, u, &err) < 0)
        upload_on_spawned(u, NULL, &err);
}
