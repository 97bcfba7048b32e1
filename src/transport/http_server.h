/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.h - what the files of the server share; beside them only the gateway includes it
 *
 * The server owns listeners, connections, and the memory that connections
 * use one at a time: the buffer every recv() goes into, the head of
 * the answer being built, the compressor. Layer: transport.
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
#define SERVER_ACCEPT_BURST 32     /* accepted in one turn */
#define SERVER_REFUSE_MAX 64       /* beyond max_connections: told 429; then the backlog waits */
#define SERVER_LAST_WORDS_MS 2000  /* after a drain, for those that have some */
#define SERVER_ACCEPT_PAUSE_MS 100 /* out of descriptors: look again */

struct deflater;

struct listener {
    struct list link;
    struct http_server *server;
    struct watch *watch;
    const struct route_table *table; /* NULL: all that are mounted */
    struct tls_context *tls;
    const struct conn_proto *proto; /* what connections begin with */
    void *owner;                    /* listener_owner() of the proto */
    enum listen_kind kind;
    bool paused; /* what comes waits in the backlog */
    int fd;
};

struct http_server {
    struct loop *loop;
    struct http_options o;
    struct list listeners, conns;
    struct list background; /* connections that a drain does not wait for */
    size_t in_line;         /* requests whose handlers wait for a turn with time */
    struct list requests;   /* those that no connection has any more, but somebody may know */
    struct admission admission;
    struct held_totals held;
    const struct route_table *tables[SERVER_TABLES_MAX];
    size_t table_count;
    struct http_stats stats;

    char *scratch;    /* SERVER_SCRATCH_BYTES + 1: a NUL fits behind every read */
    struct buf plain; /* TLS: what was decrypted */
    struct buf head;  /* of the answer being built */
    struct deflater *deflater;

    struct deadlines deadlines;
    struct timer *timer;        /* for the deadlines */
    struct timer *accept_timer; /* NULL until first needed */
    struct list later;          /* tasks of the next turn */
    struct timer *later_timer;  /* NULL until first needed */
    size_t sharers;             /* tasks of this turn that were put off in the last one */
    bool accept_failing, full_logged;

    bool draining, drain_over; /* over: the time for it is, and last words are said */
    struct timer *drain_timer;
    struct task drain_task;
    task_fn *drain_done;
    void *drain_arg;

    int64_t date_s; /* second that date stands for */
    char date[32];
};

/* accept.c */
/* As http_server_listen(), for connections that begin with a protocol of the caller's, who finds
 * itself in c->listener->owner. */
struct conn_proto;
void http_server_listen_proto(struct http_server *s, int fd, enum listen_kind kind,
                              const struct conn_proto *proto, void *owner, struct tls_context *tls);
void listener_stop(struct listener *l); /* closes the socket */
void listener_free(struct listener *l);
/* Accepts again if there is room and nothing else speaks against it. */
void server_update_accept(struct http_server *s);

/* next_turn.c: no connection keeps the loop for long, whatever its peer sends or takes */
/* Runs t in the next turn, after what other connections have to do in it. */
void server_defer_later(struct http_server *s, struct task *t);
/* A part of `whole`, what all connections together may do in a turn: equal ones for those that
 * were put off, but not under `least`. */
size_t server_share(const struct http_server *s, size_t whole, size_t least);

/* http_server.c */
/* Whoever has last words says them now; the others are ended. */
void server_cut(struct http_server *s);
/* DEADLINE_NONE clears. Once the entry's owner is gone it must be cleared. */
void server_set_deadline(struct http_server *s, struct deadline *e, enum deadline_kind kind);
void server_conn_gone(struct http_server *s); /* after a connection was taken from the list */
const char *server_date(struct http_server *s);
/* NULL: no table is mounted. */
const struct route_table *server_default_table(const struct http_server *s,
                                               const struct listener *l);

#endif
