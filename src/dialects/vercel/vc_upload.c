/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_upload.c - fs/write: files as a gzipped tar, unpacked below the directory in x-cwd
 *
 * A short-lived process unpacks it (file_op.h), so nothing is buffered here. The body is read as
 * fast as that process accepts it. Layer: dialects.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/file_op.h"
#include "dialects/common/stdin_feed.h"
#include "dialects/vercel/vercel.h"

#define REASON_BYTES 4096

struct vc_upload {
    struct pending pending;
    struct http_request *rq; /* NULL: replied, or the client has disconnected */
    struct stdin_feed feed;  /* its process is NULL until it was started */
    struct exit_waiter exit;
};

static void upload_free(struct pending *p)
{
    struct vc_upload *u = list_entry(p, struct vc_upload, pending);

    stdin_feed_fini(&u->feed);
    exit_waiter_cancel(&u->exit);
    pending_fini(p);
    free(u);
}

/* If it is being started, it returns here once it has. */
static void upload_stop(struct vc_upload *u)
{
    u->rq = NULL;
    if (u->feed.process == NULL)
        return;
    file_op_end(u->feed.process);
    upload_free(&u->pending);
}

static void upload_on_disconnect(void *user)
{
    upload_stop(user);
}

/* Writing it again gives the same result, so the client may try the next worker. */
static void upload_drain(struct pending *p)
{
    struct vc_upload *u = list_entry(p, struct vc_upload, pending);

    if (u->rq != NULL)
        vc_refuse(u->rq, 503, "shutting_down",
                  "the daemon is shutting down; send it again in a moment");
    upload_stop(u);
}

static const struct pending_kind upload_kind = {.drain = upload_drain, .free = upload_free};

/* Its output is short, and kept whole. */
static void upload_on_exit(void *arg, struct process *p)
{
    struct vc_upload *u = arg;
    struct http_request *rq = u->rq;
    struct journal *j = process_journal(p);
    struct slice s = journal_slice(j, journal_first(j), REASON_BYTES);
    struct process_view v;
    struct json_out o;

    process_view(p, &v);
    if (v.exit->exit_code == 0) {
        o = dialect_reply_open(dialect_base_of(rq));
        dialect_reply_send(rq, 200, &o);
    } else {
        vc_file_error(rq, s.bytes, s.stream == STREAM_STDERR ? s.len : 0);
    }
    process_ref(p);
    upload_free(&u->pending);
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
    http_body_resume(((struct vc_upload *)arg)->rq);
}

static void upload_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct vc_upload *u = arg;

    if (p != NULL)
        stdin_feed_bind(&u->feed, p);
    if (p == NULL) {
        if (u->rq != NULL)
            vc_error(u->rq, err);
        upload_free(&u->pending);
    } else if (u->rq == NULL) {
        upload_stop(u);
    } else {
        process_wait_exit(p, &u->exit);
        http_body_stream(u->rq, upload_on_body);
    }
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
    struct vercel *v = vc_of(rq);
    const char *dir = vc_session(rq) == NULL ? NULL : target(rq), *args[FILE_OP_ARGS];
    struct hf_error err = {0};
    struct spawn_spec spec;
    struct vc_upload *u;

    if (dir == NULL)
        return;
    u = hf_xalloc(sizeof *u);
    u->rq = rq;
    stdin_feed_init(&u->feed, upload_on_room, u);
    list_init(&u->exit.link);
    u->exit.fn = upload_on_exit;
    u->exit.arg = u;
    pending_init(&u->pending, &v->base.pending, &upload_kind);
    http_set_user(rq, u, upload_on_disconnect);
    file_op_spec(&spec, args, NULL, "untar", dir, NULL);
    if (engine_spawn(v->base.engine, &spec, upload_on_spawned, u, &err) < 0)
        upload_on_spawned(u, NULL, &err);
}
