/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_stream.c - a run and its output, or the logs, as lines of JSON
 *
 * The first line of a run is sent as soon as the command exists: when a connection breaks, clients
 * repeat a request whose reply has not begun. Blank lines keep a silent stream alive: clients would
 * take any other line for an error. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/vercel/vc_lines.h"
#include "dialects/vercel/vercel.h"
#include "engine/stream/viewer.h"
#include "transport/sse.h"

#define TYPE "application/x-ndjson" /* exactly this: clients refuse it with a charset */
#define SLICE_BYTES (64 * 1024)

struct vc_stream {
    struct pending pending;
    struct vercel *vercel;
    struct http_stream *out;
    struct process *process; /* referenced */
    struct viewer *viewer;   /* NULL: only waits for the exit */
    struct exit_waiter waiter;
    struct vc_lines lines;
    struct vc_stream_options o;
    char session[BOX_SESSION_BYTES + 1];
};

static void stream_free(struct pending *p)
{
    struct vc_stream *s = list_entry(p, struct vc_stream, pending);

    viewer_detach(s->viewer);
    exit_waiter_cancel(&s->waiter);
    process_unref(s->process);
    pending_fini(p);
    free(s);
}

static void stream_send(struct vc_stream *s, const struct buf *text)
{
    struct iovec iov = {buf_data(text), text->len};

    if (text->len > 0)
        http_stream_write(s->out, &iov, 1);
}

static void put_command(struct vc_stream *s, struct buf *out)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    json_key(&o, "command");
    vc_write_command(&o, s->process, s->session);
    json_close(&o, '}');
    json_put_ascii(out, buf_data(&line), line.len);
    buf_putc(out, '\n');
    buf_fini(&line);
}

/* A buffer for lines, valid until the next call. */
static struct buf *stream_text(struct vc_stream *s)
{
    struct buf *out = &s->vercel->base.scratch;

    buf_clear(out);
    return out;
}

static void stream_finish(struct vc_stream *s)
{
    struct buf *out = stream_text(s);

    vc_lines_end(&s->lines, out);
    if (s->o.run)
        put_command(s, out);
    stream_send(s, out);
    http_stream_end(s->out);
    stream_free(&s->pending);
}

/*
 * The command keeps running under the next worker. A stream that must not have another line is
 * reset; clients do not repeat a request whose reply had begun.
 */
static void stream_drain(struct pending *p)
{
    struct vc_stream *s = list_entry(p, struct vc_stream, pending);
    struct buf *out = stream_text(s);
    struct process_view v;
    char message[160];

    if (!s->o.logs) {
        http_stream_abort(s->out);
        stream_free(p);
        return;
    }
    process_view(s->process, &v);
    snprintf(message, sizeof message,
             "the daemon is shutting down; the command keeps running as %s", v.id);
    vc_lines_end(&s->lines, out);
    vc_line_error(out, "shutting_down", message);
    stream_send(s, out);
    http_stream_end(s->out);
    stream_free(p);
}

static const struct pending_kind stream_kind = {.drain = stream_drain, .free = stream_free};

/* --- callbacks of the viewer ------------------------------------------------------------- */

static bool stream_ready(void *arg)
{
    struct vc_stream *s = arg;

    return s->out != NULL && http_stream_ready(s->out);
}

/* A terminal's output counts as stdout. */
static void stream_bytes(void *arg, const struct slice *piece)
{
    struct vc_stream *s = arg;
    struct buf *out = stream_text(s);

    vc_lines_put(&s->lines, piece->stream == STREAM_STDERR, piece->bytes, piece->len, out);
    stream_send(s, out);
}

/* Every line that could report it would end the stream for its client; so stderr carries it. */
static void stream_gap(void *arg, uint64_t from, uint64_t to)
{
    struct vc_stream *s = arg;
    struct buf *out = stream_text(s);
    char note[120];
    int len = snprintf(note, sizeof note, "[holdfast: %llu bytes of output were lost]\n",
                       (unsigned long long)(to - from));

    vc_lines_end(&s->lines, out);
    vc_lines_put(&s->lines, true, note, (size_t)len, out);
    stream_send(s, out);
}

static void stream_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    stream_finish(arg);
}

static const struct viewer_ops viewer_ops = {
    .ready = stream_ready,
    .bytes = stream_bytes,
    .gap = stream_gap,
    .exited = stream_exited,
};

static void stream_on_exit(void *arg, struct process *p)
{
    (void)p;
    stream_finish(arg);
}

/* --- callbacks of the connection --------------------------------------------------------- */

static void stream_on_room(void *arg)
{
    struct vc_stream *s = arg;

    if (s->viewer != NULL)
        viewer_pump(s->viewer);
}

static void stream_on_disconnect(void *arg)
{
    stream_free(&((struct vc_stream *)arg)->pending);
}

static const struct http_stream_ops out_ops = {.on_drain = stream_on_room,
                                               .on_disconnect = stream_on_disconnect};

/* --- setup -------------------------------------------------------------------------------- */

/* A run waits for its reader as any writer of a pipe does; a reader of logs is one of many. */
static int stream_watch(struct vc_stream *s, const struct http_request *rq, struct hf_error *err)
{
    struct viewer_options o = viewer_own_client(0);

    if (!s->o.run)
        o = (struct viewer_options){.since = SINCE_OFFSET,
                                    .read_only = true,
                                    .guest = caller_is_guest(rq),
                                    .name = http_peer(rq),
                                    .only_stream = -1};
    o.slice_bytes = SLICE_BYTES;
    return viewer_attach(s->process, &o, &viewer_ops, s, &s->viewer, err);
}

static struct vc_stream *stream_new(struct http_request *rq, struct process *p,
                                    const struct vc_stream_options *o)
{
    struct vc_stream *s = hf_xalloc(sizeof *s);

    s->vercel = vc_of(rq);
    s->process = process_ref(p);
    s->o = *o;
    snprintf(s->session, sizeof s->session, "%s", http_param(rq, "session"));
    list_init(&s->waiter.link);
    s->waiter.fn = stream_on_exit;
    s->waiter.arg = s;
    pending_init(&s->pending, &s->vercel->base.pending, &stream_kind);
    return s;
}

/* Replies 200, and sends only lines from then on. */
static void stream_open(struct http_request *rq, struct vc_stream *s)
{
    struct buf *out = stream_text(s);

    http_add_header(rq, "Cache-Control", "no-cache");
    s->out = http_stream_start(rq, 200, TYPE, &out_ops, s);
    http_stream_keep_alive(s->out, "\n", SSE_KEEPALIVE_MS);
    if (s->o.run)
        put_command(s, out);
    stream_send(s, out);
    if (s->viewer == NULL)
        process_wait_exit(s->process, &s->waiter);
    if (s->vercel->base.draining) /* its process was still starting when the others were notified */
        stream_drain(&s->pending);
}

void vc_stream_begin(struct http_request *rq, struct process *p, const struct vc_stream_options *o)
{
    struct vc_stream *s = stream_new(rq, p, o);
    struct hf_error err = {0};

    if (!o->logs || stream_watch(s, rq, &err) == 0) {
        stream_open(rq, s);
        return;
    }
    stream_free(&s->pending);
    if (o->run) /* it runs: send nothing that would make the client start it again */
        vc_refuse(rq, 409, "conflict", err.detail);
    else
        vc_error(rq, &err);
}

void vc_logs(struct http_request *rq)
{
    const struct vc_stream_options o = {.logs = true};
    struct process *p = vc_command(rq);

    if (p != NULL)
        vc_stream_begin(rq, p, &o);
}
