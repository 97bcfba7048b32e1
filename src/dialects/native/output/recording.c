/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.c - GET /v1/processes/{id}/recording: a range of output as asciicast v2
 *
 * The journal's marks have the times and sizes. A range is written slice by slice, as the socket
 * accepts it and the loop has time. With `follow` it is a viewer, and continues to the exit. A
 * marker reports output that was overwritten in between. Layer: dialects.
 */
#include <stdio.h>

#include "base/mem.h"
#include "dialects/common/caller.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/output/asciicast.h"
#include "engine/stream/viewer.h"

#define CAST_TYPE "application/x-asciicast"
#define CAST_SLICE_BYTES (16 * 1024) /* half a millisecond; escaping makes up to six times that */
/* the size in which a recording without a terminal is played */
#define PIPE_ROWS 24
#define PIPE_COLS 80

struct recording {
    struct op op;
    struct http_stream *stream;
    struct process *process; /* referenced */
    struct viewer *viewer;   /* NULL without follow */
    struct asciicast cast;
    uint64_t at, to;         /* without follow: what remains to be written */
    struct journal_mark now; /* in effect at the next byte */
};

struct recording_request {
    struct since since;
    uint64_t from, to, gap_from;
    bool follow, until;
};

/* --- marks and bytes ----------------------------------------------------------- */

/* Every mark up to the next byte, in order: each may carry a new size. */
static void sync_marks(struct recording *x, uint64_t at)
{
    const struct journal *j = process_journal(x->process);
    struct journal_mark m;

    while (journal_mark_from(j, x->now.number + 1, &m) && m.at <= at) {
        x->now = m;
        asciicast_resize(&x->cast, m.time_ms, m.rows, m.cols);
    }
}

/* After a gap only the last of them counts, and there may be very many. */
static void skip_marks(struct recording *x, uint64_t at)
{
    struct journal_mark m;

    if (!journal_mark_at(process_journal(x->process), at, &m) || m.number + 1 <= x->now.number + 1)
        return;
    x->now = m;
    asciicast_resize(&x->cast, m.time_ms, m.rows, m.cols);
}

static void feed(struct recording *x, const struct slice *s)
{
    const struct journal *j = process_journal(x->process);
    size_t done = 0;

    while (done < s->len) {
        size_t n = s->len - done;
        struct journal_mark next;

        sync_marks(x, s->at + done);
        if (journal_mark_from(j, x->now.number + 1, &next) && next.at - (s->at + done) < n)
            n = (size_t)(next.at - (s->at + done));
        asciicast_output(&x->cast, x->now.time_ms, (int8_t)s->stream, s->bytes + done, n);
        done += n;
    }
}

/* Lines are collected in the dialect's own buffer and sent in one piece. */
static void lines_begin(struct recording *x)
{
    buf_clear(&x->op.native->base.scratch);
}

static void lines_send(struct recording *x)
{
    struct buf *b = &x->op.native->base.scratch;
    struct iovec iov = {buf_data(b), b->len};

    if (b->len > 0)
        http_stream_write(x->stream, &iov, 1);
}

/* --- the end --------------------------------------------------------------------- */

static void recording_free(struct recording *x)
{
    viewer_detach(x->viewer);
    native_op_fini(&x->op);
    process_unref(x->process);
    free(x);
}

static void recording_end(struct recording *x)
{
    lines_begin(x);
    asciicast_flush(&x->cast);
    lines_send(x);
    http_stream_end(x->stream);
    recording_free(x);
}

/* A range is bounded, so a shutdown lets it finish. A followed recording is reset: a regular end
 * would mean that the process has exited. */
static void recording_on_drain(struct op *op)
{
    struct recording *x = list_entry(op, struct recording, op);

    if (x->viewer == NULL)
        return;
    http_stream_abort(x->stream);
    recording_free(x);
}

static void recording_on_free(struct op *op)
{
    recording_free(list_entry(op, struct recording, op));
}

static const struct op_kind recording_kind = {.on_drain = recording_on_drain,
                                              .on_free = recording_on_free};

static void recording_on_disconnect(void *arg)
{
    recording_free(arg);
}

/* --- a range ---------------------------------------------------------------------- */

static void range_step(struct recording *x, const struct journal *j)
{
    uint64_t first = journal_first(j), left;
    struct slice s;

    lines_begin(x);
    if (x->at < first) {
        uint64_t to = first < x->to ? first : x->to;

        asciicast_gap(&x->cast, x->at, to);
        x->at = to;
        skip_marks(x, to);
    }
    left = x->to - x->at;
    s = journal_slice(j, x->at, left < CAST_SLICE_BYTES ? left : CAST_SLICE_BYTES);
    feed(x, &s);
    x->at += s.len;
    if (x->at == x->to)
        sync_marks(x, x->at);
    lines_send(x);
}

static void range_pump(void *arg)
{
    struct recording *x = arg;
    const struct journal *j = process_journal(x->process);

    while (x->at < x->to && http_stream_ready(x->stream)) {
        if (!http_stream_has_time(x->stream))
            return;
        range_step(x, j);
    }
    if (x->at == x->to)
        recording_end(x);
}

static const struct http_stream_ops range_ops = {.on_drain = range_pump,
                                                 .on_disconnect = recording_on_disconnect};

/* --- following ---------------------------------------------------------------------- */

static bool follow_ready(void *arg)
{
    struct recording *x = arg;

    return x->stream != NULL && http_stream_ready(x->stream);
}

static void follow_bytes(void *arg, const struct slice *s)
{
    struct recording *x = arg;

    lines_begin(x);
    feed(x, s);
    lines_send(x);
}

static void follow_gap(void *arg, uint64_t from, uint64_t to)
{
    struct recording *x = arg;

    lines_begin(x);
    asciicast_gap(&x->cast, from, to);
    skip_marks(x, to);
    lines_send(x);
}

static void follow_exited(void *arg, const struct exit_record *e)
{
    (void)e;
    recording_end(arg);
}

/* Reports a new size at once, before any output at that size, if everything before it was sent. */
static void follow_notice(void *arg, const struct viewer_notice *n)
{
    struct recording *x = arg;

    if (n->kind != NOTICE_SIZE || !follow_ready(x) ||
        viewer_offset(x->viewer) < journal_next(process_journal(x->process)))
        return;
    lines_begin(x);
    sync_marks(x, viewer_offset(x->viewer));
    lines_send(x);
}

static const struct viewer_ops viewer_ops = {
    .ready = follow_ready,
    .bytes = follow_bytes,
    .gap = follow_gap,
    .exited = follow_exited,
    .notice = follow_notice,
};

static void follow_on_drain(void *arg)
{
    struct recording *x = arg;

    viewer_pump(x->viewer);
}

static const struct http_stream_ops follow_ops = {.on_drain = follow_on_drain,
                                                  .on_disconnect = recording_on_disconnect};

static int follow_attach(struct recording *x, const struct http_request *rq, uint64_t from,
                         struct hf_error *err)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = from,
        .read_only = true,
        .guest = caller_is_guest(rq),
        .name = http_peer(rq),
        .only_stream = -1,
        .slice_bytes = CAST_SLICE_BYTES,
        .heavy = true,
    };

    return viewer_attach(x->process, &o, &viewer_ops, x, &x->viewer, err);
}

/* --- decoding requests ------------------------------------------------------------ */

static int recording_decode(const struct http_request *rq, struct recording_request *a,
                            struct hf_error *err)
{
    int64_t until = -1;

    *a = (struct recording_request){.since = {SINCE_OFFSET, 0}, .to = UINT64_MAX};
    if (native_decode_since(rq, &a->since, err) < 0 ||
        native_decode_i64(rq, "until", 0, INT64_MAX, &until, err) < 0 ||
        native_decode_bool(rq, "follow", &a->follow, err) < 0)
        return -1;
    if (!http_accepts(rq, CAST_TYPE))
        return hf_fail(err, HF_E_not_acceptable, "a recording is available only as " CAST_TYPE "");
    if (until < 0)
        return 0;
    a->to = (uint64_t)until;
    a->until = true;
    if (a->follow)
        return hf_fail_field(err, HF_E_bad_query, "until",
                             "\"until\" cannot be combined with \"follow\"");
    if (a->since.kind == SINCE_OFFSET && a->since.n > a->to)
        return hf_fail_field(err, HF_E_bad_query, "until",
                             "\"until\" must not be less than \"since\"");
    return 0;
}

static int recording_resolve(struct recording_request *a, struct process *p, struct hf_error *err)
{
    struct journal *j = process_journal(p);
    uint64_t first = journal_first(j), next = journal_next(j);
    struct process_view v;

    process_view(p, &v);
    switch (a->since.kind) {
    case SINCE_NOW: a->from = next; break;
    case SINCE_LAST: a->from = journal_tail_bytes(j, a->since.n, v.pty); break;
    case SINCE_DEFAULT:
    case SINCE_SCREEN: a->from = first; break;
    default: a->from = a->since.n;
    }
    if (a->from > next)
        return hf_fail_field(err, HF_E_range_not_satisfiable, "since",
                             "offset %llu is beyond the output, which ends at %llu",
                             (unsigned long long)a->from, (unsigned long long)next);
    if (a->to > next)
        a->to = next;
    if (a->to < a->from)
        a->to = a->from;
    a->gap_from = a->from;
    if (a->from < first)
        a->from = first < a->to || !a->until ? first : a->to;
    return 0;
}

/* --- the reply -------------------------------------------------------------------- */

/* Second 0 is the start of the process, or the first byte of a range that starts later. */
static void cast_init(struct recording *x, uint64_t from)
{
    struct native *n = x->op.native;
    struct process_view v;

    process_view(x->process, &v);
    x->cast.out = &n->base.scratch;
    x->cast.text = &n->joined;
    x->cast.cook = !v.pty;
    x->cast.lane = -1;
    if (!journal_mark_at(process_journal(x->process), from, &x->now))
        x->now = (struct journal_mark){
            .number = UINT64_MAX, .time_ms = v.created_ms, .rows = v.rows, .cols = v.cols};
    x->cast.base_ms = from == 0 ? v.created_ms : x->now.time_ms;
    x->cast.rows = v.pty ? x->now.rows : PIPE_ROWS;
    x->cast.cols = v.pty ? x->now.cols : PIPE_COLS;
}

static void write_head(struct recording *x)
{
    struct process_view v;

    process_view(x->process, &v);
    asciicast_begin(&x->cast, &(struct asciicast_head){
                                  .title = v.title != NULL ? v.title : v.label,
                                  .command = v.command,
                              });
}

static void add_headers(struct http_request *rq, const struct recording_request *a,
                        const struct process_view *v)
{
    char text[80];

    snprintf(text, sizeof text, "%llu", (unsigned long long)a->from);
    http_add_header(rq, "Holdfast-Offset", text);
    if (a->gap_from < a->from) {
        snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)a->gap_from,
                 (unsigned long long)a->from);
        http_add_header(rq, "Holdfast-Gap", text);
    }
    if (!a->follow) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)a->to);
        http_add_header(rq, "Holdfast-Next", text);
    }
    snprintf(text, sizeof text, "inline; filename=\"%s.cast\"", v->id);
    http_add_header(rq, "Content-Disposition", text);
}

static void recording_start(struct http_request *rq, struct process *p,
                            const struct recording_request *a)
{
    struct recording *x = hf_xalloc(sizeof *x);
    struct process_view v;
    struct hf_error err;

    process_view(p, &v);
    native_op_init(&x->op, native_of(rq), &recording_kind);
    x->process = process_ref(p);
    x->at = a->from;
    x->to = a->to;
    cast_init(x, a->from);
    if (a->follow && follow_attach(x, rq, a->from, &err) < 0) {
        recording_free(x);
        http_reply_error(rq, &err);
        return;
    }
    add_headers(rq, a, &v);
    x->stream = http_stream_start(rq, 200, CAST_TYPE, a->follow ? &follow_ops : &range_ops, x);
    lines_begin(x);
    write_head(x);
    if (a->gap_from < a->from)
        asciicast_gap(&x->cast, a->gap_from, a->from);
    lines_send(x);
    if (!a->follow)
        range_pump(x);
}

void recording_handle(struct http_request *rq)
{
    struct process *p = native_decode_process(rq);
    struct recording_request request;
    struct process_view v;
    struct hf_error err;

    if (p == NULL)
        return;
    if (recording_decode(rq, &request, &err) < 0 || recording_resolve(&request, p, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    if (http_method(rq) == HTTP_HEAD_M) {
        process_view(p, &v);
        add_headers(rq, &request, &v);
        http_reply(rq, 200, CAST_TYPE, "", 0);
        return;
    }
    recording_start(rq, p, &request);
}
