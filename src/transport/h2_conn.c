/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_conn.c - HTTP/2 on a connection: frames in, frames out, time-outs, the end
 *
 * Bytes are fed into nghttp2 as they arrive, and its callbacks advance the streams. Everything is
 * sent from the task at the end of the turn: it delivers bodies to their readers, notifies owners
 * of what happened to their streams, then fetches frames while the socket has room. A connection
 * whose session wants neither to read nor to write is finished. Layer: transport.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/conn_own.h"
#include "transport/h2_own.h"

bool h2_is_preface(const char *bytes, size_t len)
{
    return memcmp(bytes, NGHTTP2_CLIENT_MAGIC, len < H2_PREFACE_BYTES ? len : H2_PREFACE_BYTES) ==
           0;
}

void h2_wake(struct h2 *h2)
{
    loop_defer(h2->c->server->loop, &h2->task);
}

/* --- nghttp2's callbacks -------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct h2 *h2 = arg;
    struct h2_stream *s;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; /* trailers: not used */
    s = h2_stream_new(h2, frame->hd.stream_id);
    h2->head_of = s;
    nghttp2_session_set_stream_user_data(ng, s->id, s);
    return 0;
}

/* The stream whose request head this frame is. */
static struct h2_stream *head_stream(nghttp2_session *ng, const nghttp2_frame *frame)
{
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return NULL;
    return nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *arg)
{
    struct h2_stream *s = head_stream(ng, frame);

    (void)flags, (void)arg;
    if (s != NULL && s->rq != NULL) {
        h2_head_field(&s->rq->parser, (const char *)name, name_len, (const char *)value, value_len);
        request_count_held(s->rq);
    }
    return 0;
}

static int on_bad_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                         size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                         void *arg)
{
    struct h2_stream *s = head_stream(ng, frame);

    (void)name, (void)name_len, (void)value, (void)value_len, (void)flags, (void)arg;
    if (s != NULL && s->rq != NULL)
        h2_head_refuse(&s->rq->parser);
    return 0;
}

static void on_frame_of_stream(struct h2_stream *s, const nghttp2_frame *frame)
{
    bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        h2_stream_on_head(s, last);
    else if (last)
        h2_stream_on_last(s);
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct h2 *h2 = arg;
    struct h2_stream *s;

    if (frame->hd.type == NGHTTP2_SETTINGS)
        h2->greeted = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    s = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    if (s != NULL && !s->is_reset)
        on_frame_of_stream(s, frame);
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len,
                   void *arg)
{
    struct h2_stream *s = nghttp2_session_get_stream_user_data(ng, id);

    (void)flags, (void)arg;
    nghttp2_session_consume_connection(ng, len);
    if (s != NULL)
        h2_stream_on_data(s, (const char *)bytes, len);
    return 0;
}

/* The response did not wait for the whole request: the rest of the request is not wanted. */
static int on_frame_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct h2_stream *s;

    (void)arg;
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    s = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    if (s != NULL && !s->got_all && !s->is_reset)
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct h2_stream *s = nghttp2_session_get_stream_user_data(ng, id);

    (void)code, (void)arg;
    if (s != NULL) {
        if (s->got_all)
            h2_frames_close(&s->h2->frames, id);
        h2_stream_tell_gone(s);
        h2_stream_free(s);
    }
    return 0;
}

/* --- the session ---------------------------------------------------------------------------- */

static nghttp2_session_callbacks *new_callbacks(void)
{
    nghttp2_session_callbacks *cb = NULL;

    if (nghttp2_session_callbacks_new(&cb) < 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(cb, on_bad_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    return cb;
}

static nghttp2_option *new_option(void)
{
    nghttp2_option *o = NULL;

    if (nghttp2_option_new(&o) < 0)
        return NULL;
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    nghttp2_option_set_max_outbound_ack(o, LIMIT_H2_ACKS);
    nghttp2_option_set_stream_reset_rate_limit(o, LIMIT_H2_RESETS, LIMIT_H2_RESETS_PER_S);
    return o;
}

/* NULL: no memory. */
static nghttp2_session *new_session(struct h2 *h2)
{
    nghttp2_session_callbacks *cb = new_callbacks();
    nghttp2_option *o = new_option();
    nghttp2_session *ng = NULL;

    if (cb != NULL && o != NULL && nghttp2_session_server_new2(&ng, cb, h2, o) < 0)
        ng = NULL;
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(o);
    return ng;
}

static void greet(struct h2 *h2)
{
    const nghttp2_settings_entry ours[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_H2_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_H2_STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)h2->c->server->o.header_bytes},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };

    if (nghttp2_submit_settings(h2->ng, NGHTTP2_FLAG_NONE, ours, sizeof ours / sizeof *ours) < 0 ||
        nghttp2_session_set_local_window_size(h2->ng, NGHTTP2_FLAG_NONE, 0, LIMIT_H2_WINDOW_BYTES) <
            0)
        conn_end(h2->c);
}

static void h2_free(struct h2 *h2)
{
    struct list *it, *tmp;

    task_cancel(&h2->task);
    list_for_each (it, tmp, &h2->streams)
        h2_stream_tell_gone(list_entry(it, struct h2_stream, link));
    while (!list_is_empty(&h2->streams))
        h2_stream_free(list_entry(h2->streams.next, struct h2_stream, link));
    task_cancel(&h2->task); /* the last frames may have woken it */
    nghttp2_session_del(h2->ng);
    free(h2);
}

/* --- the end of a turn ------------------------------------------------------------------------ */

/* A stream to a viewer, which may pause for as long as it likes. */
static bool has_viewer(const struct h2 *h2)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &h2->streams) {
        if (list_entry(it, struct h2_stream, link)->st != NULL)
            return true;
    }
    return false;
}

/* Head and stall are timed as a whole, idle time since the last step. */
static void update_deadline(struct h2 *h2)
{
    struct conn *c = h2->c;
    enum deadline_kind kind = DEADLINE_NONE;

    if (!h2->greeted || h2->head_of != NULL)
        kind = DEADLINE_HEAD;
    else if (c->blocked && !has_viewer(h2))
        kind = DEADLINE_STALL;
    else if (list_is_empty(&h2->streams))
        kind = DEADLINE_IDLE;
    if (kind != c->deadline.kind || kind == DEADLINE_IDLE)
        conn_set_deadline(c, kind);
}

/* Starts the requests that have arrived, within this connection's share of the turn. */
static void begin_requests(struct h2 *h2)
{
    size_t left = server_share(h2->c->server, LIMIT_H2_TURN_REQUESTS, 1);
    struct list *it, *tmp;

    list_for_each (it, tmp, &h2->streams) {
        struct h2_stream *s = list_entry(it, struct h2_stream, link);

        if (left == 0 || h2->pending == 0)
            return;
        if (s->pending) {
            h2_stream_begin(s);
            left--;
        }
    }
}

static void turn_streams(struct h2 *h2)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &h2->streams)
        h2_stream_on_turn(list_entry(it, struct h2_stream, link));
}

/* Sends frames, many in one call, while there are any and the socket has room. True: its share of
 * the turn is used up, and there may be more. */
static bool pump(struct h2 *h2)
{
    struct conn *c = h2->c;
    size_t share = server_share(c->server, LIMIT_TURN_BYTES, LIMIT_LENT_SLICE_BYTES), sent = 0;
    const uint8_t *bytes;
    ssize_t n = 1;

    while (!conn_is_ended(c) && !c->blocked && n > 0 && sent < share) {
        n = nghttp2_session_mem_send(h2->ng, &bytes);
        if (n > 0) {
            conn_cork(c, bytes, (size_t)n);
            sent += (size_t)n;
        }
        if (n <= 0 || c->out.len >= LIMIT_H2_OUT_BYTES || sent >= share)
            conn_flush(c);
    }
    if (n < 0)
        conn_end(c);
    return n > 0 && !c->blocked;
}

/* While a peer's requests wait for their turn, it may send neither more requests nor bodies. */
static void update_reading(struct h2 *h2)
{
    struct conn *c = h2->c;

    if (h2->pending > 0 && !c->paused)
        conn_pause(c);
    else if (h2->pending == 0 && c->paused)
        conn_resume(c);
}

static void finish(struct h2 *h2)
{
    struct conn *c = h2->c;

    if (h2->broken && c->blocked) {
        conn_end(c); /* it floods us and reads nothing: a GOAWAY would wait for ever */
        return;
    }
    h2_free(h2);
    conn_finish(c, true);
}

static bool is_over(const struct h2 *h2)
{
    return !nghttp2_session_want_read(h2->ng) && !nghttp2_session_want_write(h2->ng);
}

static void on_task(void *arg)
{
    struct h2 *h2 = arg;

    bool more;

    if (conn_is_ended(h2->c))
        return;
    begin_requests(h2);
    turn_streams(h2);
    more = pump(h2);
    if (conn_is_ended(h2->c))
        return;
    if (h2->broken || is_over(h2)) {
        finish(h2);
        return;
    }
    update_deadline(h2);
    update_reading(h2);
    if (more || h2->pending > 0)
        server_defer_later(h2->c->server, &h2->task);
}

/* --- the connection -------------------------------------------------------------------------- */

/* The send queue is bounded, frame by frame: a peer that does not read may not send more
 * requests. */
static bool is_overfull(const struct h2 *h2)
{
    return h2->c->blocked && nghttp2_session_get_outbound_queue_size(h2->ng) > LIMIT_H2_QUEUE;
}

/* NGHTTP2_NO_ERROR, or the error after which nothing can be read. */
static uint32_t parse(struct h2 *h2, const uint8_t *bytes, size_t len)
{
    uint32_t error = NGHTTP2_NO_ERROR;

    while (len > 0 && error == NGHTTP2_NO_ERROR) {
        size_t n = h2_frames_step(&h2->frames, bytes, len, &error);
        ssize_t rc = nghttp2_session_mem_recv(h2->ng, bytes, n);

        if (rc < 0) /* a flood, no memory, or not HTTP/2 */
            return rc == NGHTTP2_ERR_BAD_CLIENT_MAGIC ? NGHTTP2_PROTOCOL_ERROR
                                                      : NGHTTP2_ENHANCE_YOUR_CALM;
        bytes += n;
        len -= n;
    }
    return error;
}

static size_t on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct h2 *h2 = c->owner;
    uint32_t error;

    if (len == 0 || h2->broken)
        return len;
    error = parse(h2, (const uint8_t *)bytes, len);
    if (error != NGHTTP2_NO_ERROR) {
        h2->broken = true;
        nghttp2_session_terminate_session(h2->ng, error);
    } else if (is_overfull(h2)) {
        log_info("closing connection to %s: peer stopped reading", c->peer);
        conn_end(c);
    }
    if (!conn_is_ended(c))
        h2_wake(h2);
    return len;
}

static void on_eof(struct conn *c)
{
    conn_end(c);
}

static void on_drain(struct conn *c)
{
    h2_wake(c->owner);
}

static void on_deadline(struct conn *c, enum deadline_kind kind)
{
    struct h2 *h2 = c->owner;

    if (kind == DEADLINE_IDLE) {
        nghttp2_session_terminate_session(h2->ng, NGHTTP2_NO_ERROR);
        h2_wake(h2);
    } else {
        conn_end(c);
    }
}

static void on_end(struct conn *c)
{
    h2_free(c->owner);
}

/* Open streams continue, new ones are refused; then the connection ends. */
static void leave(struct h2 *h2)
{
    nghttp2_submit_goaway(h2->ng, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h2->ng), NGHTTP2_NO_ERROR, NULL,
                          0);
    h2_wake(h2);
}

static void on_leave(struct conn *c)
{
    leave(c->owner);
}

const struct conn_proto h2_proto = {
    .on_bytes = on_bytes,
    .on_eof = on_eof,
    .on_drain = on_drain,
    .on_deadline = on_deadline,
    .on_end = on_end,
    .on_leave = on_leave,
};

void h2_begin(struct conn *c)
{
    struct h2 *h2 = hf_xalloc(sizeof *h2);

    h2->c = c;
    h2->task = (struct task){.fn = on_task, .arg = h2};
    list_init(&h2->streams);
    h2_frames_init(&h2->frames);
    h2->ng = new_session(h2);
    conn_become(c, &h2_proto, h2);
    if (h2->ng == NULL) {
        conn_end(c);
        return;
    }
    conn_time_head(c);
    conn_add_own_bytes(c, H2_CONNECTION_BYTES);
    if (conn_is_ended(c))
        return;
    greet(h2);
    if (c->server->draining)
        leave(h2);
    h2_wake(h2);
}

/* --- interface ------------------------------------------------------------------------------ */

void h2_on_stream_deadline(struct deadline *e, enum deadline_kind kind)
{
    struct h2_stream *s = list_entry(e, struct h2_stream, deadline);

    h2_stream_on_late(s, kind);
}

void h2_cut(struct conn *c, const char *grant)
{
    const struct h2 *h2 = c->owner;
    struct list *it, *tmp;

    list_for_each (it, tmp, &h2->streams) {
        struct h2_stream *s = list_entry(it, struct h2_stream, link);

        if (s->grant != NULL && strcmp(s->grant, grant) == 0)
            h2_reset(s);
    }
}

/* A complete reply, such as that to the call which ended the token, is still sent. */
void h2_cut_token(struct conn *c, uint32_t token)
{
    const struct h2 *h2 = c->owner;
    struct list *it, *tmp;

    list_for_each (it, tmp, &h2->streams) {
        struct h2_stream *s = list_entry(it, struct h2_stream, link);

        if (s->token == token && !s->whole)
            h2_reset(s);
    }
}
