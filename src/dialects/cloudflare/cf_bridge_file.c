/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge_file.c - GET and PUT /v1/sandbox/{id}/file/PATH: a file's bytes
 *
 * A short-lived process reads or writes the file, because the worker itself has no rights in the
 * sandbox. A written file appears whole or not at all. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/cloudflare/cf_run.h"
#include "dialects/common/stdin_feed.h"
#include "transport/url_query.h"

#define EXIT_NO_FILE 44
#define EXIT_NO_PLAIN_FILE 45
#define REASON_BYTES 300 /* of the process's error output */

static const char reading[] =
    "[ -e \"$1\" ] || exit 44; [ -f \"$1\" ] || exit 45; exec cat <\"$1\"";
/*
 * A shell that waits for a foreground child handles no signal until the child has ended, and a
 * signal that reaches the child between fork and exec is lost. So the child runs in the background,
 * and the shell kills it before it removes the partial file.
 */
static const char writing[] =
    "t=$1.$$.part; c=; trap 'trap \"\" HUP INT TERM; "
    "if [ -n \"$c\" ]; then kill -9 $!; wait; fi 2>/dev/null; rm -f -- \"$t\"' EXIT; "
    "trap 'exit 1' HUP INT TERM; exec 3<&0; "
    "mkdir -p -- \"$(dirname -- \"$1\")\" && [ ! -d \"$1\" ] || exit 1; "
    "c=1; cat <&3 >\"$t\" 3<&- & wait $! || exit 1; c=; mv -f -- \"$t\" \"$1\"";

/* "/bin/sh -c SCRIPT sh /PATH" of the request. NULL: the request has been replied to. */
static json_t *file_argv(struct http_request *rq, const char *script)
{
    const char *raw = http_param(rq, "*");
    char *path = hf_xalloc(strlen(raw) + 2);
    json_t *argv = NULL;

    path[0] = '/';
    if (raw[0] != '\0' && url_percent_decode(raw, strlen(raw), false, path + 1) > 0)
        argv = json_pack("[sssss]", "/bin/sh", "-c", script, "sh", path);
    if (argv == NULL)
        bridge_error(rq, 400, "invalid_request", "the path is not valid UTF-8");
    free(path);
    return argv;
}

static void reply_failure(struct http_request *rq, const struct exit_record *x,
                          const struct buf *reason)
{
    char text[REASON_BYTES + 1];

    snprintf(text, sizeof text, "%.*s", (int)reason->len, reason->len > 0 ? buf_data(reason) : "");
    text[strcspn(text, "\n")] = '\0';
    if (x->exit_code == EXIT_NO_FILE)
        bridge_error(rq, 404, "not_found", "no such file");
    else if (x->exit_code == EXIT_NO_PLAIN_FILE)
        bridge_error(rq, 400, "invalid_request", "not a regular file");
    else
        bridge_error(rq, 500, "file_error", text[0] != '\0' ? text : "the operation failed");
}

static void keep_reason(struct buf *reason, const struct slice *s)
{
    size_t room = REASON_BYTES - reason->len;

    buf_put(reason, s->bytes, s->len < room ? s->len : room);
}

/* Ends the call, replies and frees the reason. */
static void end_with_failure(struct call *c, const struct exit_record *x, struct buf *reason)
{
    struct buf kept = *reason;

    *reason = (struct buf){0};
    reply_failure(call_end(c), x, &kept);
    buf_fini(&kept);
}

/* The daemon shuts down: a partial file must not look like a whole one. */
static void file_drained(struct call *c)
{
    if (c->streams)
        call_stream_abort(c);
    else
        bridge_error(call_end(c), 503, "shutting_down", "the daemon is shutting down; try again");
}

/* --- read ---------------------------------------------------------------------------------- */

struct cf_bridge_reader {
    struct cf_run run; /* streams as soon as there is data to send */
    struct buf reason;
};

static struct cf_bridge_reader *reader_of(struct cf_run *r)
{
    return list_entry(r, struct cf_bridge_reader, run);
}

static void reader_release(struct cf_run *r)
{
    buf_fini(&reader_of(r)->reason);
}

static void reader_open(struct cf_run *r)
{
    if (!r->call.streams)
        call_stream(&r->call, 200, "application/octet-stream");
}

static bool reader_ready(struct cf_run *r)
{
    return !r->call.streams || call_is_ready(&r->call);
}

static void reader_bytes(struct cf_run *r, const struct slice *s)
{
    struct iovec iov = {(void *)(uintptr_t)s->bytes, s->len};

    if (s->stream == STREAM_STDERR) {
        keep_reason(&reader_of(r)->reason, s);
        return;
    }
    reader_open(r);
    http_stream_write(r->call.out, &iov, 1);
}

static void reader_failed(struct cf_run *r, const struct hf_error *err)
{
    bridge_fail(call_end(&r->call), err);
}

static void reader_done(struct cf_run *r, const struct session_followed *f)
{
    if (f->exit.exit_code == 0) {
        reader_open(r);
        call_stream_end(&r->call);
    } else if (r->call.streams) {
        call_stream_abort(&r->call); /* a partial file must not look like a whole one */
    } else {
        end_with_failure(&r->call, &f->exit, &reader_of(r)->reason);
    }
}

static const struct cf_run_ops reader_ops = {
    .ready = reader_ready,
    .bytes = reader_bytes,
    .failed = reader_failed,
    .done = reader_done,
    .drain = file_drained,
    .release = reader_release,
    .end_if_disconnected = true,
    .end_if_drained = true,
};

void cf_bridge_file_get(struct http_request *rq)
{
    json_auto_t *argv = bridge_sandbox(rq) == NULL ? NULL : file_argv(rq, reading);
    const struct cf_launch_request request = {.argv = argv, .helper = true};
    struct cf_bridge_reader *r;

    if (argv == NULL)
        return;
    r = call_begin(rq, &cf_run_kind, sizeof *r);
    cf_run_begin(&r->run, &reader_ops, &request);
}

/* --- write ------------------------------------------------------------------------------------ */

struct cf_bridge_writer {
    struct call call;
    struct cf_launch *launch; /* NULL: it is started */
    struct stdin_feed feed;   /* its process writes the file */
    struct viewer *viewer;    /* its error output */
    struct buf reason;
};

static void writer_release(struct call *c)
{
    struct cf_bridge_writer *w = (struct cf_bridge_writer *)c;

    viewer_detach(w->viewer);
    stdin_feed_fini(&w->feed);
    buf_fini(&w->reason);
}

/* The upload is incomplete: remove the partial file. */
static void writer_leave(struct call *c)
{
    struct cf_bridge_writer *w = (struct cf_bridge_writer *)c;

    if (w->launch != NULL)
        cf_launch_leave(w->launch, true);
    if (w->feed.process != NULL)
        process_terminate(w->feed.process, -1, "detach", NULL, NULL);
}

static void writer_drain(struct call *c)
{
    writer_leave(c);
    file_drained(c);
}

static const struct call_kind writer_kind = {
    .release = writer_release, .disconnected = writer_leave, .drain = writer_drain};

static bool writer_ready(void *arg)
{
    (void)arg;
    return true;
}

static void writer_bytes(void *arg, const struct slice *s)
{
    keep_reason(&((struct cf_bridge_writer *)arg)->reason, s);
}

static void writer_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void writer_exited(void *arg, const struct exit_record *x)
{
    struct cf_bridge_writer *w = arg;
    static const char ok[] = "{\"ok\":true}";

    process_forget(w->feed.process);
    if (x->exit_code == 0)
        http_reply(call_end(&w->call), 200, "application/json", ok, sizeof ok - 1);
    else
        end_with_failure(&w->call, x, &w->reason);
}

static const struct viewer_ops writer_ops = {
    .ready = writer_ready,
    .bytes = writer_bytes,
    .gap = writer_gap,
    .exited = writer_exited,
};

/* A process that accepts no more input has failed; its exit status says why. */
static size_t writer_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    return stdin_feed_take(&((struct cf_bridge_writer *)http_user(rq))->feed, bytes, len, last);
}

static void writer_on_room(void *arg)
{
    http_body_resume(((struct cf_bridge_writer *)arg)->call.rq);
}

static void writer_on_launched(void *arg, struct process *p, const struct hf_error *err)
{
    /*
     * Not an internal process: if the worker dies, the sender's connection dies with it, and the
     * end of the input would never come.
     */
    const struct viewer_options o = {.since = SINCE_OFFSET, .read_only = true, .only_stream = -1};
    struct cf_bridge_writer *w = arg;
    struct hf_error why;

    w->launch = NULL;
    if (p == NULL) {
        bridge_fail(call_end(&w->call), err);
        return;
    }
    stdin_feed_bind(&w->feed, p);
    if (viewer_attach(p, &o, &writer_ops, w, &w->viewer, &why) < 0) {
        writer_leave(&w->call);
        bridge_fail(call_end(&w->call), &why);
        return;
    }
    http_body_stream(w->call.rq, writer_on_body);
}

void cf_bridge_file_put(struct http_request *rq)
{
    json_auto_t *argv = bridge_sandbox(rq) == NULL ? NULL : file_argv(rq, writing);
    const struct cf_launch_request request = {
        .argv = argv, .stdin_pipe = true, .kill_on_detach = true, .helper = true};
    struct cf_bridge_writer *w;

    if (argv == NULL)
        return;
    w = call_begin(rq, &writer_kind, sizeof *w);
    stdin_feed_init(&w->feed, writer_on_room, w);
    cf_launch(cf_of(rq), &request, writer_on_launched, w, &w->launch);
}
