/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_own.h - what the HTTP/2 files share
 *
 * The connection (struct h2) owns its streams. A stream lives from its first header to the end of
 * both directions, or a reset. It has a request until the response begins, then perhaps a struct
 * http_stream, and in the end only bytes that the peer has not received yet.
 *
 * The owner of a request or a response is never notified of its end from inside one of its own
 * calls: h2_reset() only marks the stream, and the connection's task notifies the owner. Layer:
 * transport.
 */
#ifndef HF_TRANSPORT_H2_OWN_H
#define HF_TRANSPORT_H2_OWN_H

#include <nghttp2/nghttp2.h>

#include "base/limits.h"
#include "transport/h2.h"

/* Where a peer's frames begin, and which streams it may no longer use (h2_frames.c). */
struct h2_frames {
    size_t skip;                      /* bytes up to the next one */
    size_t have;                      /* bytes of it in `head` */
    uint8_t head[13];                 /* including the stream that a PRIORITY frame depends on */
    uint32_t closed[LIMIT_H2_CLOSED]; /* the last ones that the peer has ended */
    size_t closed_count;              /* in total */
};

struct h2 {
    struct conn *c;
    nghttp2_session *ng;
    struct list streams;
    struct task task;                /* delivers, notifies and sends at the end of the turn */
    const struct h2_stream *head_of; /* its header block is not complete; NULL */
    size_t pending;                  /* requests that no handler has seen yet */
    struct h2_frames frames;
    bool greeted; /* the peer's settings have arrived */
    bool broken;  /* sends its last frames and ends */
};

struct h2_stream {
    struct list link;
    struct h2 *h2;
    struct http_request *rq; /* NULL: the response has begun */
    struct http_stream *st;  /* NULL: none, or its owner is done with it */
    char *grant;             /* of the link it came by; NULL */
    uint32_t token;          /* number of the token that authorised it; 0: none */
    struct buf in;           /* body that was not consumed; at most the stream's window */
    struct buf out;          /* unsent part of the response */
    struct buf trailers;
    const char *lent; /* follows `out`; borrowed */
    size_t lent_len;
    struct peer_memory held; /* of the first three */
    size_t behind;           /* appended to `out` since it is full */
    struct deadline deadline;
    int32_t id;
    bool pending;  /* the head is complete; its handler has not been called */
    bool bare;     /* the head was all of the request */
    bool got_all;  /* the peer sends no more on it */
    bool full;     /* the writer has to wait */
    bool has_room; /* it has room again: notify the writer */
    bool whole;    /* all of the response is in `out` */
    bool is_reset;
};

/* h2_conn.c */
void h2_wake(struct h2 *h2); /* runs the task at the end of this turn */

/* h2_stream.c */
struct h2_stream *h2_stream_new(struct h2 *h2, int32_t id);
void h2_stream_free(struct h2_stream *s); /* without notifying anyone */
void h2_stream_tell_gone(struct h2_stream *s);
void h2_stream_on_head(struct h2_stream *s, bool last); /* pending from now on */
void h2_stream_begin(struct h2_stream *s);              /* no longer pending: calls its handler */
void h2_stream_on_data(struct h2_stream *s, const char *bytes, size_t len);
void h2_stream_on_last(struct h2_stream *s);
void h2_stream_count_held(struct h2_stream *s); /* after `in` or `out` has changed */
void h2_stream_on_turn(struct h2_stream *s);    /* feeds its reader, notifies its owner */
void h2_stream_set_deadline(struct h2_stream *s);
void h2_stream_on_late(struct h2_stream *s, enum deadline_kind kind);

/* h2_frames.c: pure */
void h2_frames_init(struct h2_frames *f);
/* Both the peer and we have ended this stream. A reset by the peer is known already. */
void h2_frames_close(struct h2_frames *f, int32_t id);
/* Advances to the end of the next frame's head, or of the bytes; returns by how many. *error is the
 * frame's violation, one of nghttp2_error_code; nothing can be read after one. */
size_t h2_frames_step(struct h2_frames *f, const uint8_t *bytes, size_t len, uint32_t *error);

/* h2_head.c: pure */
/* One field of a request's head; errors are recorded in p. */
void h2_head_field(struct http1 *p, const char *name, size_t name_len, const char *value,
                   size_t value_len);
void h2_head_refuse(struct http1 *p); /* a field was malformed */
void h2_head_finish(struct http1 *p, bool last);
/* "Name: value\r\n" lines, in place: names in lower case, without connection-specific ones. */
struct h2_fields {
    nghttp2_nv *list; /* hf_xalloc()ed */
    size_t count;
};
void h2_fields_init(struct h2_fields *f, const char *status, struct buf *lines);
void h2_fields_fini(struct h2_fields *f);

#endif
