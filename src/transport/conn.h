/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.h - one socket: bytes in, bytes out, time-outs, the end
 *
 * A connection is handed from one protocol to the next: it begins as HTTP and
 * may become a stream, a WebSocket, raw bytes or a lingering close. The
 * protocol is a table of functions with an owner behind it. What it
 * does not consume is kept here and comes again, in front of what follows.
 *
 * Sending takes everything: one sendmsg() with the caller's memory, and only what
 * the socket had no room for is copied (`out`). Unsent bytes with `blocked` false are
 * corked: they wait for more in this turn, to go in one call.
 *
 * Ending has two steps. conn_end() may be called from anywhere, also deep inside a send; it
 * only stops events. The protocol's on_end, which tells the owner, and the
 * free come from the connection's task at the end of the turn, when no
 * function that knows the connection is on the stack. So after any callback that may
 * reach a user's code, look at `ended` before going on.
 *
 * Owned by the server. Layer: transport.
 */
#ifndef HF_TRANSPORT_CONN_H
#define HF_TRANSPORT_CONN_H

#include <sys/socket.h>

#include "transport/admission.h"
#include "transport/http_server.h"
#include "transport/peer_memory.h"

struct conn;

struct conn_proto {
    /* Returns how many were consumed. Called with len 0 after conn_resume().
     * bytes[len] may be overwritten, but must be put back. */
    size_t (*on_bytes)(struct conn *c, char *bytes, size_t len);
    void (*on_eof)(struct conn *c);   /* the peer sends no more */
    void (*on_drain)(struct conn *c); /* was blocked, is no longer */
    void (*on_deadline)(struct conn *c, enum deadline_kind kind);
    void (*on_end)(struct conn *c); /* once: tell the owner, free it */
    /* The rest may be NULL. These two move the bytes of a plain socket themselves: */
    void (*on_readable)(struct conn *c); /* instead of on_bytes */
    void (*on_writable)(struct conn *c); /* instead of sending `out` and on_drain */
    /* It is paused, and nothing will follow what the peer has sent. Again after each pause. */
    void (*on_last)(struct conn *c);
    void (*on_leave)(struct conn *c); /* the server drains: come to an end, soon or now */
    void (*on_cut)(struct conn *c); /* the time for that is over: last words, instead of the end */
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
    char *grant;     /* of the link its last request came by; NULL */
    uint32_t token;  /* number of the token that let its last request in; 0: none */
    struct buf in;   /* received, not consumed */
    struct buf out;  /* to be sent */
    size_t behind;   /* put into `out` since it is blocked */
    uint64_t sent;   /* taken by the kernel, ever */
    uint64_t taken;  /* of that, what the peer's kernel had when it was last looked at */
    /* Of the next recv(): less after bytes that took long to handle. */
    size_t read_size;
    struct deadline deadline;
    struct task task;
    struct admitted admitted;
    struct held_account account; /* what all of its parts hold */
    struct peer_memory held;     /* of that: in, out and own_bytes */
    size_t own_bytes;            /* of TLS and HTTP/2, while the peer is untrusted */
    enum role trust;             /* the best role that was proved on it; ROLE_NONE: untrusted */
    int fd;
    int errnum;    /* why it ended, where that is known; 0 */
    uid_t uid;     /* of a unix peer; (uid_t)-1 */
    bool blocked;  /* the socket had no room */
    bool paused;   /* the owner wants no bytes for now */
    bool resume;   /* it does again: at the end of this turn */
    bool progress; /* the peer took bytes that were held; whoever asks clears it */
    bool eof;
    bool eof_waits; /* TLS: it has come, but the owner has not taken all that came before it */
    bool last;      /* on_last was called: what is unread is the last of it; set by whoever cares */
    bool shut;      /* our own direction is at its end */
    bool ended;
    bool delivering; /* on_bytes is on the stack */
    bool asked;      /* a request has come, or a part of one: set by whoever takes it */
    bool fresh;      /* accepted in this turn: what it wants may have come with it */
    bool tls_open;   /* handshake is done: something was decrypted */
    bool crowded;    /* came when there was no room for everybody: admission_allows() */
    bool dialled;    /* we connected to the peer */
    bool connecting; /* and it has not answered yet: what is sent waits */
    bool mute;       /* dialled: the peer takes no more, but what it has said is still read */
    bool parting;    /* its end follows what is sent now: one packet takes both */
};

#define CONN_IOV_MAX 32
/* Held while nobody takes it: enough for some pipelined requests. Beyond it, reading stops. */
#define CONN_KEEP_BYTES (16 * 1024)

/* Takes the fd. */
void conn_new(struct http_server *s, const struct listener *l, int fd, const struct sockaddr *peer,
              const struct conn_proto *proto);
/*
 * To a peer of our choice. NULL: *errnum says why. on_drain tells that it is open (with TLS:
 * that the handshake is done, and nothing may be sent before); until then what is sent waits.
 */
struct conn *conn_dial(struct http_server *s, const struct sockaddr *to, socklen_t len,
                       const struct conn_proto *proto, void *owner, int *errnum);
/* No delay, and keep-alives that notice a peer that vanished without a word. */
void conn_tune_tcp(int fd);
/* A connection of our own housekeeping: a server that drains does not wait for it. */
void conn_set_background(struct conn *c, bool background);
/* Right after conn_dial(); takes t. */
void conn_dial_tls(struct conn *c, struct tls *t);
/* One that we dialled has ended: the reason, in words. */
const char *conn_why(const struct conn *c);
void conn_free(struct conn *c); /* at once, after on_end; for the server's own end */

void conn_become(struct conn *c, const struct conn_proto *proto, void *owner);
/* At most CONN_IOV_MAX - 1 parts. May end the connection. */
void conn_send(struct conn *c, const struct iovec *iov, int count);
/* A head, which may be empty, and bytes that are never freed: as much of them as the socket takes
 * and LIMIT_LENT_SLICE_BYTES more, which are held. Returns how many of them that is. */
size_t conn_send_lent(struct conn *c, const struct iovec *head, const void *lent, size_t len);
/* Sent with what follows in this turn, or at its end. */
void conn_cork(struct conn *c, const void *bytes, size_t len);
/* A count of bytes on the wire: all that was sent and is to be sent, and what the peer's kernel has
 * acknowledged of it (a unix peer: what it has read). */
uint64_t conn_count_sent(const struct conn *c);
uint64_t conn_count_taken(struct conn *c);
void conn_flush(struct conn *c); /* what is corked or held, as far as the socket has room */
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);       /* on_bytes with what is held, by the end of this turn */
void conn_resume_later(struct conn *c); /* the same in the next turn, after other connections */
void conn_set_deadline(struct conn *c, enum deadline_kind kind); /* DEADLINE_NONE clears */
/* A head is timed from the accept or from its first byte; a clock that runs is left alone. */
void conn_time_head(struct conn *c);
void conn_set_grant(struct conn *c, const char *grant); /* NULL: none */
/* Its protocol takes so much memory of its own. */
void conn_add_own_bytes(struct conn *c, size_t bytes);
/* A credential was accepted on it; ROLE_NONE takes that back. */
void conn_set_trust(struct conn *c, enum role role);
void conn_end(struct conn *c);
/*
 * The owner is done: what is held is sent, then the connection ends. `drain`: the
 * peer may still be sending; that is read and dropped until its end or the LINGER
 * deadline, as a close with unread bytes would take our last ones from it.
 */
void conn_finish(struct conn *c, bool drain);
/* Of a peer that sends no more: may so many bytes still be unread? With TLS nobody can tell. */
bool conn_may_bring(const struct conn *c, uint64_t bytes);
void conn_shutdown_write(struct conn *c); /* FIN, when nothing is held */
/* For a proto with on_writable: whether to wait for room. */
void conn_set_blocked(struct conn *c, bool blocked);
void conn_set_eof(struct conn *c); /* for one with on_readable: nothing more to read */

static inline bool conn_is_tls(const struct conn *c)
{
    return c->tls != NULL;
}

#endif
