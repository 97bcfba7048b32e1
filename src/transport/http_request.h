/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_request.h - a request from its first byte to the end of its answer
 *
 * Private to the server's files. A request belongs to its connection (c->owner) while
 * HTTP/1.1 is spoken there, or to its stream (h2) of a connection that speaks HTTP/2. When it is answered, or its connection is gone, it moves to the
 * server's list and is freed at the end of the turn, so that a handler may look at it
 * until it returns. A request whose peer went away before the answer, and whose handler
 * set no on_gone, stays on that list until the handler answers into the void. One whose handler
 * waits to be called is not kept: the handler will not be called any more.
 *
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_HTTP_REQUEST_H
#define HF_TRANSPORT_HTTP_REQUEST_H

#include "transport/conn.h"
#include "transport/http1.h"
#include "transport/router.h"

/* After an answer that came before the whole body: up to this much more is read and
 * dropped to keep the connection. */
#define REQUEST_DRAIN_BYTES (64 * 1024)

struct h2_stream;    /* h2.h */
struct request_text; /* strings made for the request */

struct http_request {
    struct list link; /* in server->requests once it has no connection */
    struct task free_task;
    struct task call_task; /* the handler is called in a later turn */
    struct http_server *server;
    struct conn *c;       /* NULL: gone */
    struct h2_stream *h2; /* NULL: it came by HTTP/1.1 */

    struct http1 parser;                 /* of HTTP/2 only what it found: h2_head.c fills it in */
    const char *path, *query_raw, *host; /* host: of the target or the header; NULL */
    struct path segments;
    struct url_query query;
    struct route_match match;
    const struct route_table *table; /* shape of errors */
    enum role role, found_role;
    struct auth_grant grant;
    struct request_text *texts;

    struct buf body;
    struct peer_memory held; /* of the head and the body */
    size_t body_parsed;      /* in front of what the connection holds: body that was not taken */
    http_body_fn *on_body;

    struct buf extra; /* headers of the answer */
    const char *lent; /* rest of its body, which belongs to somebody else */
    size_t lent_len;
    void *user;
    void (*on_gone)(void *user);

    void *kept; /* http_keep() */
    bool query_parsed;
    bool role_found; /* auth was asked; found_role is what it said */
    bool expect;     /* the peer waits for a 100 */
    bool body_done;  /* received to the end */
    bool body_waits; /* the handler takes nothing for now */
    bool last_told;  /* the stream handler knows that the body is done */
    bool handling;   /* the handler was called */
    bool answered;   /* an answer was begun */
    bool waits;      /* its handler is to be called by call_task and knows nothing else of it */
    bool in_line;    /* of those: call_task is its first call; counted by the server */
    bool close;      /* no further request on this connection */
    bool sets_cache; /* extra has a Cache-Control */
};

struct http_request *request_new(struct http_server *s, struct conn *c);
/* Parses the target into path, query_raw and host; 0 or err. After HTTP1_HEAD. */
int request_parse_target(struct http_request *rq, struct hf_error *err);
/* Off its connection; freed when the turn ends. */
void request_release(struct http_request *rq);
/* The connection is gone before the answer: tells the handler. */
void request_orphan(struct http_request *rq);
void request_free(struct http_request *rq);
/* After its head or body has grown. May end the connection. */
void request_count_held(struct http_request *rq);
void request_free_all(struct http_server *s);
/* A string that lives as long as the request. */
const char *request_keep_text(struct http_request *rq, const char *text, size_t len);
bool request_parse_query(struct http_request *rq, struct hf_error *err);

/* gate.c: everything between the head and the handler. False: it is answered. */
bool gate_admit(struct http_request *rq);
size_t gate_body_max(const struct http_request *rq);
/* It can change nothing, whoever makes a browser send it. */
bool request_is_plain_read(const struct http_request *rq);

/* http_dispatch.c: what follows the head, by whichever way it came */
bool request_is_streamed(const struct http_request *rq);
void request_on_head(struct http_request *rq);
void request_cancel_call(struct http_request *rq); /* nobody is left to be answered */
/* A piece of the body for whoever wants it; returns how much was taken. */
size_t request_give_body(struct http_request *rq, const char *bytes, size_t len);
void request_on_done(struct http_request *rq); /* the body is complete */
/* Framing is lost or the peer is too slow: whatever it sends is not a request any more. */
void request_give_up(struct http_request *rq, const struct hf_error *err);

/* http_conn.c */
extern const struct conn_proto http_proto;
bool request_is_idle(const struct conn *c); /* between two requests */
/* Something is under way that the gate let in: a request without its reply, a reply that is not all
 * sent, a stream, an upgrade. */
bool request_is_admitted(const struct conn *c);

/* http_response.c */
/* Decides whether the connection stays, writes the head into server->head. length < 0:
 * of unknown length; chunked is what it becomes. */
enum body_form { BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_CLOSE, BODY_UPGRADE };
struct buf *response_head(struct http_request *rq, int status, const char *type,
                          enum body_form form, uint64_t length);
/* The fields that every answer has, but for those that say how its body is framed. */
void response_put_fields(struct http_request *rq, struct buf *out, const char *type);
bool request_keeps_connection(const struct http_request *rq);
/* The answer is begun: on_gone will not be called any more. */
void request_answered(struct http_request *rq);
void request_send_continue(struct http_request *rq);
/* HTTP/1.1: sends on from the lent body, as far as the socket has room. */
void request_send_lent(struct http_request *rq);

/* http_stream.c: its stream of HTTP/2 has room, or is gone; st is dead after the latter. */
void stream_on_room(struct http_stream *st);
void stream_on_gone(struct http_stream *st);
const char *http_status_text(int status);

#endif
