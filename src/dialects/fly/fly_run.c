/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_run.c - POST …/sprites/NAME/exec: a command by HTTP, its output as it arrives
 *
 * The response is a sequence of frames, and a frame is a chunk of the chunked body: a byte for the
 * stream, then its bytes, and no length. The published client handles whatever has arrived since
 * its last read as one frame, so two chunks that arrive together become one frame, and a chunk that
 * arrives in two pieces becomes two. If gzip is accepted, each frame is a separate block, which the
 * client unpacks one at a time, so frames that arrive together stay apart. The first
 * FLY_BURST_BYTES fit into one read. What exceeds them, and everything if gzip is not accepted, is
 * sent slowly: small frames, FLY_CHUNK_GAP_MS apart. Between frames, output is gathered for each
 * stream separately, since a client cannot see the order between the two. What is gathered is
 * bounded; beyond that the process waits. Layer: dialects.
 */
#include "dialects/common/follow.h"
#include "dialects/common/start_call.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_gzip.h"
#include "dialects/fly/fly_limits.h"

struct fly_run {
    struct follow follow; /* without a viewer: all output has been read, or there is none */
    struct timer *gap;    /* active: nothing may be sent yet */
    struct timer *alive;
    struct buf held[2];
    struct fly_gzip gzip;
    bool zipped;
    size_t sent;
    int code; /* of the exit; known when there is no viewer */
};

static void run_release(struct call *c)
{
    struct fly_run *r = (struct fly_run *)c;

    follow_release(c);
    timer_close(r->gap);
    timer_close(r->alive);
    buf_fini(&r->held[0]);
    buf_fini(&r->held[1]);
}

/* --- frames ---------------------------------------------------------------------------------- */

static void send_frame(struct fly_run *r, enum sprite_channel channel, const char *bytes,
                       size_t len)
{
    struct buf *frame = &r->follow.call.base->scratch;
    struct buf packed = {0};

    buf_clear(frame);
    buf_putc(frame, (char)channel);
    buf_put(frame, bytes, len);
    if (r->zipped) {
        fly_gzip_put(&r->gzip, &packed, buf_data(frame), frame->len);
        if (channel == SPRITE_EXIT)
            fly_gzip_end(&r->gzip, &packed);
        frame = &packed;
    }
    r->sent += frame->len;
    http_stream_write(r->follow.call.out, &(struct iovec){buf_data(frame), frame->len}, 1);
    buf_fini(&packed);
    if (!r->zipped || r->sent > FLY_BURST_BYTES)
        timer_start(r->gap, FLY_CHUNK_GAP_MS);
    timer_start(r->alive, FLY_KEEPALIVE_MS);
}

/*
 * The maximum size of the next frame. Node unpacks into buffers of FLY_UNPACK_BYTES, piece after
 * piece, and splits what crosses the end of one. A single remaining byte is filled with an empty
 * frame.
 */
static size_t frame_room(struct fly_run *r)
{
    size_t room = FLY_UNPACK_BYTES - r->gzip.size % FLY_UNPACK_BYTES;

    if (!r->zipped)
        return FLY_CHUNK_BYTES;
    if (room == 1) {
        send_frame(r, SPRITE_STDOUT, "", 0);
        room = FLY_UNPACK_BYTES;
    }
    return room - 1 < FLY_CHUNK_BYTES ? room - 1 : FLY_CHUNK_BYTES;
}

static bool send_held(struct fly_run *r, struct buf *held, enum sprite_channel channel)
{
    size_t len = held->len, room;

    if (len == 0)
        return false;
    room = frame_room(r);
    len = len < room ? len : room;
    send_frame(r, channel, buf_data(held), len);
    buf_drop(held, len);
    return true;
}

static void send_exit(struct fly_run *r)
{
    char code = (char)r->code;

    (void)frame_room(r); /* at least one byte, which is enough */
    send_frame(r, SPRITE_EXIT, &code, 1);
    call_stream_end(&r->follow.call);
}

static bool may_send(const struct fly_run *r)
{
    return !timer_is_active(r->gap) && http_stream_ready(r->follow.call.out);
}

/* Sends as many frames as allowed now. False: it sent the last one and freed the run. */
static bool run_flush(struct fly_run *r)
{
    while (may_send(r) &&
           (send_held(r, &r->held[0], SPRITE_STDOUT) || send_held(r, &r->held[1], SPRITE_STDERR)))
        ;
    if (!may_send(r) || r->follow.viewer != NULL)
        return true;
    send_exit(r);
    return false;
}

/* An empty frame of output, so that no proxy takes silence for the end. */
static void run_on_alive(struct timer *t, void *arg)
{
    struct fly_run *r = arg;

    timer_start(t, FLY_KEEPALIVE_MS);
    if (may_send(r))
        send_frame(r, SPRITE_STDOUT, "", 0);
}

static void run_on_room(struct call *c)
{
    struct fly_run *r = (struct fly_run *)c;

    if (run_flush(r) && r->follow.viewer != NULL)
        follow_room(c);
}

static void run_on_gap(struct timer *t, void *arg)
{
    (void)t;
    run_on_room(&((struct fly_run *)arg)->follow.call);
}

/* A drain aborts: a response ends cleanly only with the exit. The process keeps running. */
static const struct call_kind run_kind = {.release = run_release, .room = run_on_room};

/* --- the output ------------------------------------------------------------------------------ */

static bool run_ahead(struct follow *f)
{
    const struct fly_run *r = (const struct fly_run *)f;

    return r->held[0].len + r->held[1].len < LIMIT_FLY_HELD_BYTES;
}

static void run_bytes(struct follow *f, const struct slice *s)
{
    struct fly_run *r = (struct fly_run *)f;

    buf_put(&r->held[s->stream == STREAM_STDERR], s->bytes, s->len);
    (void)run_flush(r);
}

static void run_gap(struct follow *f, uint64_t from, uint64_t to)
{
    struct fly_run *r = (struct fly_run *)f;

    buf_printf(&r->held[1], "\n[%llu bytes of output were lost]\n",
               (unsigned long long)(to - from));
}

static bool run_exited(struct follow *f, const struct exit_record *x)
{
    struct fly_run *r = (struct fly_run *)f;

    r->code = x->exit_code >= 0 ? x->exit_code : 255;
    (void)run_flush(r);
    return false;
}

static const struct follow_ops follow_ops = {
    .ahead = run_ahead,
    .bytes = run_bytes,
    .gap = run_gap,
    .exited = run_exited,
};

/* --- start ----------------------------------------------------------------------------------- */

static struct fly_run *run_new(struct http_request *rq)
{
    struct fly_run *r = call_begin(rq, &run_kind, sizeof *r);
    struct loop *loop = r->follow.call.base->loop;

    r->gap = timer_new(loop, run_on_gap, r);
    r->alive = timer_new(loop, run_on_alive, r);
    return r;
}

/* Output that arrives before the first frame reduces the number of frames. */
static void run_reply(struct fly_run *r, struct http_request *rq)
{
    r->zipped = http_lists(rq, "Accept-Encoding", "gzip");
    http_add_header(rq, "Vary", "Accept-Encoding");
    if (r->zipped)
        http_add_header(rq, "Content-Encoding", "gzip");
    call_stream(&r->follow.call, 200, "application/octet-stream");
    timer_start(r->alive, FLY_KEEPALIVE_MS);
    timer_start(r->gap, r->zipped ? 0 : FLY_CHUNK_GAP_MS);
}

/* on_detach decides about a disconnect, so this is an ordinary viewer. */
static void run_watch(struct http_request *rq, struct process *p)
{
    const struct follow_open o = {
        .viewer = {.since = SINCE_OFFSET, .slice_bytes = LIMIT_FLY_HELD_BYTES, .only_stream = -1},
        .gathers = true};
    struct fly_run *r = run_new(rq);
    struct hf_error err = {0};

    if (follow_attach(&r->follow, &follow_ops, p, &o, &err) < 0) {
        process_terminate(p, -1, "api", NULL, NULL);
        call_fail(&r->follow.call, &err);
        return;
    }
    fly_add_process_header(rq, p);
    run_reply(r, rq);
}

static void run_report_unstarted(struct http_request *rq, const struct hf_error *err)
{
    struct fly_run *r = run_new(rq);

    fly_put_reason(&r->held[1], err);
    r->code = fly_exit_of(err);
    run_reply(r, rq);
}

static void run_started(struct http_request *rq, struct process *p, const struct hf_error *err)
{
    if (p != NULL && dialect_base_of(rq)->draining)
        fly_error_draining(rq, p);
    else if (p != NULL)
        run_watch(rq, p);
    else if (fly_exit_of(err) != 0)
        run_report_unstarted(rq, err);
    else
        http_reply_error(rq, err);
}

/* The body is all of the input. */
static void run_input(struct http_request *rq, struct sprite_request *a)
{
    struct spawn_spec *s = &a->spec;

    if (a->input)
        s->input = http_body(rq, &s->input_len);
    s->stdin_mode = s->input_len > 0 ? STDIN_DEFAULT : STDIN_NULL;
}

void fly_sprite_run(struct http_request *rq)
{
    struct hf_error err = {0};
    struct sprite_request request;

    fly_sprite_decode(&request, rq, false, &err);
    if (err.code != HF_OK) {
        http_reply_error(rq, &err);
    } else {
        run_input(rq, &request);
        start_call_begin(rq, &request.spec,
                         &(struct start_call_options){.done = run_started,
                                                      .end_if_disconnected =
                                                          request.spec.on_detach != DETACH_KEEP});
    }
    sprite_request_fini(&request);
}
