/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_logs.c - GET …/logs: the output that is held, and what follows
 *
 * The viewer never slows the process down: a client that is too slow is notified of what it has
 * missed. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/caller.h"
#include "dialects/common/output_tail.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_log_format.h"
#include "engine/stream/viewer.h"

struct logs_request {
    bool out, err, follow, timestamps;
    int64_t since_ms, until_ms; /* 0: none */
    int64_t tail;               /* lines; -1: all */
    uint64_t from;              /* where that begins */
};

struct logs {
    struct pending pending;
    struct docker *docker;
    struct logs_request request;
    struct log_form form;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct http_stream *out;
    struct timer *timer; /* until_ms */
    uint64_t until;      /* offset: the end of the output at the time of the request */
};

static void logs_free(struct pending *p)
{
    struct logs *l = list_entry(p, struct logs, pending);

    viewer_detach(l->viewer);
    timer_close(l->timer);
    process_unref(l->process);
    pending_fini(p);
    free(l);
}

static void logs_end(struct logs *l)
{
    http_stream_end(l->out);
    logs_free(&l->pending);
}

/* A log ends cleanly only with its process. */
static void logs_drain(struct pending *p)
{
    http_stream_abort(list_entry(p, struct logs, pending)->out);
    logs_free(p);
}

static const struct pending_kind logs_kind = {.drain = logs_drain, .free = logs_free};

/* --- viewer callbacks ---------------------------------------------------------------- */

static bool logs_ready(void *arg)
{
    const struct logs *l = arg;

    return l->out != NULL && http_stream_ready(l->out);
}

static bool logs_wants(const struct logs *l, const struct slice *s)
{
    if (s->stream == STREAM_STDERR ? !l->request.err : !l->request.out)
        return false;
    return s->time_ms >= l->request.since_ms;
}

static void logs_write(struct logs *l, const struct slice *s)
{
    struct buf *b = &l->docker->base.scratch;
    struct iovec iov;

    buf_clear(b);
    log_form_put(&l->form, b, s);
    iov = (struct iovec){buf_data(b), b->len};
    http_stream_write(l->out, &iov, 1);
}

static void logs_bytes(void *arg, const struct slice *s)
{
    struct logs *l = arg;
    uint64_t end = s->at + s->len;
    struct slice part = *s;

    if (end > l->until)
        part.len = (size_t)(l->until - s->at);
    if (l->request.until_ms > 0 && s->time_ms > l->request.until_ms) {
        logs_end(l);
        return;
    }
    if (logs_wants(l, s) && part.len > 0)
        logs_write(l, &part);
    if (end >= l->until)
        logs_end(l);
}

static uint64_t logs_sent(void *arg)
{
    const struct logs *l = arg;

    return l->out != NULL ? http_stream_count_sent(l->out) : 0;
}

static uint64_t logs_confirmed(void *arg)
{
    const struct logs *l = arg;

    return l->out != NULL ? http_stream_count_taken(l->out) : 0;
}

/*
 * Output that was already lost at the time of the request is not reported; output lost while
 * reading is. Clients treat the frame as a failure. A terminal's output has no frames, so its
 * response is aborted instead.
 */
static void logs_gap(void *arg, uint64_t from, uint64_t to)
{
    struct logs *l = arg;
    uint8_t head[DOCKER_FRAME_HEAD];
    char text[100];
    int n = snprintf(text, sizeof text, DOCKER_GAP_TEXT, (unsigned long long)(to - from));
    struct iovec iov[2] = {{head, sizeof head}, {text, (size_t)n}};

    if (!l->form.framed) {
        logs_drain(&l->pending);
        return;
    }
    docker_frame_head(head, DOCKER_FRAME_SYSTEM, (size_t)n);
    http_stream_write(l->out, iov, 2);
    logs_end(l);
}

static void logs_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    logs_end(arg);
}

static const struct viewer_ops viewer_ops = {
    .ready = logs_ready,
    .bytes = logs_bytes,
    .sent = logs_sent,
    .confirmed = logs_confirmed,
    .by_kernel = true,
    .gap = logs_gap,
    .exited = logs_exited,
};

/* --- connection callbacks --------------------------------------------------------------- */

static void logs_on_drain(void *arg)
{
    viewer_pump(((struct logs *)arg)->viewer);
}

static void logs_on_disconnect(void *arg)
{
    logs_free(&((struct logs *)arg)->pending);
}

static const struct http_stream_ops out_ops = {.on_drain = logs_on_drain,
                                               .on_disconnect = logs_on_disconnect};

static void logs_on_timer(struct timer *t, void *arg)
{
    (void)t;
    logs_end(arg);
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

/* The viewer sends nothing before this returns, so the stream may be created after it. */
static int logs_attach(struct logs *l, struct http_request *rq, struct hf_error *err)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = l->request.from,
        .read_only = true,
        .guest = caller_is_guest(rq),
        .verbatim = true,
        .role = (enum viewer_role)http_role(rq),
        .name = http_peer(rq),
        .only_stream = -1,
        .slice_bytes = DOCKER_FRAME_BYTES,
    };

    return viewer_attach(l->process, &o, &viewer_ops, l, &l->viewer, err);
}

static void logs_set_end(struct logs *l)
{
    int64_t now = clock_wall_ms();

    l->until = UINT64_MAX;
    if (!l->request.follow || (l->request.until_ms > 0 && l->request.until_ms <= now)) {
        l->until = journal_next(process_journal(l->process));
    } else if (l->request.until_ms > 0) {
        l->timer = timer_new(l->docker->base.loop, logs_on_timer, l);
        timer_start(l->timer, (uint64_t)(l->request.until_ms - now));
    }
}

static void logs_begin(struct http_request *rq, const struct docker_entry *b,
                       const struct logs_request *request)
{
    struct docker *dk = docker_of(rq);
    struct logs *l = hf_xalloc(sizeof *l);
    struct hf_error err = {0};

    l->docker = dk;
    l->request = *request;
    l->process = process_ref(b->process);
    l->form = (struct log_form){.framed = !docker_entry_tty(b), .timestamps = request->timestamps};
    pending_init(&l->pending, &dk->base.pending, &logs_kind);
    if (logs_attach(l, rq, &err) < 0) {
        logs_free(&l->pending);
        docker_error(rq, &err);
        return;
    }
    logs_set_end(l);
    docker_headers(rq);
    l->out = http_stream_start(rq, 200,
                               l->form.framed && docker_minor(rq) >= 42
                                   ? "application/vnd.docker.multiplexed-stream"
                                   : "application/vnd.docker.raw-stream",
                               &out_ops, l);
    if (viewer_offset(l->viewer) >= l->until)
        logs_end(l);
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
    struct docker_entry b;

    if (!docker_entry_of_request(rq, &b))
        return;
    if (decode_logs(rq, &request)) {
        if (b.kind != DOCKER_ENTRY_PROCESS)
            logs_none(rq);
        else if (logs_find_start(rq, b.process, &request))
            logs_begin(rq, &b, &request);
    }
    docker_entry_fini(&b);
}
