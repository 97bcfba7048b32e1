/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - a request in progress, from its handler to the end of its reply
 *
 * A handler that cannot reply at once begins a call. The call then ends in exactly one way: by one
 * of the functions below that reply, because the client disconnected, because the daemon drains, or
 * because the dialect is freed. Whichever it is, `release` runs once, and the memory is freed after
 * it. No other code frees a call or removes it from a list.
 *
 * A call may share its connection with others, as frames of a WebSocket: then it has a carrier in
 * the place of a request and a stream, and the same functions reply to it.
 *
 * A connection that has left HTTP, such as a WebSocket, is a call without a request, so that it is
 * listed, drained and freed like all others.
 *
 * A struct call is the first member of the dialect's own struct. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_CALL_H
#define HF_DIALECTS_COMMON_CALL_H

#include "base/json.h"
#include "base/list.h"
#include "transport/http.h"

struct call;
struct dialect_base;

/* Each may be NULL; the default is in brackets. */
struct call_kind {
    /* Frees what the call holds, not the call itself [it holds nothing]. */
    void (*release)(struct call *c);
    /* The client disconnected; `release` follows, unless the call stays: it may then end here
     * [nothing]. */
    void (*disconnected)(struct call *c);
    /* The call must not be freed by a disconnect, because the engine will call back with it as the
     * argument. The callback ends the call. If the client has disconnected by then, rq and out are
     * NULL, and the functions that reply send nothing. */
    bool stays;
    /* The daemon drains: ends the call, or returns if it ends by itself soon [replies
     * shutting_down, or aborts the stream; nothing if the call stays]. */
    void (*drain)(struct call *c);
    /* In the place of `drain`: replies shutting_down with this text, even if the call stays. Then
     * `release` cancels the engine's callback [a general text]. */
    const char *drain_text;
    /* The stream has room again [nothing]. */
    void (*room)(struct call *c);
};

/* The part of a connection that carries one call. The dialect frames what is sent. */
struct call_carrier {
    const struct call_carrier_ops *ops;
    struct call *call;
};

/* Each may be NULL where a default is in brackets. */
struct call_carrier_ops {
    /* body NULL: the end of a stream [nothing, on a connection that only streams]. */
    void (*reply)(struct call_carrier *k, int status, const struct buf *body);
    void (*event)(struct call_carrier *k, const struct buf *data); /* of a stream */
    bool (*ready)(const struct call_carrier *k);
    /* How much the connection has sent, and how much of it its peer has received, as in viewer.h
     * [both: not known]. */
    uint64_t (*sent)(struct call_carrier *k);
    uint64_t (*received)(struct call_carrier *k);
    bool by_kernel; /* the peer's kernel has it; its program may have read less */
    /* Nothing more is sent: the call has ended, or call_leave() was called. Frees it, unless it is
     * part of the call's own struct [nothing]. */
    void (*leave)(struct call_carrier *k);
};

struct call {
    struct list link; /* in the dialect's list of calls */
    const struct call_kind *kind;
    struct dialect_base *base;
    struct http_request *rq;      /* NULL once the stream has started */
    struct http_stream *out;      /* NULL: no stream */
    struct call_carrier *carrier; /* in the place of both; NULL: none */
    bool streams;                 /* the reply is a stream, and it has started */
};

/* Allocates `size` zeroed bytes that begin with a struct call. */
void *call_begin(struct http_request *rq, const struct call_kind *kind, size_t size);
/* The same for zeroed memory from hf_xalloc() that the caller has allocated already. */
void call_adopt(struct call *c, struct http_request *rq, const struct call_kind *kind);
/* The same without an HTTP client: for a connection, for what an earlier worker accepted, or for
 * one of several requests in a body. rq stays NULL. */
void call_adopt_unattended(struct call *c, struct dialect_base *b, const struct call_kind *kind);
/* The same for a call of a shared connection, which calls call_leave() and call_room(). */
void call_adopt_carried(struct call *c, struct dialect_base *b, const struct call_kind *kind,
                        struct call_carrier *k);
void call_room(struct call *c);

/* For call_kind.drain: the call ends by itself soon. */
void call_outlast_drain(struct call *c);

/* Each replies and ends the call. */
void call_send(struct call *c, int status, struct json_out *o); /* closes the object */
void call_send_empty(struct call *c, int status);
void call_fail(struct call *c, const struct hf_error *err); /* not for a carried call */
/* The caller has replied, or is about to: ends the call and returns its request. */
struct http_request *call_end(struct call *c);
/* The reply is not needed any more: the same as a disconnect of its client. */
void call_leave(struct call *c);
/* The caller replies now, and the call continues without a client. NULL: it has disconnected. */
struct http_request *call_detach(struct call *c);

/* Replies with a stream. It has to be ended by call_stream_end() or call_stream_abort(). */
void call_stream(struct call *c, int status, const char *type);
/* The same for a body of exactly so many bytes; < 0: unknown. */
void call_stream_sized(struct call *c, int status, const char *type, int64_t length);
void call_stream_sse(struct call *c);
bool call_is_ready(const struct call *c); /* the stream accepts more; false before it starts */
/* `event` is the name in a stream of server-sent events; NULL: none. */
void call_event(struct call *c, const char *event, const struct buf *data);
void call_stream_end(struct call *c);
/* Ends the stream regularly, and the call continues without a client. */
void call_stream_detach(struct call *c);
void call_stream_abort(struct call *c); /* the client must not take this for a regular end */

/* For dialect_base.c: all calls of a dialect. */
void call_drain_all(struct list *calls);
void call_free_all(struct list *calls); /* the engine calls back no more */

#endif
