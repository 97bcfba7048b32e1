/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_stream.c - responses that are written bit by bit
 *
 * The head waits for the first piece, so that one sendmsg() sends both, but not beyond the end of
 * the turn. Layer: transport.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transport/conn_own.h"
#include "transport/h2.h"
#include "transport/http_request.h"

struct http_stream {
    struct conn *c;
    struct h2_stream *h2;              /* NULL: HTTP/1.1, and the connection is ours */
    const struct http_stream_ops *ops; /* NULL: the owner has abandoned it */
    void *arg;
    struct task head_task; /* HEAD: there is nothing to stream */
    bool chunked, head_only, sized;
    uint64_t left;    /* sized: bytes that are still to be written */
    bool close;       /* the connection ends with it */
    bool unread;      /* the request's body was not read to its end */
    struct task work; /* resumes the owner's writing when there is time again */

    struct buf trailers; /* lines, each with its line end */

    struct timer *alive; /* NULL: no keep-alive */
    const char *alive_bytes;
    uint64_t alive_ms, written_ms;
    uint64_t written, taken; /* HTTP/2: of its own bytes */
};

static size_t stream_on_bytes(struct conn *c, char *bytes, size_t len)
{
    (void)c, (void)bytes, (void)len;
    return 0; /* the next request waits */
}

static void stream_on_eof(struct conn *c)
{
    conn_end(c);
}

static void stream_on_drain(struct conn *c)
{
    struct http_stream *st = c->owner;

    st->ops->on_drain(st->arg);
}

static void stream_on_deadline(struct conn *c, enum deadline_kind kind)
{
    (void)c, (void)kind; /* a viewer may pause for as long as it likes */
}

static void stream_free(struct http_stream *st)
{
    task_cancel(&st->head_task);
    task_cancel(&st->work);
    timer_close(st->alive);
    buf_fini(&st->trailers);
    free(st);
}

void stream_on_room(struct http_stream *st)
{
    st->ops->on_drain(st->arg);
}

void stream_on_disconnect(struct http_stream *st)
{
    st->ops->on_disconnect(st->arg);
    stream_free(st);
}

static void stream_on_end(struct conn *c)
{
    struct http_stream *st = c->owner;

    if (st->ops != NULL)
        st->ops->on_disconnect(st->arg);
    stream_free(st);
}

static const struct conn_proto stream_proto = {
    .on_bytes = stream_on_bytes,
    .on_eof = stream_on_eof,
    .on_drain = stream_on_drain,
    .on_deadline = stream_on_deadline,
    .on_end = stream_on_end,
};

/* Releases the connection, or ends it if it ends with the stream. */
static void stream_finish(struct http_stream *st)
{
    struct conn *c = st->c;
    bool close = st->close, drain = st->unread || c->in.len > 0;

    if (st->h2 != NULL) {
        h2_end(st->h2, &st->trailers);
        stream_free(st);
        return;
    }
    stream_free(st);
    conn_become(c, &http_proto, NULL);
    if (close)
        conn_finish(c, drain);
    else
        conn_resume(c);
}

/* The response to a HEAD is the head; the owner is notified that nothing more is read. */
static void stream_on_head_task(void *arg)
{
    struct http_stream *st = arg;
    const struct http_stream_ops *ops = st->ops;
    void *owner = st->arg;

    if (conn_is_ended(st->c))
        return; /* on_end or the HTTP/2 connection's end notifies the owner */
    stream_finish(st);
    ops->on_disconnect(owner);
}

static struct http_stream *stream_begun(struct http_stream *st)
{
    if (st->head_only) {
        st->head_task = (struct task){.fn = stream_on_head_task, .arg = st};
        loop_defer(st->c->server->loop, &st->head_task);
    }
    return st;
}

/* length < 0: unknown. */
static struct http_stream *stream_start(struct http_request *rq, int status, const char *type,
                                        int64_t length, const struct http_stream_ops *ops,
                                        void *arg)
{
    enum body_form form = length >= 0         ? BODY_LENGTH
                          : rq->parser.http11 ? BODY_CHUNKED
                                              : BODY_UNTIL_CLOSE;
    struct http_stream *st = hf_xalloc(sizeof *st);
    struct conn *c = rq->c;
    struct buf *head;

    assert(c != NULL); /* the owner of a stream must be notified when the peer is gone */
    st->c = c;
    st->ops = ops;
    st->arg = arg;
    st->head_only = rq->parser.method == HTTP_HEAD_M;
    st->sized = length >= 0;
    st->left = st->sized ? (uint64_t)length : 0;
    if (rq->h2 != NULL) {
        st->h2 = rq->h2;
        h2_start(rq, status, type, length, st);
        return stream_begun(st);
    }
    st->chunked = form == BODY_CHUNKED;
    head = response_head(rq, status, type, form, st->left);
    st->unread = !rq->body_done;
    st->close = rq->close || st->unread;
    request_reply_begun(rq);
    conn_cork(c, buf_data(head), head->len);
    conn_become(c, &stream_proto, st);
    conn_set_deadline(c, DEADLINE_NONE);
    request_release(rq);
    return stream_begun(st);
}

struct http_stream *http_stream_start(struct http_request *rq, int status, const char *type,
                                      const struct http_stream_ops *ops, void *arg)
{
    return stream_start(rq, status, type, -1, ops, arg);
}

struct http_stream *http_stream_start_sized(struct http_request *rq, int status, const char *type,
                                            uint64_t length, const struct http_stream_ops *ops,
                                            void *arg)
{
    assert(length <= INT64_MAX);
    return stream_start(rq, status, type, (int64_t)length, ops, arg);
}

bool http_stream_ready(const struct http_stream *st)
{
    return st->h2 != NULL ? h2_ready(st->h2) : !st->c->blocked && !conn_is_ended(st->c);
}

static void stream_on_work(void *arg)
{
    struct http_stream *st = arg;

    if (st->ops != NULL && !conn_is_ended(st->c))
        st->ops->on_drain(st->arg);
}

bool http_stream_has_time(struct http_stream *st)
{
    struct loop *loop = st->c->server->loop;

    if (loop_has_time(loop))
        return true;
    st->work.fn = stream_on_work;
    st->work.arg = st;
    loop_defer_work(loop, &st->work);
    return false;
}

void http_stream_write(struct http_stream *st, const struct iovec *iov, int count)
{
    struct iovec parts[CONN_IOV_MAX - 1];
    size_t total = 0;
    char size[24];
    int n = 0;

    assert(count <= CONN_IOV_MAX - 3);
    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    if (total == 0 || st->head_only)
        return; /* an empty chunk would be the last */
    assert(!st->sized || total <= st->left);
    st->left -= st->sized ? total : 0;
    if (st->alive != NULL)
        st->written_ms = loop_now_ms(st->c->server->loop);
    if (st->h2 != NULL) {
        st->written += total;
        h2_write(st->h2, iov, count);
        return;
    }
    if (st->chunked) {
        int len = snprintf(size, sizeof size, "%zx\r\n", total);

        parts[n++] = (struct iovec){size, (size_t)len};
    }
    for (int i = 0; i < count; i++)
        parts[n++] = iov[i];
    if (st->chunked)
        parts[n++] = (struct iovec){(void *)(uintptr_t)("\r\n"), 2};
    conn_send(st->c, parts, n);
}

uint64_t http_stream_count_sent(const struct http_stream *st)
{
    return st->h2 != NULL ? st->written : conn_count_sent(st->c);
}

/* Streams of one HTTP/2 connection share its unsent bytes: all of them may be this stream's. */
uint64_t http_stream_count_taken(struct http_stream *st)
{
    uint64_t waiting;

    if (st->h2 == NULL)
        return conn_count_taken(st->c);
    waiting = h2_count_unsent(st->h2) + conn_count_sent(st->c) - conn_count_taken(st->c);
    if (st->written > waiting && st->written - waiting > st->taken)
        st->taken = st->written - waiting;
    return st->taken;
}

/* Writes in between do not touch the timer, so that they cost next to nothing. */
static void stream_on_alive(struct timer *t, void *arg)
{
    struct http_stream *st = arg;
    uint64_t silent = loop_now_ms(st->c->server->loop) - st->written_ms;
    struct iovec iov = {(void *)(uintptr_t)st->alive_bytes, strlen(st->alive_bytes)};

    if (silent < st->alive_ms) {
        timer_start(t, st->alive_ms - silent);
        return;
    }
    timer_start(t, st->alive_ms);
    if (http_stream_ready(st))
        http_stream_write(st, &iov, 1);
}

void http_stream_keep_alive(struct http_stream *st, const char *bytes, uint64_t ms)
{
    timer_close(st->alive);
    st->alive = NULL;
    if (bytes == NULL)
        return;
    st->alive = timer_new(st->c->server->loop, stream_on_alive, st);
    st->alive_bytes = bytes;
    st->alive_ms = ms;
    st->written_ms = loop_now_ms(st->c->server->loop);
    timer_start(st->alive, ms);
}

void http_stream_trailer(struct http_stream *st, const char *name, const char *value)
{
    buf_puts(&st->trailers, name);
    buf_puts(&st->trailers, ": ");
    buf_puts(&st->trailers, value);
    buf_puts(&st->trailers, "\r\n");
}

static void stream_send_end(struct http_stream *st)
{
    struct iovec last = {(void *)(uintptr_t)("0\r\n\r\n"), 5};

    if (st->trailers.len > 0) {
        conn_cork(st->c, "0\r\n", 3);
        buf_puts(&st->trailers, "\r\n");
        last = (struct iovec){buf_data(&st->trailers), st->trailers.len};
    }
    conn_send(st->c, &last, 1);
}

void http_stream_end(struct http_stream *st)
{
    if (st->sized && st->left > 0 && !st->head_only) {
        http_stream_abort(st);
        return;
    }
    if (st->chunked && !st->head_only)
        stream_send_end(st);
    if (conn_is_ended(st->c) && st->h2 == NULL)
        st->ops = NULL; /* freed with its connection, without notifying the owner */
    else
        stream_finish(st);
}

void http_stream_abort(struct http_stream *st)
{
    if (st->h2 != NULL) {
        h2_give_up(st->h2);
        stream_free(st);
        return;
    }
    st->ops = NULL;
    conn_end(st->c);
}
