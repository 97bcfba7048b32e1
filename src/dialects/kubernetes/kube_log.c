/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log.c - GET …/log: output as plain text, up to now or followed to the exit
 *
 * A regular end of the body means that the log is complete. When it is not (the reader fell out of
 * the ring, or the daemon shuts down), the connection is reset instead, which kubectl reports.
 * Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/caller.h"
#include "dialects/common/output_tail.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_container.h"
#include "dialects/kubernetes/kube_log_decode.h"
#include "engine/stream/viewer.h"

#define LOG_TYPE "text/plain"

struct log_request {
    struct process *process;
    uint64_t from, until; /* until UINT64_MAX: follow */
    uint64_t limit;       /* on the bytes sent */
    bool timestamps;
};

struct kube_log {
    struct pending pending;
    struct kube *kube;
    struct http_stream *stream;
    struct viewer *viewer;
    struct log_request request;
    bool inside; /* inside a line */
};

/* --- decoding requests ---------------------------------------------------------------------- */

static bool decode_number(struct http_request *rq, const char *name, int64_t *out)
{
    const char *text = http_query(rq, name);

    if (text == NULL || text[0] == '\0' || text_to_i64(text, 0, INT64_MAX / 1000, out))
        return true;
    kube_refuse(rq, 400, "%s must be a non-negative integer", name);
    return false;
}

static bool decode_since(struct http_request *rq, int64_t *wall_ms)
{
    const char *text = http_query(rq, "sinceTime");
    int64_t seconds = -1;

    *wall_ms = 0;
    if (!decode_number(rq, "sinceSeconds", &seconds))
        return false;
    if (seconds >= 0)
        *wall_ms = clock_wall_ms() - seconds * 1000;
    if (text == NULL || text[0] == '\0' || log_time_parse(text, wall_ms))
        return true;
    kube_refuse(rq, 400, "sinceTime must be an RFC 3339 time");
    return false;
}

/*
 * The first byte written at that time or later. Marks are ordered by time unless the clock was set
 * back. The binary search is right unless that happened within the retained output.
 */
static uint64_t offset_since(const struct journal *j, int64_t wall_ms)
{
    uint64_t low = 0, high = 0;
    struct journal_mark m;

    if (journal_mark_from(j, 0, &m))
        low = m.number;
    if (journal_mark_at(j, journal_next(j), &m))
        high = m.number + 1;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (journal_mark_from(j, mid, &m) && m.time_ms >= wall_ms)
            high = mid;
        else
            low = mid + 1;
    }
    return journal_mark_from(j, low, &m) ? m.at : journal_next(j);
}

struct log_numbers {
    int64_t tail, limit, since_ms;
};

static bool decode_numbers(struct http_request *rq, struct log_numbers *n)
{
    n->tail = n->limit = -1;
    return decode_number(rq, "tailLines", &n->tail) && decode_number(rq, "limitBytes", &n->limit) &&
           decode_since(rq, &n->since_ms);
}

/* False: finding the last lines takes long, so the request is resumed later. */
static bool set_range(struct http_request *rq, struct log_request *a, const struct log_numbers *n)
{
    const struct journal *j = process_journal(a->process);
    uint64_t tail = 0, since, next = journal_next(j);

    if (n->tail >= 0 && !tail_find(rq, a->process, TAIL_LINES, (uint64_t)n->tail, -1, &tail, &next))
        return false;
    since = n->since_ms > 0 ? offset_since(j, n->since_ms) : 0;
    a->from = journal_first(j);
    a->from = since > a->from ? since : a->from;
    a->from = tail > a->from ? tail : a->from;
    a->limit = n->limit > 0 ? (uint64_t)n->limit : UINT64_MAX;
    a->until = kube_flag(rq, "follow") ? UINT64_MAX : next;
    a->timestamps = kube_flag(rq, "timestamps");
    return true;
}

static bool decode_process(struct http_request *rq, struct log_request *a)
{
    const char *name = http_query(rq, "container");

    if (name == NULL || name[0] == '\0')
        name = KUBE_MAIN;
    if (kube_flag(rq, "previous")) {
        kube_refuse(rq, 400,
                    "previous terminated container \"%.253s\" in pod \"" KUBE_POD "\" not found",
                    name);
        return false;
    }
    a->process = container_find(kube_of(rq)->engine, name);
    if (a->process != NULL)
        return true;
    if (strcmp(name, KUBE_MAIN) == 0)
        http_reply(rq, 200, LOG_TYPE, "", 0); /* no output yet */
    else
        kube_refuse(rq, 400, "container %.253s is not valid for pod " KUBE_POD, name);
    return false;
}

/* --- the stream ------------------------------------------------------------------------------- */

static void log_free(struct kube_log *l)
{
    struct viewer *v = l->viewer;

    l->viewer = NULL;
    viewer_detach(v);
    pending_fini(&l->pending);
    free(l);
}

static void log_done(struct kube_log *l)
{
    http_stream_end(l->stream);
    log_free(l);
}

static void log_cut(struct kube_log *l)
{
    http_stream_abort(l->stream);
    log_free(l);
}

static void log_on_shutdown(struct pending *p)
{
    log_cut(list_entry(p, struct kube_log, pending));
}

static void log_on_free(struct pending *p)
{
    log_free(list_entry(p, struct kube_log, pending));
}

static const struct pending_kind log_kind = {.drain = log_on_shutdown, .free = log_on_free};

static bool log_ready(void *arg)
{
    return http_stream_ready(((struct kube_log *)arg)->stream);
}

static void log_write(struct kube_log *l, const char *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes,
                        len < l->request.limit ? len : (size_t)l->request.limit};

    l->request.limit -= l->request.limit != UINT64_MAX ? iov.iov_len : 0;
    if (iov.iov_len > 0)
        http_stream_write(l->stream, &iov, 1);
}

static void log_bytes(void *arg, const struct slice *s)
{
    struct kube_log *l = arg;
    struct buf *out = &l->kube->scratch;
    uint64_t left = l->request.until > s->at ? l->request.until - s->at : 0;
    size_t len = s->len < left ? s->len : (size_t)left;

    if (l->request.timestamps) {
        buf_clear(out);
        log_put_timed(out, s->bytes, len, s->time_ms, &l->inside);
        log_write(l, buf_data(out), out->len);
    } else {
        log_write(l, s->bytes, len);
    }
    if (s->at + s->len >= l->request.until || l->request.limit == 0)
        log_done(l);
}

static uint64_t log_sent(void *arg)
{
    const struct kube_log *l = arg;

    return l->stream != NULL ? http_stream_count_sent(l->stream) : 0;
}

static uint64_t log_confirmed(void *arg)
{
    const struct kube_log *l = arg;

    return l->stream != NULL ? http_stream_count_taken(l->stream) : 0;
}

static void log_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)from, (void)to;
    log_cut(arg);
}

static void log_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    log_done(arg);
}

static const struct viewer_ops viewer_ops = {
    .ready = log_ready,
    .bytes = log_bytes,
    .sent = log_sent,
    .confirmed = log_confirmed,
    .by_kernel = true,
    .gap = log_gap,
    .exited = log_exited,
};

static void log_on_drain(void *arg)
{
    viewer_pump(((struct kube_log *)arg)->viewer);
}

static void log_on_disconnect(void *arg)
{
    log_free(arg);
}

static const struct http_stream_ops stream_ops = {.on_drain = log_on_drain,
                                                  .on_disconnect = log_on_disconnect};

static void log_begin(struct http_request *rq, const struct log_request *request)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = request->from,
        .read_only = true,
        .guest = caller_is_guest(rq),
        .verbatim = true,
        .name = http_peer(rq),
        .only_stream = -1,
    };
    struct kube *k = kube_of(rq);
    struct kube_log *l = hf_xalloc(sizeof *l);
    struct hf_error err;

    l->kube = k;
    l->request = *request;
    l->request.process = NULL; /* owned by the viewer */
    pending_init(&l->pending, &k->pending, &log_kind);
    if (viewer_attach(request->process, &o, &viewer_ops, l, &l->viewer, &err) < 0) {
        log_free(l);
        kube_error(rq, &err);
        return;
    }
    l->stream = http_stream_start(rq, 200, LOG_TYPE, &stream_ops, l);
}

void kube_log(struct http_request *rq)
{
    struct log_request request = {0};
    struct log_numbers numbers;

    if (!kube_is_pod(rq) || !decode_numbers(rq, &numbers) || !decode_process(rq, &request))
        return;
    if (!set_range(rq, &request, &numbers))
        return;
    if (request.from >= request.until || http_method(rq) == HTTP_HEAD_M)
        http_reply(rq, 200, LOG_TYPE, "", 0);
    else
        log_begin(rq, &request);
}
