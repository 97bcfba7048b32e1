/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2.h - HTTP/2 on a connection: what the server's other files need of it
 *
 * A connection that begins with the preface of HTTP/2 is taken over from HTTP/1.1 before a byte
 * of it is parsed. From there each stream is a struct http_request as any other: the gate, the
 * routes and their handlers do not know the difference. Where an answer leaves, rq->h2 (or the
 * stream behind a struct http_stream) says that it goes this way.
 *
 * nghttp2 does frames, header compression and windows. It is never called from inside of itself:
 * answers are noted, and sent by the connection's task at the end of the turn. Layer: transport.
 */
#ifndef HF_TRANSPORT_H2_H
#define HF_TRANSPORT_H2_H

#include "transport/http_request.h"

struct h2_stream;

/* h2_conn.c */
extern const struct conn_proto h2_proto;
/* Do the first bytes of a connection agree with the preface? Fewer than it has may turn out to. */
#define H2_PREFACE_BYTES 24
bool h2_is_preface(const char *bytes, size_t len);
void h2_begin(struct conn *c); /* all further bytes, the preface among them, are h2_proto's */
void h2_on_stream_deadline(struct deadline *e, enum deadline_kind kind);
void h2_cut(struct conn *c, const char *grant);    /* the streams that came by this link */
void h2_cut_token(struct conn *c, uint32_t token); /* those that this token let in */

/* h2_stream.c */
/* Who let it in: NULL: no link; 0: no token. */
void h2_set_grant(struct h2_stream *s, const char *grant, uint32_t token);
void h2_resume(struct h2_stream *s); /* the body's reader takes more */
void h2_reset(struct h2_stream *s);  /* ends it now; its owner is told at the end of the turn */
bool h2_is_reset(const struct h2_stream *s);
void h2_give_up(struct h2_stream *s); /* the same, but its owner knows */

/* h2_reply.c. The request is released by the first two. `lent`: the body is never freed. */
void h2_reply(struct http_request *rq, int status, const char *type, const void *body, size_t len,
              bool lent);
void h2_start(struct http_request *rq, int status, const char *type, struct http_stream *st);
void h2_send_continue(struct h2_stream *s);
bool h2_ready(const struct h2_stream *s);
size_t h2_count_unsent(const struct h2_stream *s); /* written, and not given to the connection */
void h2_write(struct h2_stream *s, const struct iovec *iov, int count);
/* `trailers`: lines as in a head, "" for none. s knows its http_stream no more. */
void h2_end(struct h2_stream *s, const struct buf *trailers);

#endif
