/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2.h - HTTP/2 on a connection: the interface for the server's other files
 *
 * A connection that begins with the preface of HTTP/2 is taken over from HTTP/1.1 before a byte of
 * it is parsed. From there each stream is a struct http_request like any other: the gate, the
 * routes and their handlers do not know the difference. Where a response is sent, rq->h2 (or the
 * stream behind a struct http_stream) selects this path.
 *
 * nghttp2 does frames, header compression and windows. It is never called from inside its own
 * callbacks: responses are recorded, and the connection's task sends them at the end of the turn.
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_H2_H
#define HF_TRANSPORT_H2_H

#include "transport/http_request.h"

struct h2_stream;

/* h2_conn.c */
extern const struct conn_proto h2_proto;
/* Do the first bytes of a connection match the preface? A shorter prefix of it matches, too. */
#define H2_PREFACE_BYTES 24
bool h2_is_preface(const char *bytes, size_t len);
void h2_begin(struct conn *c); /* h2_proto gets all further bytes, including the preface */
void h2_on_stream_deadline(struct deadline *e, enum deadline_kind kind);
void h2_cut(struct conn *c, const char *grant);    /* the streams that came by this link */
void h2_cut_token(struct conn *c, uint32_t token); /* the streams that this token authorised */

/* h2_stream.c */
/* What authorised it: NULL: no link; 0: no token. */
void h2_set_grant(struct h2_stream *s, const char *grant, uint32_t token);
void h2_resume(struct h2_stream *s); /* the body's reader accepts more */
void h2_reset(struct h2_stream *s);  /* ends it now; its owner is notified at the end of the turn */
bool h2_is_reset(const struct h2_stream *s);
void h2_give_up(struct h2_stream *s); /* the same, but the owner is not notified */

/* h2_reply.c. The first two release the request. `lent`: the body is never freed. */
void h2_reply(struct http_request *rq, int status, const char *type, const void *body, size_t len,
              bool lent);
void h2_start(struct http_request *rq, int status, const char *type, long long length,
              struct http_stream *st);
void h2_send_continue(struct h2_stream *s);
bool h2_ready(const struct h2_stream *s);
size_t h2_count_unsent(const struct h2_stream *s); /* written, but not passed to the connection */
void h2_write(struct h2_stream *s, const struct iovec *iov, int count);
/* `trailers`: lines as in a head, "" for none. Detaches s from its http_stream. */
void h2_end(struct h2_stream *s, const struct buf *trailers);

#endif
