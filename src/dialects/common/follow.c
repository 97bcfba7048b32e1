/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - streams the output of a process as the body of a reply. Layer: dialects.
 */
#include "dialects/common/follow.h"

#include <stdio.h>
#include <stdlib.h>

#include "dialects/common/caller.h"
#include "dialects/common/dialect_base.h"
#include "transport/sse.h"

static struct follow *follow_of(struct call *c)
{
    return list_entry(c, struct follow, call);
}

/* --- the call -------------------------------------------------------------------------------- */

/* Detaching asks the stream how much its peer has received, so the stream must still exist. */
void follow_detach(struct follow *f)
{
    viewer_detach(f->viewer);
    f->viewer = NULL;
}

void follow_release(struct call *c)
{
    struct follow *f = follow_of(c);

    if (f->ops != NULL && f->ops->release != NULL)
        f->ops->release(f);
    follow_detach(f);
    process_unref(f->process);
}

/* In the middle of what follows the exit no event can be sent. To clients, a stream that ends
 * regularly means that the process has ended. */
static void follow_drain(struct call *c)
{
    struct follow *f = follow_of(c);

    if (f->viewer == NULL || f->ops->drain == NULL) {
        follow_abort(f);
        return;
    }
    f->ops->drain(f);
    follow_end(f);
}

void follow_end(struct follow *f)
{
    follow_detach(f);
    call_stream_end(&f->call);
}

void follow_abort(struct follow *f)
{
    follow_detach(f);
    call_stream_abort(&f->call);
}

/* --- viewer callbacks ------------------------------------------------------------------------ */

static bool follow_ready(void *arg)
{
    struct follow *f = arg;

    if (!f->gathers && !call_is_ready(&f->call))
        return false;
    return f->ops->ahead == NULL || f->ops->ahead(f);
}

static void follow_bytes(void *arg, const struct slice *s)
{
    struct follow *f = arg;

    if (f->ops->bytes != NULL)
        f->ops->bytes(f, s);
    else
        follow_write(f, s->bytes, s->len);
}

static uint64_t follow_sent(void *arg)
{
    const struct follow *f = arg;
    struct call_carrier *k = f->call.carrier;

    if (k != NULL)
        return k->ops->sent(k);
    return f->out != NULL ? http_stream_count_sent(f->out) : 0;
}

static uint64_t follow_confirmed(void *arg)
{
    const struct follow *f = arg;
    struct call_carrier *k = f->call.carrier;

    if (k != NULL)
        return k->ops->received(k);
    return f->out != NULL ? http_stream_count_taken(f->out) : 0;
}

static void follow_gap(void *arg, uint64_t from, uint64_t to)
{
    struct follow *f = arg;

    if (f->ops->gap != NULL)
        f->ops->gap(f, from, to);
    else if (!f->runs)
        follow_abort(f);
}

static void follow_replay_done(void *arg, uint64_t offset)
{
    struct follow *f = arg;

    if (f->ops->replay_done != NULL)
        f->ops->replay_done(f, offset);
}

static void follow_snapshot(void *arg, uint64_t offset, size_t len)
{
    (void)arg, (void)offset, (void)len;
}

static void follow_snapshot_bytes(void *arg, const char *bytes, size_t len)
{
    struct follow *f = arg;

    f->ops->snapshot_bytes(f, bytes, len);
}

/* What follows may be one event in many pieces, so no comment may come between them. */
static void follow_pump_exit(struct follow *f)
{
    struct process_view v;

    if (f->out != NULL)
        http_stream_keep_alive(f->out, NULL, 0);
    process_view(f->process, &v);
    if (f->ops->exited == NULL || f->ops->exited(f, v.exit))
        follow_end(f);
}

static void follow_exited(void *arg, const struct exit_record *x)
{
    struct follow *f = arg;

    (void)x; /* the same as in the process's view, which later calls use */
    follow_detach(f);
    follow_pump_exit(f);
}

static void follow_notice(void *arg, const struct viewer_notice *n)
{
    struct follow *f = arg;

    if (f->ops->notice != NULL)
        f->ops->notice(f, n);
}

#define FOLLOW_OPS                                                                                 \
    .ready = follow_ready, .bytes = follow_bytes, .gap = follow_gap,                               \
    .replay_done = follow_replay_done, .exited = follow_exited, .notice = follow_notice
#define FOLLOW_RECEIPTS .sent = follow_sent, .confirmed = follow_confirmed
#define FOLLOW_SCREEN .snapshot = follow_snapshot, .snapshot_bytes = follow_snapshot_bytes

/* Bytes count as received when they are sent, or gathered. */
static const struct viewer_ops blind_ops = {FOLLOW_OPS};
/* [by_kernel][whether screens are wanted] */
static const struct viewer_ops receipt_ops[2][2] = {
    {{FOLLOW_OPS, FOLLOW_RECEIPTS}, {FOLLOW_OPS, FOLLOW_RECEIPTS, FOLLOW_SCREEN}},
    {{FOLLOW_OPS, FOLLOW_RECEIPTS, .by_kernel = true},
     {FOLLOW_OPS, FOLLOW_RECEIPTS, FOLLOW_SCREEN, .by_kernel = true}},
};

static const struct viewer_ops *follow_viewer_ops(const struct follow *f)
{
    const struct call_carrier *k = f->call.carrier;

    if (f->gathers || (k != NULL && k->ops->sent == NULL))
        return &blind_ops;
    return &receipt_ops[k == NULL || k->ops->by_kernel][f->ops->snapshot_bytes != NULL];
}

void follow_room(struct call *c)
{
    struct follow *f = follow_of(c);

    if (f->viewer != NULL)
        viewer_pump(f->viewer);
    else if (f->process != NULL)
        follow_pump_exit(f);
}

/* --- start and output ------------------------------------------------------------------------ */

const struct call_kind follow_kind = {
    .release = follow_release,
    .drain = follow_drain,
    .room = follow_room,
};

static struct viewer_options follow_viewer(const struct http_request *rq,
                                           const struct follow_open *o)
{
    struct viewer_options v = o->viewer;

    if (v.role == 0)
        v.read_only = true;
    if (rq == NULL)
        return v;
    v.guest = !o->gathers && caller_is_guest(rq);
    if (v.name == NULL)
        v.name = http_peer(rq);
    return v;
}

static void follow_start(struct follow *f, const struct follow_open *o)
{
    if (o->headers != NULL && f->call.rq != NULL)
        o->headers(f->call.rq);
    if (o->type == NULL)
        call_stream_sse(&f->call);
    else
        call_stream(&f->call, o->status != 0 ? o->status : 200, o->type);
    f->out = f->call.out;
    if (o->keep_alive != NULL)
        http_stream_keep_alive(f->out, o->keep_alive, o->keep_alive_ms);
}

int follow_attach(struct follow *f, const struct follow_ops *ops, struct process *p,
                  const struct follow_open *o, struct hf_error *err)
{
    const struct viewer_options v = follow_viewer(f->call.rq, o);
    int rc;

    f->ops = ops;
    f->gathers = o->gathers;
    f->runs = v.runs;
    f->process = process_ref(p);
    rc = viewer_attach(p, &v, follow_viewer_ops(f), f, &f->viewer, err);
    if (rc == 0 && !f->gathers)
        follow_start(f, o);
    return rc;
}

int follow_begin(struct follow *f, const struct follow_ops *ops, struct http_request *rq,
                 struct process *p, const struct follow_open *o, struct hf_error *err)
{
    int rc;

    f->ops = ops;
    call_adopt(&f->call, rq, &follow_kind);
    if (http_method(rq) == HTTP_HEAD_M) {
        if (o->headers != NULL)
            o->headers(rq);
        http_reply(call_end(&f->call), 200, o->type != NULL ? o->type : SSE_TYPE, "", 0);
        return 0;
    }
    rc = follow_attach(f, ops, p, o, err);
    if (rc < 0)
        call_end(&f->call);
    return rc;
}

static void runs_headers(struct http_request *rq)
{
    http_add_header(rq, "Cache-Control", "no-cache");
}

bool follow_runs(struct follow *f, const struct follow_ops *ops, struct http_request *rq,
                 struct process *p, uint64_t run)
{
    uint64_t count = journal_run_count(process_journal(p));
    const struct follow_open o = {.viewer = {.since = SINCE_OFFSET,
                                             .offset = run < count ? run : count,
                                             .runs = true,
                                             .only_stream = -1},
                                  .headers = runs_headers};
    struct hf_error err = {0};

    return !dialect_failed(rq, follow_begin(f, ops, rq, p, &o, &err), &err);
}

void follow_write(struct follow *f, const void *bytes, size_t len)
{
    http_stream_write(f->out, &(struct iovec){(void *)(uintptr_t)bytes, len}, 1);
}

void follow_send(struct follow *f, const char *event, uint64_t id, const struct buf *data)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    sse_send(f->out, event, id > 0 ? text : NULL, buf_data(data), data->len);
}

void follow_send_json(struct follow *f, const char *event, uint64_t id, struct json_out *o)
{
    json_close(o, '}');
    follow_send(f, event, id, o->buf);
}
