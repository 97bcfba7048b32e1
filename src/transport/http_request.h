/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_request.h - a request from its first byte to the end of its response
 *
 * Private to the server's files. A request belongs to its HTTP/1.1 connection (c->owner), or to its
 * stream (h2) of an HTTP/2 connection. When its response has begun, or its connection is closed, it
 * moves to the server's list and is freed at the end of the turn, so that a handler may use it
 * until it returns. A request whose peer disconnected before the response, and whose handler set no
 * on_disconnect, stays on that list until the handler replies; the reply is dropped. A request
 * whose handler is still queued is not kept: the handler will not be called any more.
 *
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_HTTP_REQUEST_H
#define HF_TRANSPORT_HTTP_REQUEST_H

#include "transport/conn.h"
#include "transport/http1.h"
#include "transport/router.h"

/* After a response that was sent before the whole body arrived: up to this much more is read and
 * dropped to keep the connection. */
#define REQUEST_DRAIN_BYTES (64 * 1024)

struct h2_stream;    /* h2.h */
struct request_text; /* strings made for the request */

struct http_request {
    struct list link; /* in server->requests once it has no connection */
    struct task free_task;
    struct task call_task; /* calls the handler in a later turn */
    struct http_server *server;
    struct conn *c;       /* NULL: closed */
    struct h2_stream *h2; /* NULL: it came by HTTP/1.1 */

    struct http1 parser;                 /* for HTTP/2, h2_head.c fills in the results only */
    const char *path, *query_raw, *host; /* host: of the target or the header; NULL */
    struct path segments;
    struct url_query query;
    struct route_match match;
    const struct route_table *table; /* shape of errors */
    enum role role, found_role;
    struct auth_grant grant;
    struct request_text *texts;

    struct buf body;
    size_t handler_bytes;    /* http_set_held() */
    struct peer_memory held; /* of the head, the body and the handler */
    /* At the front of the connection's bytes: body that was not consumed. */
    size_t body_parsed;
    http_body_fn *on_body;

    struct buf extra; /* headers of the response */
    const char *lent; /* rest of its body, borrowed */
    size_t lent_len;
    void *user;
    void (*on_disconnect)(void *user);

    void *kept; /* http_keep() */
    bool query_parsed;
    bool role_found;    /* found_role holds the result of the auth check */
    bool expect;        /* the peer waits for a 100 */
    bool body_done;     /* received to the end */
    bool body_waits;    /* the handler accepts nothing for now */
    bool last_reported; /* the stream handler knows that the body is complete */
    bool handling;      /* the handler was called */
    bool replied;       /* the response has begun */
    bool waits;      /* call_task will call the handler, which knows nothing else of the request */
    bool in_line;    /* of those: call_task is its first call; counted by the server */
    bool close;      /* no further request on this connection */
    bool sets_cache; /* extra has a Cache-Control */
};

struct http_request *request_new(struct http_server *s, struct conn *c);
/* Parses the target into path, query_raw and host; 0 or err. After HTTP1_HEAD. */
int request_parse_target(struct http_request *rq, struct hf_error *err);
/* Detaches it from its connection; it is freed when the turn ends. */
void request_release(struct http_request *rq);
/* The connection closed before the response: notifies the handler. */
void request_orphan(struct http_request *rq);
void request_free(struct http_request *rq);
/* Call after its head or body has grown. May end the connection. */
void request_count_held(struct http_request *rq);
void request_free_all(struct http_server *s);
/* A string that lives as long as the request. */
const char *request_keep_text(struct http_request *rq, const char *text, size_t len);
bool request_parse_query(struct http_request *rq, struct hf_error *err);

/* gate.c: everything between the head and the handler. False: the response has begun. */
bool gate_admit(struct http_request *rq);
size_t gate_body_max(const struct http_request *rq);
/* A method that changes nothing, even if another site makes a browser send it. */
bool request_is_plain_read(const struct http_request *rq);

/* http_dispatch.c: what follows the head, for HTTP/1.1 and HTTP/2 */
bool request_is_streamed(const struct http_request *rq);
void request_on_head(struct http_request *rq);
void request_cancel_call(struct http_request *rq); /* the peer is gone: no reply is needed */
/* Delivers a piece of the body to its reader; returns how much was consumed. */
size_t request_deliver_body(struct http_request *rq, const char *bytes, size_t len);
void request_on_done(struct http_request *rq); /* the body is complete */
/* Framing is lost or the peer is too slow: nothing more it sends is a request. */
void request_give_up(struct http_request *rq, const struct hf_error *err);

/* http_conn.c */
extern const struct conn_proto http_proto;
bool request_is_idle(const struct conn *c); /* between two requests */
/* The gate has admitted something that is still active: a request without its reply, a reply that
 * is not all sent, a stream, an upgrade. */
bool request_is_admitted(const struct conn *c);

/* http_response.c */
/* Decides whether the connection stays open, and writes the head into server->head. */
enum body_form { BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_CLOSE, BODY_UPGRADE };
struct buf *response_head(struct http_request *rq, int status, const char *type,
                          enum body_form form, uint64_t length);
/* The fields of every response, except those that frame its body. */
void response_put_fields(struct http_request *rq, struct buf *out, const char *type);
bool request_keeps_connection(const struct http_request *rq);
/* The response has begun: on_disconnect will not be called any more. */
void request_reply_begun(struct http_request *rq);
void request_send_continue(struct http_request *rq);
/* HTTP/1.1: sends more of the lent body, as far as the socket has room. */
void request_send_lent(struct http_request *rq);

/* http_stream.c: its HTTP/2 stream has room, or is closed; st is dead after the latter. */
void stream_on_room(struct http_stream *st);
void stream_on_disconnect(struct http_stream *st);
const char *http_status_text(int status);

#endif
