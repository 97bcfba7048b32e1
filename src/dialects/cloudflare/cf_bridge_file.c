/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge_file.c - GET and PUT /v1/sandbox/{id}/file/PATH: a file's bytes
 *
 * A short-lived process reads or writes the file, because the worker itself has no rights in the
 * sandbox. A written file appears whole or not at all. Layer: dialects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_bridge.h"
#include "dialects/cloudflare/cf_run.h"
#include "dialects/common/file_op.h"
#include "dialects/common/file_read.h"
#include "dialects/common/stdin_feed.h"
#include "transport/url_query.h"

#define REASON_BYTES 300 /* of the process's error output */

/* The path in the request, from "/" on; the caller frees it. NULL: the request has been replied
 * to. */
static char *file_path(struct http_request *rq)
{
    const char *raw = http_param(rq, "*");
    char *path;

    if (bridge_sandbox(rq) == NULL)
        return NULL;
    path = hf_xalloc(strlen(raw) + 2);
    path[0] = '/';
    if (raw[0] != '\0' && url_percent_decode(raw, strlen(raw), false, path + 1) > 0 &&
        utf8_is_valid(path, strlen(path)))
        return path;
    bridge_error(rq, 400, "invalid_request", "the path is not valid UTF-8");
    free(path);
    return NULL;
}

static void fail_with_text(struct http_request *rq, const char *text, size_t len)
{
    char line[REASON_BYTES + 1];

    snprintf(line, sizeof line, "%.*s", (int)(len < REASON_BYTES ? len : REASON_BYTES),
             len > 0 ? text : "");
    line[strcspn(line, "\n")] = '\0';
    bridge_error(rq, 500, "file_error", line[0] != '\0' ? line : "the operation failed");
}

/* --- read ---------------------------------------------------------------------------------- */

static void read_failed(struct http_request *rq, const char *text, size_t len)
{
    const char *sentence = len > 0 ? memchr(text, ' ', len) : NULL;

    switch (file_op_errno(text, len)) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG: bridge_error(rq, 404, "not_found", "no such file"); break;
    case EISDIR:
    case EINVAL: bridge_error(rq, 400, "invalid_request", "not a regular file"); break;
    default:
        sentence = sentence != NULL ? sentence + 1 : text;
        fail_with_text(rq, sentence, len - (size_t)(sentence - text));
    }
}

void cf_bridge_file_get(struct http_request *rq)
{
    hf_autofree char *path = file_path(rq);

    if (path != NULL)
        file_read_begin(rq, NULL, path, read_failed, "the daemon is shutting down; try again");
}

/* --- write ------------------------------------------------------------------------------------ */

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

struct cf_bridge_writer {
    struct cf_run run;
    struct stdin_feed feed; /* its process writes the file */
    struct buf reason;      /* its error output */
};

static struct cf_bridge_writer *writer_of(struct cf_run *r)
{
    return list_entry(r, struct cf_bridge_writer, run);
}

static void writer_release(struct cf_run *r)
{
    stdin_feed_fini(&writer_of(r)->feed);
    buf_fini(&writer_of(r)->reason);
}

static void writer_drain(struct call *c)
{
    bridge_error(call_end(c), 503, "shutting_down", "the daemon is shutting down; try again");
}

/* A process that accepts no more input has failed; its exit status says why. */
static size_t writer_on_body(struct http_request *rq, const void *bytes, size_t len, bool last)
{
    return stdin_feed_take(&((struct cf_bridge_writer *)http_user(rq))->feed, bytes, len, last);
}

static void writer_on_room(void *arg)
{
    http_body_resume(((struct cf_bridge_writer *)arg)->run.call.rq);
}

static void writer_started(struct cf_run *r)
{
    stdin_feed_bind(&writer_of(r)->feed, r->process);
    http_body_stream(r->call.rq, writer_on_body);
}

static void writer_bytes(struct cf_run *r, const struct slice *s)
{
    struct buf *reason = &writer_of(r)->reason;
    size_t room = REASON_BYTES - reason->len;

    buf_put(reason, s->bytes, s->len < room ? s->len : room);
}

static void writer_done(struct cf_run *r, const struct session_followed *f)
{
    const struct buf *reason = &writer_of(r)->reason;
    static const char ok[] = "{\"ok\":true}";
    struct http_request *rq = call_detach(&r->call);

    if (f->exit.exit_code == 0)
        http_reply(rq, 200, "application/json", ok, sizeof ok - 1);
    else
        fail_with_text(rq, buf_data(reason), reason->len);
    call_end(&r->call);
}

/* An upload that is incomplete leaves nothing. */
static const struct cf_run_ops writer_ops = {
    .started = writer_started,
    .bytes = writer_bytes,
    .done = writer_done,
    .drain = writer_drain,
    .release = writer_release,
    .end_if_disconnected = true,
    .end_if_drained = true,
};

void cf_bridge_file_put(struct http_request *rq)
{
    hf_autofree char *path = file_path(rq);
    json_auto_t *argv =
        path == NULL ? NULL : json_pack("[sssss]", "/bin/sh", "-c", writing, "sh", path);
    const struct cf_launch_request request = {
        .argv = argv, .stdin_pipe = true, .kill_on_detach = true, .helper = true};
    struct cf_bridge_writer *w;

    if (argv == NULL)
        return;
    w = call_begin(rq, &cf_run_kind, sizeof *w);
    stdin_feed_init(&w->feed, writer_on_room, w);
    cf_run_begin(&w->run, &writer_ops, &request);
}
