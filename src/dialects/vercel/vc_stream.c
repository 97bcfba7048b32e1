/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_stream.c - a run and its output, or the logs, as lines of JSON
 *
 * The first line of a run is sent as soon as the command exists: when a connection breaks, clients
 * repeat a request whose reply has not begun. Blank lines keep a silent stream alive: clients would
 * take any other line for an error. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/follow.h"
#include "dialects/vercel/vc_lines.h"
#include "dialects/vercel/vercel.h"
#include "transport/sse.h"

#define TYPE "application/x-ndjson" /* exactly this: clients refuse it with a charset */
#define SLICE_BYTES (64 * 1024)

struct vc_stream {
    struct follow follow;
    struct vc_lines lines;
    struct vc_stream_options o;
    char session[BOX_SESSION_BYTES + 1];
    bool is_v1;
};

static struct vc_stream *stream_of(struct follow *f)
{
    return list_entry(f, struct vc_stream, follow);
}

/* A buffer for lines, valid until the next call. */
static struct buf *stream_text(struct follow *f)
{
    struct buf *out = &f->call.base->scratch;

    buf_clear(out);
    return out;
}

static void stream_send(struct follow *f, const struct buf *text)
{
    if (text->len > 0)
        follow_write(f, buf_data(text), text->len);
}

static void put_command(struct vc_stream *s, struct buf *out)
{
    struct buf line = {0};
    struct json_out o;

    json_out_init(&o, &line);
    json_open(&o, '{');
    json_key(&o, "command");
    vc_write_command(&o, s->follow.process, s->session, s->is_v1);
    json_close(&o, '}');
    json_put_ascii(out, buf_data(&line), line.len);
    buf_putc(out, '\n');
    buf_fini(&line);
}

/* A terminal's output counts as stdout. */
static void stream_bytes(struct follow *f, const struct slice *piece)
{
    struct vc_stream *s = stream_of(f);
    struct buf *out = stream_text(f);

    if (!s->o.logs)
        return;
    vc_lines_put(&s->lines, piece->stream == STREAM_STDERR, piece->bytes, piece->len, out);
    stream_send(f, out);
}

/* Every line that could report it would end the stream for its client; so stderr carries it. */
static void stream_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct vc_stream *s = stream_of(f);
    struct buf *out = stream_text(f);
    char note[120];
    int len = snprintf(note, sizeof note, "[holdfast: %llu bytes of output were lost]\n",
                       (unsigned long long)(to - from));

    if (!s->o.logs)
        return;
    vc_lines_end(&s->lines, out);
    vc_lines_put(&s->lines, true, note, (size_t)len, out);
    stream_send(f, out);
}

static bool stream_exited(struct follow *f, const struct exit_record *x)
{
    struct vc_stream *s = stream_of(f);
    struct buf *out = stream_text(f);

    (void)x;
    vc_lines_end(&s->lines, out);
    if (s->o.run)
        put_command(s, out);
    stream_send(f, out);
    return true;
}

/* The command keeps running under the next worker. */
static void stream_drain(struct follow *f)
{
    struct buf *out = stream_text(f);
    struct process_view v;
    char message[160];

    process_view(f->process, &v);
    snprintf(message, sizeof message,
             "the daemon is shutting down; the command keeps running as %s", v.id);
    vc_lines_end(&stream_of(f)->lines, out);
    vc_line_error(out, "shutting_down", message);
    stream_send(f, out);
}

#define OPS .bytes = stream_bytes, .gap = stream_gap, .exited = stream_exited

static const struct follow_ops log_ops = {OPS, .drain = stream_drain};
/* A stream that must not have another line is reset; clients do not repeat a request whose reply
 * had begun. */
static const struct follow_ops run_ops = {OPS};

/* --- setup -------------------------------------------------------------------------------- */

static void no_cache(struct http_request *rq)
{
    http_add_header(rq, "Cache-Control", "no-cache");
}

/* A run waits for its reader as any writer of a pipe does, unless it wants no output; a reader of
 * logs is one of many. */
static struct viewer_options stream_viewer(const struct vc_stream_options *o)
{
    struct viewer_options v = viewer_own_client(0);

    if (o->run && !o->logs) {
        v.since = SINCE_NOW;
        v.lossless = v.patient = false;
        v.never_holds = true;
    } else if (!o->run) {
        v = (struct viewer_options){.since = SINCE_OFFSET, .only_stream = -1};
    }
    v.slice_bytes = SLICE_BYTES;
    return v;
}

/* The head and the first line of a run are sent before anything else. */
static void stream_begun(struct vc_stream *s)
{
    struct follow *f = &s->follow;
    struct buf *out = stream_text(f);

    put_command(s, out);
    stream_send(f, out);
    if (!f->call.base->draining)
        return;
    if (!s->o.logs) { /* its process was still starting when the others were notified */
        follow_abort(f);
        return;
    }
    stream_drain(f);
    follow_end(f);
}

void vc_stream_begin(struct http_request *rq, struct process *p, const struct vc_stream_options *o)
{
    const struct follow_open open = {
        .type = TYPE,
        .viewer = stream_viewer(o),
        .headers = no_cache,
        .keep_alive = "\n",
        .keep_alive_ms = SSE_KEEPALIVE_MS,
    };
    struct vc_stream *s = hf_xalloc(sizeof *s);
    struct hf_error err = {0};

    s->o = *o;
    snprintf(s->session, sizeof s->session, "%s", http_param(rq, "session"));
    s->is_v1 = vc_is_v1(rq);
    if (follow_begin(&s->follow, o->logs ? &log_ops : &run_ops, rq, p, &open, &err) == 0) {
        if (o->run)
            stream_begun(s);
    } else if (o->run) { /* it runs: send nothing that would make the client start it again */
        vc_refuse(rq, 409, "conflict", err.detail);
    } else {
        vc_error(rq, &err);
    }
}

void vc_logs(struct http_request *rq)
{
    const struct vc_stream_options o = {.logs = true};
    struct process *p = vc_command(rq);

    if (p != NULL)
        vc_stream_begin(rq, p, &o);
}
