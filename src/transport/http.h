/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the HTTP server: requests, responses, streams and WebSockets
 *
 * A route's handler gets a request and must reply to it exactly once, now or in a later turn:
 * http_reply*(), http_stream_start(), ws_accept() or raw_accept(). If the peer disconnects first,
 * the request's on_disconnect callback is called instead and the request is dead. Requests on one
 * HTTP/1.1 connection are handled one after the other (pipelined ones wait, unparsed), those of
 * HTTP/2 concurrently. A handler need not know which of the two a request used; only WebSockets and
 * raw bytes require HTTP/1.1.
 *
 * The server knows no process and no platform: route tables supply handlers and the shape of
 * errors. Layer: transport; includes base only.
 */
#ifndef HF_TRANSPORT_HTTP_H
#define HF_TRANSPORT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/loop.h"

struct http_server;
struct http_request;
struct auth;   /* auth.h */
struct origin; /* origin.h */

enum http_method {
    HTTP_GET_M = 1,
    HTTP_HEAD_M = 2,
    HTTP_POST_M = 4,
    HTTP_PUT_M = 8,
    HTTP_PATCH_M = 16,
    HTTP_DELETE_M = 32,
    HTTP_OPTIONS_M = 64,
};
unsigned http_method_of(const char *name, size_t len); /* 0: unknown */

enum role { ROLE_NONE, ROLE_WATCH, ROLE_TYPE, ROLE_OWN };
const char *http_role_name(enum role role); /* "watch" */

/* Which link a request used; see auth.h. */
#define AUTH_GRANT_MAX 63
#define AUTH_PRINCIPAL_MAX 63
struct auth_grant {
    char id[AUTH_GRANT_MAX + 1];            /* "": none */
    char principal[AUTH_PRINCIPAL_MAX + 1]; /* of a token or cookie below `own`; "": none */
    /* The secret itself was presented: that counts as a use. */
    bool counts;
    /* It is a link's secret, but the link has ended or never existed. */
    bool refused;
    uint32_t token; /* number of the token that authorised it; 0: none; auth.h */
};

typedef void http_handler(struct http_request *rq);

enum {
    ROUTE_PUBLIC = 1,      /* no token, no Host check: health probes */
    ROUTE_STREAM_BODY = 2, /* handler runs after the head and reads by http_body_stream() */
    ROUTE_UPGRADE = 4,     /* WebSocket or raw: 426 without Upgrade */
    ROUTE_NO_BODY = 8,     /* a body is refused (400) */
    ROUTE_ANY_QUERY = 16,  /* do not check names of query parameters */
    ROUTE_PREFIX = 32,     /* pattern is a prefix; rest by http_param(rq, "*"), not decoded */
    ROUTE_SCOPED = 128,    /* a request by a link is allowed, if it is in the link's scope */
    ROUTE_RAW = 64,        /* with ROUTE_UPGRADE: protocols other than websocket are allowed */
    ROUTE_PROBE = 256,     /* a health probe: served even beyond the limit of connections */
    ROUTE_CHANGES = 512,   /* a GET that changes something: refused from pages of other sites */
};

struct route {
    unsigned methods;    /* OR of enum http_method; GET implies HEAD */
    const char *pattern; /* "/v1/processes/{id}/signal"; {x} is one segment, percent-decoded */
    http_handler *handler;
    enum role role; /* minimum role */
    unsigned flags;
    size_t body_max;   /* 0: LIMIT_JSON_BODY_BYTES */
    const char *query; /* allowed names, space separated; NULL: none */
};

/* Ways in which a platform's clients send their token, in addition to the daemon's own. They are
 * tried first, because some platforms use Authorization for something else. */
struct auth_ways {
    const char *headers; /* headers whose value is a token, separated by spaces; NULL: none */
    /* The same for query parameters, for clients that have no other way. */
    const char *query;
    const char *upgrade_query; /* and those that count for an upgrade only */
    const char *basic_query; /* parameters that hold what follows "Basic "; implies nothing else */
    bool basic;              /* Authorization: Basic, the token as user or as password */
    const char *scheme;      /* another name for Bearer in Authorization; NULL: none */
    /* Credentials of the platform itself, such as tickets; ROLE_NONE: no match. Called for an
     * upgrade only, because nothing else needs it. */
    enum role (*upgrade_own)(const struct http_request *rq, struct auth_grant *g);
};

/* One dialect's routes under one prefix ("" for the root). */
struct route_table {
    const char *prefix;
    const struct route *routes;
    size_t count;
    /* Replies with `err` in the dialect's shape (also for 401, 404, 405, 413 …). */
    void (*error)(struct http_request *rq, const struct hf_error *err);
    void *context;                /* http_context(rq): the dialect's own, usually the engine */
    const struct auth_ways *ways; /* NULL: only the daemon's own */
};

struct http_options {
    size_t header_bytes, header_count, uri_bytes, max_connections;
    size_t held_bytes, held_weak_bytes, held_untrusted_bytes; /* peer_memory.h */
    uint32_t head_ms, body_ms, keepalive_ms;
    uint32_t stall_ms; /* a peer that reads nothing of its response */
    uint32_t ping_ms;  /* WebSocket ping; 0: WS_PING_MS */
    /* Of connections that we make; 0: no time-out. */
    uint32_t connect_ms, reply_ms, pool_ms, quiet_ms;
    bool compress; /* permessage-deflate may be negotiated */
    const struct auth *auth;
    const struct origin *origin;
};
void http_options_default(struct http_options *o);
/* Lowers max_connections to what the descriptor limit leaves room for. */
void http_options_fit(struct http_options *o);

struct http_server *http_server_new(struct loop *loop, const struct http_options *o);
void http_server_free(struct http_server *s); /* closes everything at once */
/* Tables are tried in order of registration; the longest prefix wins. */
void http_server_mount(struct http_server *s, const struct route_table *table);

enum listen_kind { LISTEN_TCP, LISTEN_UNIX };
struct tls_context; /* tls.h */
/* Takes ownership of a listening, non-blocking socket. `table` NULL: all mounted tables; otherwise
 * only that one, at the root (a dialect's own listener). tls may be NULL. */
void http_server_listen(struct http_server *s, int fd, enum listen_kind kind,
                        const struct route_table *table, struct tls_context *tls);
/* Stops accepting; idle connections close, owners end their streams; `done` runs when the last
 * connection is closed or after `ms` (then the rest are cut). WebSockets get 1001. */
void http_server_drain(struct http_server *s, uint32_t ms, task_fn *done, void *arg);

/* A link has ended: cuts everything still open that came by it, except WebSockets, which their
 * owners close. */
void http_server_cut(struct http_server *s, const char *grant);
/* A token has ended: cuts everything still open that it authorised; WebSockets are closed with
 * WS_CODE_TOKEN_ENDED. A connection between requests stays: its next request is refused. */
void http_server_cut_token(struct http_server *s, uint32_t token);

struct http_stats {
    uint64_t connections, connections_total, requests_total, responses_by_class[6];
    uint64_t bytes_in, bytes_out;
    uint64_t connections_evicted_total; /* untrusted ones, closed to make room for others */
    uint64_t overloaded_total;          /* closed or refused because too many bytes were held */
    uint64_t held_untrusted, held_weak, held_own; /* bytes, by trust */
};
void http_server_stats(const struct http_server *s, struct http_stats *out);
/* Whether all peers may make it hold this much more (peer_memory.h). */
bool http_server_has_room(const struct http_server *s, size_t bytes);

/* --- the request ---------------------------------------------------------- */
enum http_method http_method(const struct http_request *rq);
const char *http_path(const struct http_request *rq);                    /* raw, without query */
const char *http_query_raw(const struct http_request *rq);               /* without '?'; "" */
const char *http_param(const struct http_request *rq, const char *name); /* decoded; NULL */
const char *http_query(const struct http_request *rq, const char *name); /* decoded; NULL */
/* Iterates, including repeated names: start with *i = 0; false: no more. */
bool http_query_each(const struct http_request *rq, size_t *i, const char **name,
                     const char **value);
/* The name is case-insensitive; repeated headers are joined by ", "; NULL: absent. */
const char *http_header(const struct http_request *rq, const char *name);
/* Iterates over all of them: start with *at = 0; false: no more. */
bool http_header_each(const struct http_request *rq, size_t *at, const char **name,
                      const char **value);
const char *http_body(const struct http_request *rq, size_t *len); /* whole, non-stream routes */
enum role http_role(const struct http_request *rq);
/* The handler of a public route has verified a credential of its own, such as a signature: the
 * connection is not closed to make room for others. */
void http_set_trusted(struct http_request *rq, enum role role);
const char *http_grant(const struct http_request *rq); /* of the link it came by; NULL: none */
/*
 * The caller's identity: the same text for the same credential, in every worker and after an
 * upgrade. All credentials of the role `own` are one principal, HTTP_OWNER, so a new token changes
 * nothing for them; below it each token, cookie and link is a principal of its own.
 */
#define HTTP_OWNER "own"
const char *http_principal(const struct http_request *rq);
uint32_t http_token(const struct http_request *rq); /* number of its token; 0: none */
bool http_is_tls(const struct http_request *rq);
bool http_is_websocket(const struct http_request *rq); /* requests an upgrade to WebSocket */
const char *http_peer(const struct http_request *rq);  /* "127.0.0.1:4711", "unix:uid=0" */
void *http_context(const struct http_request *rq);
struct loop *http_loop(const struct http_request *rq);
bool http_wants(const struct http_request *rq, const char *type); /* Accept prefers it by name */
bool http_accepts(const struct http_request *rq, const char *type);
/* Does the list in this header (Accept, Accept-Encoding) name it, and not with "q=0"? */
bool http_lists(const struct http_request *rq, const char *header, const char *name);

/*
 * The handler has more to do before it can reply than this turn has time for (loop_has_time()): it
 * is called again with the same request in a later turn. It may keep intermediate results in memory
 * that is zero at first, the same at each call, and freed with the request. If the peer disconnects
 * in between, the handler is not called again, and the request is freed.
 */
void http_call_again(struct http_request *rq);
void *http_keep(struct http_request *rq, size_t bytes);
/* The handler's own data; on_disconnect runs at most once, never after the response has begun. */
void http_set_user(struct http_request *rq, void *user, void (*on_disconnect)(void *user));
void *http_user(const struct http_request *rq);

/*
 * ROUTE_STREAM_BODY: delivers bytes as they arrive. on_body returns how many it consumed; fewer
 * than len stops the reading until http_body_resume(). `last` is true once, with len 0 or more,
 * when the body is complete.
 */
typedef size_t http_body_fn(struct http_request *rq, const void *bytes, size_t len, bool last);
void http_body_stream(struct http_request *rq, http_body_fn *on_body);
void http_body_resume(struct http_request *rq);
/* Memory that the handler holds of such a body, as peer_memory.h counts it. May cut the connection,
 * which is reported later. */
void http_set_held(struct http_request *rq, size_t bytes);

/* --- responses ------------------------------------------------------------------ */
void http_add_header(struct http_request *rq, const char *name, const char *value);
void http_reply(struct http_request *rq, int status, const char *type, const void *body,
                size_t len);
/* The same with bytes that are never freed. They are sent from where they are: for a peer that does
 * not read, the daemon buffers at most LIMIT_LENT_SLICE_BYTES of them. */
void http_reply_lent(struct http_request *rq, int status, const char *type, const void *body,
                     size_t len);
void http_reply_json(struct http_request *rq, int status, const struct buf *json);
void http_reply_empty(struct http_request *rq, int status);
/* In the shape of the request's route table. */
void http_reply_error(struct http_request *rq, const struct hf_error *err);

/*
 * A body of unknown length: chunked (HTTP/1.0: until close; HTTP/2: in frames). write() accepts
 * everything; what the socket has no room for is copied and buffered, so write only while
 * http_stream_ready() says that nothing is buffered, and continue in on_drain. After on_disconnect
 * the stream is dead. http_stream_end() finishes it and releases the connection.
 */
struct http_stream;
struct http_stream_ops {
    void (*on_drain)(void *arg);
    void (*on_disconnect)(void *arg);
};
struct http_stream *http_stream_start(struct http_request *rq, int status, const char *type,
                                      const struct http_stream_ops *ops, void *arg);
/* The same for a body of known length: exactly so many bytes must be written. An end before that
 * is an abort. */
struct http_stream *http_stream_start_sized(struct http_request *rq, int status, const char *type,
                                            uint64_t length, const struct http_stream_ops *ops,
                                            void *arg);
bool http_stream_ready(const struct http_stream *st);
/* For an owner whose writing takes long (base/work.h): may it continue in this turn? False: no, and
 * its on_drain is called in a later one. */
bool http_stream_has_time(struct http_stream *st);
/* Writes these bytes, which are borrowed, after so much silence if there is room: proxies must not
 * mistake silence for the end. NULL: stop. */
void http_stream_keep_alive(struct http_stream *st, const char *bytes, uint64_t ms);
void http_stream_write(struct http_stream *st, const struct iovec *iov, int count);
/* How much was written, in bytes on the wire, and how much of it the peer's kernel has. */
uint64_t http_stream_count_sent(const struct http_stream *st);
uint64_t http_stream_count_taken(struct http_stream *st);
/* Follows the body; the value must be one line of text. A peer of HTTP/1.0 does not get it. */
void http_stream_trailer(struct http_stream *st, const char *name, const char *value);
void http_stream_end(struct http_stream *st); /* st is dead after this */
/* Cuts the connection, or the HTTP/2 stream; st is dead after this. */
void http_stream_abort(struct http_stream *st);

/* --- raw upgrade ----------------------------------------------------------------- */
struct raw;
struct raw_ops {
    size_t (*on_data)(void *arg, const void *bytes, size_t len); /* bytes consumed; fewer pauses */
    void (*on_eof)(void *arg);                                   /* peer's half-close */
    void (*on_drain)(void *arg);
    void (*on_disconnect)(void *arg);
};
/* 101 with Upgrade: protocol (NULL: a plain 200 response, then bytes). */
struct raw *raw_accept(struct http_request *rq, const char *protocol, const struct raw_ops *ops,
                       void *arg);
/* The same; a header pads the head to `head_bytes`, unless it is longer. */
struct raw *raw_accept_padded(struct http_request *rq, const char *protocol, size_t head_bytes,
                              const struct raw_ops *ops, void *arg);
bool raw_ready(const struct raw *r);
void raw_write(struct raw *r, const struct iovec *iov, int count);
uint64_t raw_count_sent(const struct raw *r); /* as http_stream_count_sent() */
uint64_t raw_count_taken(struct raw *r);
void raw_resume(struct raw *r);
/* Memory that its owner holds for this peer, as peer_memory.h counts it. May cut the connection. */
void raw_set_held(struct raw *r, size_t bytes);
void raw_shutdown(struct raw *r); /* half-close after what is buffered */
/* Closes after what is buffered; r is dead after this. What the peer still sends is read and
 * dropped for a while. */
void raw_close(struct raw *r);

#endif
