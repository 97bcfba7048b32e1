/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_logs.c - GET …/logs: the output that is held, and what follows
 *
 * The viewer never slows the process down: a client that is too slow is notified of what it has
 * missed. Layer: dialects.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/follow.h"
#include "dialects/common/output_tail.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_log_format.h"

struct logs_request {
    bool out, err, follow, timestamps;
    int64_t since_ms, until_ms; /* 0: none */
    int64_t tail;               /* lines; -1: all */
    uint64_t from;              /* where that begins */
};

struct logs {
    struct follow follow;
    struct logs_request request;
    struct log_form form;
    struct timer *timer; /* until_ms */
    uint64_t until;      /* offset: the end of the output at the time of the request */
};

static void logs_release(struct follow *f)
{
    timer_close(((struct logs *)f)->timer);
}

static bool logs_wants(const struct logs *l, const struct slice *s)
{
    if (s->stream == STREAM_STDERR ? !l->request.err : !l->request.out)
        return false;
    return s->time_ms >= l->request.since_ms;
}

static void logs_bytes(struct follow *f, const struct slice *s)
{
    struct logs *l = (struct logs *)f;
    struct buf *b = &f->call.base->scratch;
    uint64_t end = s->at + s->len;
    struct slice part = *s;

    if (end > l->until)
        part.len = (size_t)(l->until - s->at);
    if (l->request.until_ms > 0 && s->time_ms > l->request.until_ms) {
        follow_end(f);
        return;
    }
    if (logs_wants(l, s) && part.len > 0) {
        buf_clear(b);
        log_form_put(&l->form, b, &part);
        follow_write(f, buf_data(b), b->len);
    }
    if (end >= l->until)
        follow_end(f);
}

/*
 * Output that was already lost at the time of the request is not reported; output lost while
 * reading is. Clients treat the frame as a failure. A terminal's output has no frames, so its
 * response is aborted instead.
 */
static void logs_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct buf *b = &f->call.base->scratch;

    if (!((struct logs *)f)->form.framed) {
        follow_abort(f);
        return;
    }
    docker_frame_gap(b, true, to - from);
    follow_write(f, buf_data(b), b->len);
    follow_end(f);
}

/* There may be nothing to send at all. */
static void logs_replay_done(struct follow *f, uint64_t offset)
{
    if (offset >= ((struct logs *)f)->until)
        follow_end(f);
}

static const struct follow_ops logs_ops = {
    .bytes = logs_bytes,
    .gap = logs_gap,
    .replay_done = logs_replay_done,
    .release = logs_release,
};

static void logs_on_timer(struct timer *t, void *arg)
{
    (void)t;
    follow_end(arg);
}

/* --- start -------------------------------------------------------------------------------- */

/* False: it takes long, and the handler will be called again. */
static bool logs_find_start(struct http_request *rq, struct process *p,
                            struct logs_request *request)
{
    uint64_t next;

    request->from = journal_first(process_journal(p));
    return request->tail < 0 ||
           tail_find(rq, p, TAIL_LINES, (uint64_t)request->tail, -1, &request->from, &next);
}

static void logs_set_end(struct logs *l, struct loop *loop, const struct journal *j)
{
    int64_t now = clock_wall_ms();

    l->until = UINT64_MAX;
    if (!l->request.follow || (l->request.until_ms > 0 && l->request.until_ms <= now)) {
        l->until = journal_next(j);
    } else if (l->request.until_ms > 0) {
        l->timer = timer_new(loop, logs_on_timer, l);
        timer_start(l->timer, (uint64_t)(l->request.until_ms - now));
    }
}

static void logs_begin(struct http_request *rq, const struct docker_entry *b,
                       const struct logs_request *request)
{
    bool framed = !docker_entry_tty(b);
    const struct follow_open o = {
        .type = framed && docker_minor(rq) >= 42 ? "application/vnd.docker.multiplexed-stream"
                                                 : "application/vnd.docker.raw-stream",
        .headers = docker_headers,
        .viewer = {.since = SINCE_OFFSET,
                   .offset = request->from,
                   .read_only = true,
                   .verbatim = true,
                   .role = (enum viewer_role)http_role(rq),
                   .only_stream = -1,
                   .slice_bytes = DOCKER_FRAME_BYTES},
    };
    struct logs *l = hf_xalloc(sizeof *l);
    struct hf_error err = {0};

    l->request = *request;
    l->form = (struct log_form){.framed = framed, .timestamps = request->timestamps};
    logs_set_end(l, dialect_base_of(rq)->loop, process_journal(b->process));
    if (follow_begin(&l->follow, &logs_ops, rq, b->process, &o, &err) < 0)
        docker_error(rq, &err);
}

static bool decode_time(struct http_request *rq, const char *name, int64_t *ms)
{
    const char *text = http_query(rq, name);

    *ms = 0;
    if (text == NULL || text[0] == '\0' || docker_time(text, ms))
        return true;
    docker_fail(rq, 400, "invalid value for \"%s\": %.100s", name, text);
    return false;
}

/* A number of lines; anything else means all, as in Docker. */
static int64_t decode_tail(const struct http_request *rq)
{
    const char *text = http_query(rq, "tail");
    int64_t tail;

    return text != NULL && text_to_i64(text, 0, INT32_MAX, &tail) ? tail : -1;
}

static bool decode_logs(struct http_request *rq, struct logs_request *request)
{
    *request = (struct logs_request){
        .out = docker_query(rq, "stdout"),
        .err = docker_query(rq, "stderr"),
        .follow = docker_query(rq, "follow"),
        .timestamps = docker_query(rq, "timestamps"),
        .tail = decode_tail(rq),
    };
    if (!request->out && !request->err) {
        docker_fail(rq, 400, "Bad parameters: you must choose at least one stream");
        return false;
    }
    return decode_time(rq, "since", &request->since_ms) &&
           decode_time(rq, "until", &request->until_ms);
}

/* The sandbox and containers that were not started have written nothing. */
static void logs_none(struct http_request *rq)
{
    docker_headers(rq);
    http_reply(rq, 200, "application/vnd.docker.raw-stream", "", 0);
}

void docker_logs(struct http_request *rq)
{
    struct logs_request request;
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (decode_logs(rq, &request)) {
        if (b.kind != DOCKER_ENTRY_PROCESS)
            logs_none(rq);
        else if (logs_find_start(rq, b.process, &request))
            logs_begin(rq, &b, &request);
    }
}
