/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_reply.c - responses on an HTTP/2 stream: complete ones, streamed ones, trailers
 *
 * What is to be sent is copied into the stream's `out`, unless it was lent; nghttp2 fetches it from
 * there as the peer's windows and the socket have room. Layer: transport.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "transport/h2_own.h"

/* --- nghttp2's callbacks ---------------------------------------------------------------- */

static void submit_trailers(struct h2_stream *s)
{
    struct h2_fields f;

    h2_fields_init(&f, NULL, &s->trailers);
    nghttp2_submit_trailer(s->h2->ng, s->id, f.list, f.count);
    h2_fields_fini(&f);
}

/* The stream has bytes to send, its own or lent ones. */
static size_t copy_next(struct h2_stream *s, uint8_t *to, size_t max)
{
    size_t held = s->out.len > 0 ? s->out.len : s->lent_len, n = held < max ? held : max;

    if (n == 0)
        return 0;
    if (s->out.len > 0) {
        memcpy(to, buf_data(&s->out), n);
        buf_drop(&s->out, n);
        h2_stream_count_held(s);
    } else {
        memcpy(to, s->lent, n);
        s->lent += n;
        s->lent_len -= n;
    }
    h2_stream_set_deadline(s);
    return n;
}

static ssize_t on_read(nghttp2_session *ng, int32_t id, uint8_t *to, size_t max, uint32_t *flags,
                       nghttp2_data_source *source, void *arg)
{
    struct h2_stream *s = source->ptr;
    size_t n = copy_next(s, to, max);

    (void)ng, (void)id, (void)arg;
    if (n == 0 && !s->whole)
        return NGHTTP2_ERR_DEFERRED;
    if (s->full && s->out.len <= LIMIT_H2_OUT_BYTES / 4) {
        s->full = false;
        s->behind = 0;
        s->has_room = true;
        h2_wake(s->h2);
    }
    if (s->whole && s->out.len == 0 && s->lent_len == 0) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (s->trailers.len > 0) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            submit_trailers(s);
        }
    }
    return (ssize_t)n;
}

/* --- the head ----------------------------------------------------------------------------- */

/* `length` < 0: of unknown length. */
static void submit_head(struct http_request *rq, int status, const char *type, long long length,
                        bool has_body)
{
    struct http_server *server = rq->server;
    struct h2_stream *s = rq->h2;
    nghttp2_data_provider body = {.source.ptr = s, .read_callback = on_read};
    struct buf *lines = &server->head;
    struct h2_fields f;
    char text[16];

    buf_clear(lines);
    response_put_fields(rq, lines, type);
    if (length >= 0)
        buf_printf(lines, "content-length: %lld\r\n", length);
    buf_put(lines, buf_data(&rq->extra), rq->extra.len);
    snprintf(text, sizeof text, "%d", status);
    h2_fields_init(&f, text, lines);
    if (nghttp2_submit_response(s->h2->ng, s->id, f.list, f.count, has_body ? &body : NULL) < 0)
        h2_reset(s);
    h2_fields_fini(&f);
    server->stats.responses_by_class[status / 100 < 6 ? status / 100 : 0]++;
}

void h2_send_continue(struct h2_stream *s)
{
    struct buf none = {0};
    struct h2_fields f;

    h2_fields_init(&f, "100", &none);
    nghttp2_submit_headers(s->h2->ng, NGHTTP2_FLAG_NONE, s->id, NULL, f.list, f.count, NULL);
    h2_fields_fini(&f);
    buf_fini(&none);
    h2_wake(s->h2);
}

static void leave_request(struct http_request *rq)
{
    struct h2_stream *s = rq->h2;

    request_reply_begun(rq);
    s->rq = NULL;
    request_release(rq);
    h2_stream_set_deadline(s);
    h2_wake(s->h2);
}

static void set_body(struct h2_stream *s, const void *body, size_t len, bool lent)
{
    if (lent) {
        s->lent = body;
        s->lent_len = len;
    } else if (buf_reserve(&s->out, len) < 0) {
        h2_reset(s);
    } else {
        buf_put(&s->out, body, len);
    }
}

void h2_reply(struct http_request *rq, int status, const char *type, const void *body, size_t len,
              bool lent)
{
    struct h2_stream *s = rq->h2;
    bool bare = status == 204 || status == 304, head = rq->parser.method == HTTP_HEAD_M;
    bool has_body = !bare && !head && len > 0;

    s->whole = true;
    if (has_body)
        set_body(s, body, len, lent);
    h2_stream_count_held(s);
    submit_head(rq, status, bare ? NULL : type, !bare && len > 0 ? (long long)len : -1, has_body);
    leave_request(rq);
}

/* --- streamed responses --------------------------------------------------------------------- */

void h2_start(struct http_request *rq, int status, const char *type, long long length,
              struct http_stream *st)
{
    struct h2_stream *s = rq->h2;
    bool head = rq->parser.method == HTTP_HEAD_M;

    s->st = st;
    s->whole = head;
    submit_head(rq, status, type, length, !head);
    leave_request(rq);
}

bool h2_ready(const struct h2_stream *s)
{
    return !s->full && !s->is_reset && !conn_is_ended(s->h2->c);
}

size_t h2_count_unsent(const struct h2_stream *s)
{
    return s->out.len;
}

static void go_on(struct h2_stream *s)
{
    nghttp2_session_resume_data(s->h2->ng, s->id);
    h2_wake(s->h2);
}

void h2_write(struct h2_stream *s, const struct iovec *iov, int count)
{
    size_t total = 0;

    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    if (s->is_reset || s->whole || conn_is_ended(s->h2->c))
        return;
    if (s->full)
        s->behind += total;
    if (s->behind > LIMIT_CONN_OUT_BYTES || buf_reserve(&s->out, total) < 0) {
        h2_reset(s);
        return;
    }
    for (int i = 0; i < count; i++)
        buf_put(&s->out, iov[i].iov_base, iov[i].iov_len);
    h2_stream_count_held(s);
    s->full |= s->out.len >= LIMIT_H2_OUT_BYTES;
    go_on(s);
}

void h2_end(struct h2_stream *s, const struct buf *trailers)
{
    s->st = NULL;
    s->has_room = false;
    if (s->whole || s->is_reset)
        return;
    s->whole = true;
    buf_put(&s->trailers, buf_data(trailers), trailers->len);
    h2_stream_set_deadline(s);
    go_on(s);
}
