/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log.c - GET …/log: output as plain text, up to now or followed to the exit
 *
 * A regular end of the body means that the log is complete. When it is not (the reader fell out of
 * the ring, or the daemon shuts down), the connection is reset instead, which kubectl reports.
 * Layer: dialects.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/follow.h"
#include "dialects/common/output_tail.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_log_decode.h"

#define LOG_TYPE "text/plain"

struct log_request {
    struct process *process;
    uint64_t from, until; /* until UINT64_MAX: follow */
    uint64_t limit;       /* on the bytes sent */
    bool timestamps;
};

struct kube_log {
    struct follow follow;
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
    if (!kube_container(rq, &a->process))
        return false;
    if (a->process == NULL)
        http_reply(rq, 200, LOG_TYPE, "", 0); /* no output yet */
    return a->process != NULL;
}

/* --- the stream ------------------------------------------------------------------------------- */

static void log_write(struct kube_log *l, const char *bytes, size_t len)
{
    size_t n = len < l->request.limit ? len : (size_t)l->request.limit;

    l->request.limit -= l->request.limit != UINT64_MAX ? n : 0;
    if (n > 0)
        follow_write(&l->follow, bytes, n);
}

static void log_bytes(struct follow *f, const struct slice *s)
{
    struct kube_log *l = list_entry(f, struct kube_log, follow);
    struct buf *out = &f->call.base->scratch;
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
        follow_end(f);
}

static const struct follow_ops follow_ops = {.bytes = log_bytes};

void kube_log(struct http_request *rq)
{
    struct log_request request = {0};
    struct follow_open open = {
        .type = LOG_TYPE,
        .viewer = {.since = SINCE_OFFSET, .verbatim = true, .only_stream = -1},
    };
    struct log_numbers numbers;
    struct hf_error err;
    struct kube_log *l;

    if (!kube_is_pod(rq) || !decode_numbers(rq, &numbers) || !decode_process(rq, &request))
        return;
    if (!set_range(rq, &request, &numbers))
        return;
    if (request.from >= request.until) {
        http_reply(rq, 200, LOG_TYPE, "", 0);
        return;
    }
    l = hf_xalloc(sizeof *l);
    l->request = request;
    open.viewer.offset = request.from;
    if (follow_begin(&l->follow, &follow_ops, rq, request.process, &open, &err) < 0)
        http_reply_error(rq, &err);
}
