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
#include "dialects/common/follow.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/output/asciicast.h"
#include "dialects/native/output/get_output.h"

#define CAST_TYPE "application/x-asciicast"
#define CAST_SLICE_BYTES (16 * 1024) /* half a millisecond; escaping makes up to six times that */
/* the size in which a recording without a terminal is played */
#define PIPE_ROWS 24
#define PIPE_COLS 80

struct recording {
    struct native *native;
    const struct journal *journal; /* the process's */
    struct http_stream *stream;
    struct asciicast cast;
    struct journal_mark now; /* in effect at the next byte */
};

struct recording_request {
    struct since since;
    uint64_t until; /* UINT64_MAX: to the end */
    struct output_range range;
    bool follow;
};

/* --- marks and bytes ----------------------------------------------------------- */

/* Every mark up to the next byte, in order: each may carry a new size. */
static void sync_marks(struct recording *x, uint64_t at)
{
    struct journal_mark m;

    while (journal_mark_from(x->journal, x->now.number + 1, &m) && m.at <= at) {
        x->now = m;
        asciicast_resize(&x->cast, m.time_ms, m.rows, m.cols);
    }
}

/* After a gap only the last of them counts, and there may be very many. */
static void skip_marks(struct recording *x, uint64_t at)
{
    struct journal_mark m;

    if (!journal_mark_at(x->journal, at, &m) || m.number + 1 <= x->now.number + 1)
        return;
    x->now = m;
    asciicast_resize(&x->cast, m.time_ms, m.rows, m.cols);
}

static void feed(struct recording *x, const struct slice *s)
{
    size_t done = 0;

    while (done < s->len) {
        size_t n = s->len - done;
        struct journal_mark next;

        sync_marks(x, s->at + done);
        if (journal_mark_from(x->journal, x->now.number + 1, &next) && next.at - (s->at + done) < n)
            n = (size_t)(next.at - (s->at + done));
        asciicast_output(&x->cast, x->now.time_ms, (int8_t)s->stream, s->bytes + done, n);
        done += n;
    }
}

/* Lines are collected in the dialect's own buffer and sent in one piece. */
static void lines_begin(struct recording *x)
{
    buf_clear(&x->native->base.scratch);
}

static void lines_send(struct recording *x)
{
    struct buf *b = &x->native->base.scratch;
    struct iovec iov = {buf_data(b), b->len};

    if (b->len > 0)
        http_stream_write(x->stream, &iov, 1);
}

static void write_gap(struct recording *x, uint64_t from, uint64_t to)
{
    lines_begin(x);
    asciicast_gap(&x->cast, from, to);
    skip_marks(x, to);
    lines_send(x);
}

/* The bytes held back will not become a character. */
static void write_end(struct recording *x)
{
    lines_begin(x);
    asciicast_flush(&x->cast);
    lines_send(x);
}

/* --- a range ---------------------------------------------------------------------- */

struct recording_range {
    struct call call;
    struct recording recording;
    struct process *process; /* referenced */
    uint64_t at, to;         /* what remains to be written */
};

static void range_release(struct call *c)
{
    process_unref(list_entry(c, struct recording_range, call)->process);
}

static void range_step(struct recording_range *r)
{
    struct recording *x = &r->recording;
    uint64_t first = journal_first(x->journal), left;
    struct slice s;

    if (r->at < first) {
        uint64_t to = first < r->to ? first : r->to;

        write_gap(x, r->at, to);
        r->at = to;
    }
    lines_begin(x);
    left = r->to - r->at;
    s = journal_slice(x->journal, r->at, left < CAST_SLICE_BYTES ? left : CAST_SLICE_BYTES);
    feed(x, &s);
    r->at += s.len;
    if (r->at == r->to)
        sync_marks(x, r->at);
    lines_send(x);
}

static void range_pump(struct call *c)
{
    struct recording_range *r = list_entry(c, struct recording_range, call);

    while (r->at < r->to && http_stream_ready(c->out)) {
        if (!http_stream_has_time(c->out))
            return;
        range_step(r);
    }
    if (r->at == r->to) {
        write_end(&r->recording);
        call_stream_end(c);
    }
}

/* A range is bounded, so a shutdown lets it finish. */
static const struct call_kind range_kind = {
    .release = range_release,
    .drain = call_outlast_drain,
    .room = range_pump,
};

/* --- following ---------------------------------------------------------------------- */

/* A drain resets it: a regular end would mean that the process has exited. */
struct recording_follow {
    struct follow follow;
    struct recording recording;
    const struct recording_request *request; /* until it has started */
};

static struct recording *recording_of(struct follow *f)
{
    return &list_entry(f, struct recording_follow, follow)->recording;
}

static void follow_bytes(struct follow *f, const struct slice *s)
{
    struct recording *x = recording_of(f);

    lines_begin(x);
    feed(x, s);
    lines_send(x);
}

static void follow_gap(struct follow *f, uint64_t from, uint64_t to)
{
    write_gap(recording_of(f), from, to);
}

static bool follow_exited(struct follow *f, const struct exit_record *e)
{
    (void)e;
    write_end(recording_of(f));
    return true;
}

/* Reports a new size at once, before any output at that size, if everything before it was sent. */
static void follow_notice(struct follow *f, const struct viewer_notice *n)
{
    struct recording *x = recording_of(f);

    if (n->kind != NOTICE_SIZE || f->viewer == NULL || !http_stream_ready(f->out) ||
        viewer_offset(f->viewer) < journal_next(x->journal))
        return;
    lines_begin(x);
    sync_marks(x, viewer_offset(f->viewer));
    lines_send(x);
}

static const struct follow_ops follow_ops = {
    .bytes = follow_bytes,
    .gap = follow_gap,
    .exited = follow_exited,
    .notice = follow_notice,
};

/* --- decoding requests ------------------------------------------------------------ */

static int recording_decode(const struct http_request *rq, struct recording_request *a,
                            struct hf_error *err)
{
    int64_t until = -1;

    *a = (struct recording_request){.since = {SINCE_OFFSET, 0}, .until = UINT64_MAX};
    if (native_decode_since(rq, &a->since, err) < 0 ||
        native_decode_i64(rq, "until", 0, INT64_MAX, &until, err) < 0 ||
        native_decode_bool(rq, "follow", &a->follow, err) < 0)
        return -1;
    if (!http_accepts(rq, CAST_TYPE))
        return hf_fail(err, HF_E_not_acceptable, "a recording is available only as " CAST_TYPE "");
    if (until < 0)
        return 0;
    a->until = (uint64_t)until;
    if (a->follow)
        return hf_fail_field(err, HF_E_bad_query, "until",
                             "\"until\" cannot be combined with \"follow\"");
    if (a->since.kind == SINCE_OFFSET && a->since.n > a->until)
        return hf_fail_field(err, HF_E_bad_query, "until",
                             "\"until\" must not be less than \"since\"");
    return 0;
}

static int recording_resolve(struct recording_request *a, struct process *p, struct hf_error *err)
{
    struct journal *j = process_journal(p);
    uint64_t next = journal_next(j);
    struct process_view v;

    process_view(p, &v);
    switch (a->since.kind) {
    case SINCE_NOW: a->range.from = next; break;
    case SINCE_LAST: a->range.from = journal_tail_bytes(j, a->since.n, v.pty); break;
    case SINCE_DEFAULT:
    case SINCE_SCREEN: a->range.from = journal_first(j); break;
    default: a->range.from = a->since.n;
    }
    return output_resolve(&a->range, a->until, j, next, err);
}

/* --- the reply -------------------------------------------------------------------- */

/* Second 0 is the start of the process, or the first byte of a range that starts later. */
static void recording_init(struct recording *x, struct native *n, struct process *p, uint64_t from)
{
    struct process_view v;

    process_view(p, &v);
    x->native = n;
    x->journal = process_journal(p);
    x->cast.out = &n->base.scratch;
    x->cast.text = &n->joined;
    x->cast.cook = !v.pty;
    x->cast.lane = -1;
    if (!journal_mark_at(x->journal, from, &x->now))
        x->now = (struct journal_mark){
            .number = UINT64_MAX, .time_ms = v.created_ms, .rows = v.rows, .cols = v.cols};
    x->cast.base_ms = from == 0 ? v.created_ms : x->now.time_ms;
    x->cast.rows = v.pty ? x->now.rows : PIPE_ROWS;
    x->cast.cols = v.pty ? x->now.cols : PIPE_COLS;
}

static void write_head(struct recording *x, const struct process_view *v,
                       const struct recording_request *a)
{
    lines_begin(x);
    asciicast_begin(&x->cast, &(struct asciicast_head){
                                  .title = v->title != NULL ? v->title : v->label,
                                  .command = v->command,
                              });
    if (a->range.gap_from < a->range.from)
        asciicast_gap(&x->cast, a->range.gap_from, a->range.from);
    lines_send(x);
}

static void add_headers(struct http_request *rq, const struct recording_request *a,
                        const struct process_view *v)
{
    char text[80];

    output_add_headers(rq, &a->range, a->follow);
    snprintf(text, sizeof text, "inline; filename=\"%s.cast\"", v->id);
    http_add_header(rq, "Content-Disposition", text);
}

static void range_start(struct http_request *rq, struct process *p,
                        const struct recording_request *a, const struct process_view *v)
{
    struct recording_range *r = call_begin(rq, &range_kind, sizeof *r);

    r->process = process_ref(p);
    r->at = a->range.from;
    r->to = a->range.to;
    recording_init(&r->recording, native_of(rq), p, a->range.from);
    add_headers(rq, a, v);
    call_stream(&r->call, 200, CAST_TYPE);
    r->recording.stream = r->call.out;
    write_head(&r->recording, v, a);
    range_pump(&r->call);
}

static void follow_headers(struct http_request *rq)
{
    const struct recording_follow *r = http_user(rq);
    struct process_view v;

    process_view(r->follow.process, &v);
    add_headers(rq, r->request, &v);
}

static int follow_start(struct http_request *rq, struct process *p,
                        const struct recording_request *a, const struct process_view *v,
                        struct hf_error *err)
{
    const struct follow_open o = {
        .type = CAST_TYPE,
        .headers = follow_headers,
        .viewer =
            {
                .since = SINCE_OFFSET,
                .offset = a->range.from,
                .only_stream = -1,
                .slice_bytes = CAST_SLICE_BYTES,
                .heavy = true,
            },
    };
    struct recording_follow *r = hf_xalloc(sizeof *r);
    int rc;

    r->request = a;
    recording_init(&r->recording, native_of(rq), p, a->range.from);
    rc = follow_begin(&r->follow, &follow_ops, rq, p, &o, err);
    if (rc < 0)
        return rc;
    r->recording.stream = r->follow.out;
    write_head(&r->recording, v, a);
    return 0;
}

int recording_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    struct recording_request request;
    struct process_view v;

    if (recording_decode(rq, &request, err) < 0 || recording_resolve(&request, p, err) < 0)
        return -1;
    process_view(p, &v);
    if (http_method(rq) == HTTP_HEAD_M) {
        add_headers(rq, &request, &v);
        http_reply(rq, 200, CAST_TYPE, "", 0);
    } else if (request.follow) {
        return follow_start(rq, p, &request, &v, err);
    } else {
        range_start(rq, p, &request, &v);
    }
    return 0;
}
