/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_own.h - the struct behind conn.h, for the files of this folder
 *
 * A connection has two state machines, which only move forward: `state`, from connecting to ended,
 * and `input`, which says whether the peer may still send. The bools are independent facts.
 * conn.c creates and ends connections, conn_send.c sends, conn_receive.c receives.
 *
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_CONN_OWN_H
#define HF_TRANSPORT_CONN_OWN_H

#include "transport/conn.h"

/* In this order; a connection may skip states, but never returns to one. */
enum conn_state {
    CONN_CONNECTING, /* dialled, not established yet: what is sent waits */
    CONN_HANDSHAKE,  /* dialled: established, but TLS is not ready */
    CONN_OPEN,
    CONN_PARTING, /* its end follows the current send: one packet carries both */
    CONN_MUTE,    /* dialled: the peer accepts no more bytes, but is still read */
    CONN_SHUT,    /* our own direction is closed */
    CONN_FAILED,  /* ended before it was established */
    CONN_ENDED,
};

enum conn_input {
    INPUT_OPEN,
    INPUT_EOF_WAITS, /* TLS: the end arrived, but the owner has not consumed all bytes before it */
    INPUT_EOF,
};

struct conn {
    struct list link;
    struct http_server *server;
    const struct listener *listener;
    const struct conn_proto *proto;
    void *owner; /* the protocol's */
    struct watch *watch;
    struct tls *tls; /* NULL: plain */
    char *peer;      /* "127.0.0.1:4711" */
    char *grant;     /* of the link that its last request used; NULL */
    uint32_t token;  /* number of the token that authorised its last request; 0: none */
    struct buf in;   /* received, not consumed */
    struct buf out;  /* to be sent */
    size_t behind;   /* appended to `out` since it is blocked */
    uint64_t sent;   /* accepted by the kernel, in total */
    uint64_t taken;  /* of that, what the peer's kernel had acknowledged at the last check */
    /* Size of the next recv(): smaller after bytes that took long to handle. */
    size_t read_size;
    struct deadline deadline;
    struct task task;
    struct admitted admitted;
    struct held_account account; /* what all of its parts hold */
    struct peer_memory held;     /* of that: in, out and own_bytes */
    size_t own_bytes;            /* of TLS and HTTP/2, while the peer is untrusted */
    enum role trust;             /* the best role proved on it; ROLE_NONE: untrusted */
    int fd;
    int errnum; /* why it ended, if known; 0 */
    uid_t uid;  /* of a unix peer; (uid_t)-1 */
    enum conn_state state;
    enum conn_input input;
    bool dialled;     /* we connected to the peer */
    bool blocked;     /* the socket had no room */
    bool paused;      /* the owner wants no bytes for now */
    bool resume;      /* reading resumes at the end of this turn */
    bool progress;    /* the peer accepted buffered bytes; the reader of this flag clears it */
    bool delivering;  /* on_bytes is on the stack */
    bool last;        /* see conn_set_last() */
    bool has_request; /* see conn_set_has_request() */
    bool fresh;       /* accepted in this turn: its first bytes may have arrived with it */
    bool crowded;     /* accepted beyond the limit of connections: admission_allows() */
};

/* Bytes kept while the owner consumes none: enough for some pipelined requests. Beyond it, reading
 * stops. */
#define CONN_KEEP_BYTES (16 * 1024)

static inline void conn_advance(struct conn *c, enum conn_state state)
{
    if (state > c->state)
        c->state = state;
}

/* Called wherever the buffered bytes have changed. */
void conn_count_held(struct conn *c);
/* The one place that decides which events the loop watches. */
void conn_update_interest(struct conn *c);
bool conn_is_reading(const struct conn *c);
void conn_on_event(struct watch *w, int events, void *arg);
void conn_on_task(void *arg);
void conn_destroy(struct conn *c); /* the last step: no function that uses c is on the stack */

#endif
