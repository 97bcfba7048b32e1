/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - what the server's files share; of the others, only the gateway includes it
 *
 * The server owns listeners, connections, and the memory that connections use one at a time: the
 * buffer of every recv(), the response head being built, the compressor. Layer: transport.
 */
#ifndef HF_TRANSPORT_HTTP_SERVER_H
#define HF_TRANSPORT_HTTP_SERVER_H

#include "base/list.h"
#include "transport/admission.h"
#include "transport/deadline.h"
#include "transport/http.h"
#include "transport/peer_memory.h"
#include "transport/tls.h"

#define SERVER_SCRATCH_BYTES (64 * 1024)
#define SERVER_TABLES_MAX 32
#define SERVER_ACCEPT_BURST 32 /* accepted in one turn */
/* Beyond max_connections: refused with 429; then the backlog waits. */
#define SERVER_REFUSE_MAX 64
/* After a drain, for connections that still have bytes to send. */
#define SERVER_LAST_WORDS_MS 2000
#define SERVER_ACCEPT_PAUSE_MS 100 /* out of descriptors: retry after this */

struct deflater;

struct listener {
    struct list link;
    struct http_server *server;
    struct watch *watch;
    const struct route_table *table; /* NULL: all that are mounted */
    struct tls_context *tls;
    const struct conn_proto *proto; /* initial protocol of its connections */
    void *owner;                    /* listener_owner() of the proto */
    enum listen_kind kind;
    bool paused; /* new connections wait in the backlog */
    int fd;
};

struct http_server {
    struct loop *loop;
    struct http_options o;
    struct list listeners, conns;
    struct list background; /* connections that a drain does not wait for */
    size_t in_line;         /* requests whose handlers wait for a turn with time */
    struct list requests;   /* detached from their connection, but possibly still in use */
    struct admission admission;
    struct held_totals held;
    const struct route_table *tables[SERVER_TABLES_MAX];
    size_t table_count;
    struct http_stats stats;

    char *scratch;    /* SERVER_SCRATCH_BYTES + 1: room for a NUL after every read */
    struct buf plain; /* TLS: decrypted bytes */
    struct buf head;  /* of the response being built */
    struct deflater *deflater;

    struct deadlines deadlines;
    struct timer *timer;        /* for the deadlines */
    struct timer *accept_timer; /* NULL until first needed */
    struct list later;          /* tasks of the next turn */
    struct timer *later_timer;  /* NULL until first needed */
    size_t sharers;             /* tasks of this turn that were deferred in the last one */
    bool accept_failing, full_logged;

    bool draining, drain_over; /* drain_over: its time has passed, and the last bytes are sent */
    struct timer *drain_timer;
    struct task drain_task;
    task_fn *drain_done;
    void *drain_arg;

    int64_t date_s; /* the second that date represents */
    char date[32];
};

/* accept.c */
/* Like http_server_listen(), for connections that begin with a protocol of the caller's; the caller
 * is c->listener->owner. */
struct conn_proto;
void http_server_listen_proto(struct http_server *s, int fd, enum listen_kind kind,
                              const struct conn_proto *proto, void *owner, struct tls_context *tls);
void listener_stop(struct listener *l); /* closes the socket */
void listener_free(struct listener *l);
/* Resumes accepting if there is room and nothing else prevents it. */
void server_update_accept(struct http_server *s);

/* next_turn.c: keeps a connection from occupying the loop, whatever its peer sends or reads */
/* Runs t in the next turn, after the other connections' work in it. */
void server_defer_later(struct http_server *s, struct task *t);
/* A share of `whole`, which all connections together may do in a turn: equal shares for those that
 * were deferred, but not less than `least`. */
size_t server_share(const struct http_server *s, size_t whole, size_t least);

/* http_server.c */
/* Connections that have last bytes to send send them now; the others are ended. */
void server_cut(struct http_server *s);
/* DEADLINE_NONE clears. Must be cleared before the entry's owner is freed. */
void server_set_deadline(struct http_server *s, struct deadline *e, enum deadline_kind kind);
void server_conn_closed(struct http_server *s); /* after a connection was removed from the list */
const char *server_date(struct http_server *s);
/* NULL: no table is mounted. */
const struct route_table *server_default_table(const struct http_server *s,
                                               const struct listener *l);

#endif
