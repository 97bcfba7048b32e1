/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the server: requests in, answers, streams and WebSockets out
 *
 * A route's handler gets a request and must answer it exactly once, now or
 * in a later turn: http_reply*(), http_stream_start(), ws_accept() or
 * raw_accept(). If the peer goes away first, the request's on_gone callback is
 * called instead and the request is dead. Requests on one connection of HTTP/1.1
 * are handled one after the other (pipelined ones wait, unparsed), those of HTTP/2 at once. A
 * handler need not know by which of the two a request came; only WebSockets and raw
 * bytes are of HTTP/1.1 alone.
 *
 * The server knows no process and no platform: route tables bring handlers
 * and the shape of errors. Layer: transport; includes base only.
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

enum role { ROLE_NONE, ROLE_WATCH, ROLE_TYPE, ROLE_OWN };
const char *http_role_name(enum role role); /* "watch" */

/* By which link a request came; see auth.h. */
#define AUTH_GRANT_MAX 63
#define AUTH_PRINCIPAL_MAX 63
struct auth_grant {
    char id[AUTH_GRANT_MAX + 1];            /* "": none */
    char principal[AUTH_PRINCIPAL_MAX + 1]; /* of a token or cookie below `own`; "": none */
    bool counts;                            /* the secret itself was shown: that is a use */
    bool refused;                           /* it was a link's, but that has ended or never was */
    uint32_t token; /* number of the token that let it in; 0: none did; auth.h */
};

typedef void http_handler(struct http_request *rq);

enum {
    ROUTE_PUBLIC = 1,      /* no token, no Host check: health probes */
    ROUTE_STREAM_BODY = 2, /* handler runs after the head and reads by http_body_stream() */
    ROUTE_UPGRADE = 4,     /* WebSocket or raw: 426 without Upgrade */
    ROUTE_NO_BODY = 8,     /* a body is refused (400) */
    ROUTE_ANY_QUERY = 16,  /* do not check names of query parameters */
    ROUTE_PREFIX = 32,     /* pattern is a prefix; rest by http_param(rq, "*"), not decoded */
    ROUTE_SCOPED = 128,    /* whoever came by a link may ask here, if the link fits */
    ROUTE_RAW = 64,        /* with ROUTE_UPGRADE: other protocols than websocket may be asked for */
    ROUTE_PROBE = 256,     /* a health probe: answered even beyond the limit of connections */
    ROUTE_CHANGES = 512,   /* a GET that changes something: no page of another site may send it */
};

struct route {
    unsigned methods;    /* OR of enum http_method; GET implies HEAD */
    const char *pattern; /* "/v1/processes/{id}/signal"; {x} is one segment, percent-decoded */
    http_handler *handler;
    enum role role; /* least role */
    unsigned flags;
    size_t body_max;   /* 0: LIMIT_JSON_BODY_BYTES */
    const char *query; /* allowed names, space separated; NULL: none */
};

/*
 * Ways in which a platform's clients send their token, beside the daemon's own.
 * They are tried first, because some platforms use Authorization for something else.
 */
struct auth_ways {
    const char *headers;       /* whose value is a token, names separated by spaces; NULL: none */
    const char *query;         /* the same for query parameters, where a client can do no other */
    const char *upgrade_query; /* and those that count for an upgrade only */
    const char *basic_query; /* parameters that hold what follows "Basic "; implies nothing else */
    bool basic;              /* Authorization: Basic, the token as user or as password */
    const char *scheme;      /* another name for Bearer in Authorization; NULL: none */
    /* Credentials of the platform's own making, such as tickets; ROLE_NONE: none of them. Asked
     * for an upgrade only, because nothing else is in need of it. */
    enum role (*upgrade_own)(const struct http_request *rq, struct auth_grant *g);
};

/* One dialect's routes under one prefix ("" for the root). */
struct route_table {
    const char *prefix;
    const struct route *routes;
    size_t count;
    /* Answers `err` in the dialect's shape (used for 401, 404, 405, 413 … too). */
    void (*error)(struct http_request *rq, const struct hf_error *err);
    void *context;                /* http_context(rq): the dialect's own, usually the engine */
    const struct auth_ways *ways; /* NULL: only the daemon's own */
};

struct http_options {
    size_t header_bytes, header_count, uri_bytes, max_connections;
    size_t held_bytes, held_weak_bytes, held_untrusted_bytes; /* peer_memory.h */
    uint32_t head_ms, body_ms, keepalive_ms;
    uint32_t stall_ms; /* a peer that takes nothing of its answer */
    uint32_t ping_ms;  /* WebSocket ping; 0: WS_PING_MS */
    /* Of connections that we make; 0: for ever. */
    uint32_t connect_ms, answer_ms, pool_ms, quiet_ms;
    bool compress; /* permessage-deflate may be agreed */
    const struct auth *auth;
    const struct origin *origin;
};
void http_options_default(struct http_options *o);
/* Lowers max_connections to what the limit of descriptors leaves room for. */
void http_options_fit(struct http_options *o);

struct http_server *http_server_new(struct loop *loop, const struct http_options *o);
void http_server_free(struct http_server *s); /* closes everything at once */
/* Tables are tried in order of registration; the longest prefix wins. */
void http_server_mount(struct http_server *s, const struct route_table *table);

enum listen_kind { LISTEN_TCP, LISTEN_UNIX };
struct tls_context; /* tls.h */
/* Takes a listening, non-blocking socket. `table` NULL: all mounted tables; else
 * only that one, at the root (a dialect's own listener). tls may be NULL. */
void http_server_listen(struct http_server *s, int fd, enum listen_kind kind,
                        const struct route_table *table, struct tls_context *tls);
/* Stops accepting; idle connections close, streams end by their owners; `done` runs when
 * the last connection is gone or `ms` have passed (then they are cut). WebSockets get 1001. */
void http_server_drain(struct http_server *s, uint32_t ms, task_fn *done, void *arg);

/* A link has ended: whatever still goes on that came by it is cut, but WebSockets are
 * their owners' to close. */
void http_server_cut(struct http_server *s, const char *grant);
/* A token has ended: whatever still goes on that it let in is cut; WebSockets are closed with
 * WS_CODE_TOKEN_ENDED. A connection that waits for its next request stays: that is refused. */
void http_server_cut_token(struct http_server *s, uint32_t token);

struct http_stats {
    uint64_t connections, connections_total, requests_total, responses_by_class[6];
    uint64_t bytes_in, bytes_out;
    uint64_t connections_evicted_total; /* untrusted ones, closed to make room for others */
    uint64_t overloaded_total;          /* closed or refused because too many bytes were held */
    uint64_t held_untrusted, held_weak, held_own; /* bytes, by whose they are */
};
void http_server_stats(const struct http_server *s, struct http_stats *out);

/* --- the request ---------------------------------------------------------- */
enum http_method http_method(const struct http_request *rq);
const char *http_path(const struct http_request *rq);                    /* raw, without query */
const char *http_query_raw(const struct http_request *rq);               /* without '?'; "" */
const char *http_param(const struct http_request *rq, const char *name); /* decoded; NULL */
const char *http_query(const struct http_request *rq, const char *name); /* decoded; NULL */
/* One after the other, repeated names too: start with *i = 0; false: no more. */
bool http_query_each(const struct http_request *rq, size_t *i, const char **name,
                     const char **value);
/* The name in any case; repeated ones joined by ", "; NULL: not given. */
const char *http_header(const struct http_request *rq, const char *name);
const char *http_body(const struct http_request *rq, size_t *len); /* whole, non-stream routes */
enum role http_role(const struct http_request *rq);
/* The handler of a public route has checked a credential of its own, such as a signature: the
 * connection is not closed to make room for others. */
void http_set_trusted(struct http_request *rq, enum role role);
const char *http_grant(const struct http_request *rq); /* of the link it came by; NULL: none */
/*
 * Who asks: the same text for the same credential, in every worker and after an upgrade. All
 * credentials of the role `own` are one principal, HTTP_OWNER, so a new token changes nothing for
 * them; below it each token, cookie and link is a principal of its own.
 */
#define HTTP_OWNER "own"
const char *http_principal(const struct http_request *rq);
uint32_t http_token(const struct http_request *rq); /* number of its token; 0: none */
bool http_is_tls(const struct http_request *rq);
bool http_is_websocket(const struct http_request *rq); /* asks for an upgrade to WebSocket */
const char *http_peer(const struct http_request *rq);  /* "127.0.0.1:4711", "unix:uid=0" */
void *http_context(const struct http_request *rq);
struct loop *http_loop(const struct http_request *rq);
bool http_wants(const struct http_request *rq, const char *type); /* Accept prefers it by name */
bool http_accepts(const struct http_request *rq, const char *type);
/* Is it in the list of this header (Accept, Accept-Encoding) by name, and not with "q=0"? */
bool http_lists(const struct http_request *rq, const char *header, const char *name);

/*
 * The handler has more to do before it can answer than this turn has time for (loop_has_time()): it is
 * called again with the same request in a later one. What it has found so far it may keep in memory that
 * is zero at first, the same at each call, and goes with the request. When the peer leaves meanwhile it is
 * not called any more, and the request is freed.
 */
void http_call_again(struct http_request *rq);
void *http_keep(struct http_request *rq, size_t bytes);
/* The handler's own data; on_gone runs at most once, never after the answer was begun. */
void http_set_user(struct http_request *rq, void *user, void (*on_gone)(void *user));
void *http_user(const struct http_request *rq);

/*
 * ROUTE_STREAM_BODY: bytes come as they arrive. on_body returns how many it
 * took; fewer stops the reading until http_body_resume(). `last` comes once,
 * with len 0 or more, when the body is complete.
 */
typedef size_t http_body_fn(struct http_request *rq, const void *bytes, size_t len, bool last);
void http_body_stream(struct http_request *rq, http_body_fn *on_body);
void http_body_resume(struct http_request *rq);

/* --- answers ---------------------------------------------------------------- */
void http_add_header(struct http_request *rq, const char *name, const char *value);
void http_reply(struct http_request *rq, int status, const char *type, const void *body,
                size_t len);
/* The same with bytes that are never freed. They are sent from where they are: a peer that reads
 * nothing makes the daemon hold at most LIMIT_LENT_SLICE_BYTES of them. */
void http_reply_lent(struct http_request *rq, int status, const char *type, const void *body,
                     size_t len);
void http_reply_json(struct http_request *rq, int status, const struct buf *json);
void http_reply_empty(struct http_request *rq, int status);
/* In the shape of the request's route table. */
void http_reply_error(struct http_request *rq, const struct hf_error *err);

/*
 * A body of unknown length: chunked (HTTP/1.0: until close; HTTP/2: in frames). write() takes
 * everything; what the socket has no room for is copied and held, so write only while
 * http_stream_ready() says that nothing is held, and go on in on_drain. After on_gone
 * the stream is dead. http_stream_end() finishes it and gives the connection back.
 */
struct http_stream;
struct http_stream_ops {
    void (*on_drain)(void *arg);
    void (*on_gone)(void *arg);
};
struct http_stream *http_stream_start(struct http_request *rq, int status, const char *type,
                                      const struct http_stream_ops *ops, void *arg);
bool http_stream_ready(const struct http_stream *st);
/* For an owner whose writing takes long (base/work.h): may it go on in this turn? False: not, and its
 * on_drain comes in a later one. */
bool http_stream_has_time(struct http_stream *st);
/* These bytes, which are borrowed, are written when nothing else was for so long and there is room:
 * whoever is in between must not take silence for the end. NULL: no more. */
void http_stream_keep_alive(struct http_stream *st, const char *bytes, uint64_t ms);
void http_stream_write(struct http_stream *st, const struct iovec *iov, int count);
/* How much was written, in a count of bytes on the wire, and how much of it the peer's kernel has. */
uint64_t http_stream_count_sent(const struct http_stream *st);
uint64_t http_stream_count_taken(struct http_stream *st);
/* Follows the body; the value must be one line of text. A peer of HTTP/1.0 does not get it. */
void http_stream_trailer(struct http_stream *st, const char *name, const char *value);
void http_stream_end(struct http_stream *st);   /* st is dead after this */
void http_stream_abort(struct http_stream *st); /* cuts the connection, or HTTP/2's stream; dead */

/* --- raw upgrade ----------------------------------------------------------------- */
struct raw;
struct raw_ops {
    size_t (*on_data)(void *arg, const void *bytes, size_t len); /* taken; fewer pauses */
    void (*on_eof)(void *arg);                                   /* peer's half-close */
    void (*on_drain)(void *arg);
    void (*on_gone)(void *arg);
};
/* 101 with Upgrade: protocol (NULL: a plain 200 answer, then bytes). */
struct raw *raw_accept(struct http_request *rq, const char *protocol, const struct raw_ops *ops,
                       void *arg);
bool raw_ready(const struct raw *r);
void raw_write(struct raw *r, const struct iovec *iov, int count);
uint64_t raw_count_sent(const struct raw *r); /* as http_stream_count_sent() */
uint64_t raw_count_taken(struct raw *r);
void raw_resume(struct raw *r);
/* Memory that its owner has for this peer, as peer_memory.h counts it. May cut the connection. */
void raw_set_held(struct raw *r, size_t bytes);
void raw_shutdown(struct raw *r); /* half-close after what is held */
/* After what is held; dead after this. What the peer still sends is read and dropped for a while. */
void raw_close(struct raw *r);

#endif
