/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_output.c - GET /v1/processes/{id}/output: the range and the format. Layer: dialects.
 */
#include "dialects/native/output/get_output.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialects/common/output_tail.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/native_handlers.h"
#include "transport/sse.h"

enum shape { SHAPE_RAW, SHAPE_JSON, SHAPE_FOLLOW, SHAPE_SSE };

struct output_request {
    struct since since;
    uint64_t until;                 /* UINT64_MAX: to the end */
    int64_t tail_lines, tail_bytes; /* -1: absent */
    int stream;                     /* 0: stdout, 1: stderr, -1: all */
    enum shape shape;
};

/* Last-Event-ID overrides the requested start: a browser that reconnects repeats its first URL. */
static int decode_last_id(const struct http_request *rq, struct output_request *a,
                          struct hf_error *err)
{
    const char *id = http_header(rq, "Last-Event-ID");
    uint64_t n;

    if (id == NULL)
        return 0;
    if (!text_to_u64(id, INT64_MAX, &n))
        return hf_fail_field(err, HF_E_bad_request, "Last-Event-ID",
                             "Last-Event-ID must be an offset, as in the id of an event");
    a->since = (struct since){SINCE_OFFSET, n};
    a->tail_lines = a->tail_bytes = -1;
    return 0;
}

static int decode_until(const struct http_request *rq, struct output_request *a,
                        struct hf_error *err)
{
    int64_t until = -1;

    if (native_decode_i64(rq, "until", 0, INT64_MAX, &until, err) < 0)
        return -1;
    if (until < 0)
        return 0;
    a->until = (uint64_t)until;
    if (a->since.kind == SINCE_OFFSET && a->since.n > a->until)
        return hf_fail_field(err, HF_E_bad_query, "until",
                             "\"until\" must not be less than \"since\"");
    return 0;
}

static int decode_start(const struct http_request *rq, struct output_request *a,
                        struct hf_error *err)
{
    bool since = http_query(rq, "since") != NULL, until = http_query(rq, "until") != NULL;
    bool lines = http_query(rq, "tail_lines") != NULL, bytes = http_query(rq, "tail_bytes") != NULL;

    if (native_decode_since(rq, &a->since, err) < 0 ||
        native_decode_i64(rq, "tail_lines", 0, INT64_MAX, &a->tail_lines, err) < 0 ||
        native_decode_i64(rq, "tail_bytes", 0, INT64_MAX, &a->tail_bytes, err) < 0)
        return -1;
    if ((lines && bytes) || ((lines || bytes) && (since || until)))
        return hf_fail_field(
            err, HF_E_bad_query, lines ? "tail_lines" : "tail_bytes",
            "\"tail_lines\" and \"tail_bytes\" cannot be combined with each other or with "
            "\"since\" and \"until\"");
    return decode_until(rq, a, err);
}

static int not_acceptable(struct hf_error *err)
{
    return hf_fail(err, HF_E_not_acceptable,
                   "output is available as application/octet-stream, as application/json without "
                   "follow, or as text/event-stream with it");
}

/*
 * Only an Accept that names event streams gets one: a plain client's "*" means bytes. An
 * EventSource cannot leave out `follow`, so it is implied.
 */
static int decode_shape(const struct http_request *rq, struct output_request *a,
                        struct hf_error *err)
{
    bool events = http_lists(rq, "Accept", SSE_TYPE);
    bool follow = events;

    if (native_decode_bool(rq, "follow", &follow, err) < 0)
        return -1;
    if (follow && a->until != UINT64_MAX)
        return hf_fail_field(err, HF_E_bad_query, "until",
                             "\"until\" cannot be combined with \"follow\"");
    if (follow && events)
        a->shape = SHAPE_SSE;
    else if (!follow && http_wants(rq, "application/json"))
        a->shape = SHAPE_JSON;
    else if (http_accepts(rq, "application/octet-stream"))
        a->shape = follow ? SHAPE_FOLLOW : SHAPE_RAW;
    else
        return not_acceptable(err);
    return 0;
}

static int output_decode(const struct http_request *rq, struct output_request *a,
                         struct hf_error *err)
{
    static const char *const streams[] = {"stdout", "stderr", NULL};

    *a = (struct output_request){
        .since = {SINCE_OFFSET, 0},
        .until = UINT64_MAX,
        .tail_lines = -1,
        .tail_bytes = -1,
        .stream = -1,
    };
    if (decode_start(rq, a, err) < 0 ||
        native_decode_choice(rq, "stream", streams, &a->stream, err) < 0 ||
        decode_shape(rq, a, err) < 0)
        return -1;
    return a->shape == SHAPE_SSE ? decode_last_id(rq, a, err) : 0;
}

/* Where the requested range begins, whether or not it is still retained, and where the output ends.
 * False: finding it takes long, so the request is resumed later. */
static bool wished_start(struct http_request *rq, const struct output_request *a, struct process *p,
                         int only_stream, uint64_t *from, uint64_t *next)
{
    const struct journal *j = process_journal(p);

    if (a->tail_lines >= 0)
        return tail_find(rq, p, TAIL_LINES, (uint64_t)a->tail_lines, only_stream, from, next);
    if (a->tail_bytes >= 0)
        return tail_find(rq, p, TAIL_BYTES, (uint64_t)a->tail_bytes, only_stream, from, next);
    *next = journal_next(j);
    switch (a->since.kind) {
    case SINCE_NOW: *from = *next; break;
    case SINCE_LAST: return tail_find(rq, p, TAIL_BYTES, a->since.n, only_stream, from, next);
    case SINCE_DEFAULT:
    case SINCE_SCREEN: /* a range of bytes has no snapshot before it, so everything */
        *from = journal_first(j);
        break;
    default: *from = a->since.n;
    }
    return true;
}

/* A terminal has one stream, its output; it has no stderr. */
static int stream_filter(int requested, bool pty)
{
    if (requested < 0 || (requested == 0 && pty))
        return -1;
    return requested == 0 ? STREAM_STDOUT : STREAM_STDERR;
}

int output_resolve(struct output_range *r, uint64_t until, const struct journal *j, uint64_t next,
                   struct hf_error *err)
{
    uint64_t first = journal_first(j);

    r->gap_from = r->from;
    if (r->from > next)
        return hf_fail_field(err, HF_E_range_not_satisfiable, "since",
                             "offset %llu is beyond the output, which ends at %llu",
                             (unsigned long long)r->from, (unsigned long long)next);
    r->until = until < next;
    r->to = r->until ? until : next;
    if (r->from < first)
        r->from = first < r->to || !r->until ? first : r->to;
    if (r->to < r->from)
        r->to = r->from;
    return 0;
}

static void add_offset(struct http_request *rq, const char *name, uint64_t at)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)at);
    http_add_header(rq, name, text);
}

void output_add_headers(struct http_request *rq, const struct output_range *r, bool follow)
{
    char text[48];

    add_offset(rq, "Holdfast-Offset", r->from);
    if (r->gap_from < r->from) {
        snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)r->gap_from,
                 (unsigned long long)r->from);
        http_add_header(rq, "Holdfast-Gap", text);
    }
    if (!follow)
        add_offset(rq, "Holdfast-Next", r->to);
}

int output_handle(struct http_request *rq, struct process *p, struct hf_error *err)
{
    static output_writer *const shapes[] = {
        [SHAPE_RAW] = output_raw,
        [SHAPE_JSON] = output_json,
        [SHAPE_FOLLOW] = output_follow,
        [SHAPE_SSE] = output_sse,
    };
    struct output_request request;
    struct output_range r;
    struct process_view v;
    uint64_t next;

    if (output_decode(rq, &request, err) < 0)
        return -1;
    process_view(p, &v);
    r.only_stream = stream_filter(request.stream, v.pty);
    if (!wished_start(rq, &request, p, r.only_stream, &r.from, &next))
        return 0;
    if (output_resolve(&r, request.until, process_journal(p), next, err) < 0)
        return -1;
    return shapes[request.shape](rq, p, &r, err);
}
