/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.h - one socket: receiving, sending, time-outs, the end
 *
 * A connection passes from one protocol to the next: it begins as HTTP and may become a stream, a
 * WebSocket, raw bytes or a lingering close. A protocol is a table of functions with an owner
 * behind it. The connection keeps the bytes that the protocol does not consume and delivers them
 * again, in front of what follows.
 *
 * Sending accepts everything: one sendmsg() with the caller's memory, and only what the socket had
 * no room for is copied (`out`). Unsent bytes with `blocked` false are corked: they wait for more
 * in this turn, to be sent in one call.
 *
 * Ending has two steps. conn_end() may be called from anywhere, also deep inside a send; it only
 * stops events. The connection's task then calls the protocol's on_end, which notifies the owner,
 * and frees the connection at the end of the turn, when no function that uses the connection is on
 * the stack. So after any callback that may reach a user's code, check `ended` before continuing.
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
    /* Returns how many bytes were consumed. Called with len 0 after conn_resume(). bytes[len] may
     * be overwritten, but must be restored. */
    size_t (*on_bytes)(struct conn *c, char *bytes, size_t len);
    void (*on_eof)(struct conn *c);   /* the peer sends no more */
    void (*on_drain)(struct conn *c); /* was blocked, is no longer */
    void (*on_deadline)(struct conn *c, enum deadline_kind kind);
    void (*on_end)(struct conn *c); /* once: notify the owner, free it */
    /* The rest may be NULL. These two move the bytes of a plain socket themselves: */
    void (*on_readable)(struct conn *c); /* instead of on_bytes */
    void (*on_writable)(struct conn *c); /* instead of sending `out` and on_drain */
    /* It is paused, and the peer will send nothing more. Called again after each pause. */
    void (*on_last)(struct conn *c);
    void (*on_leave)(struct conn *c); /* the server drains: finish soon or now */
    /* The drain time is over: send the last bytes, instead of just ending. */
    void (*on_cut)(struct conn *c);
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
    int errnum;    /* why it ended, if known; 0 */
    uid_t uid;     /* of a unix peer; (uid_t)-1 */
    bool blocked;  /* the socket had no room */
    bool paused;   /* the owner wants no bytes for now */
    bool resume;   /* reading resumes at the end of this turn */
    bool progress; /* the peer accepted buffered bytes; the reader of this flag clears it */
    bool eof;
    bool eof_waits; /* TLS: has arrived, but the owner has not consumed all bytes before it */
    bool last;      /* on_last was called: no bytes follow the unread ones; set by the protocol */
    bool shut;      /* our own direction is closed */
    bool ended;
    bool delivering;  /* on_bytes is on the stack */
    bool has_request; /* a request, or part of one, has arrived; set by the protocol */
    bool fresh;       /* accepted in this turn: its first bytes may have arrived with it */
    bool tls_open;    /* the handshake is done: something was decrypted */
    bool crowded;     /* accepted beyond the limit of connections: admission_allows() */
    bool dialled;     /* we connected to the peer */
    bool connecting;  /* not established yet: what is sent waits */
    bool mute;        /* dialled: the peer accepts no more bytes, but is still read */
    bool parting;     /* its end follows the current send: one packet carries both */
};

#define CONN_IOV_MAX 32
/* Bytes kept while the owner consumes none: enough for some pipelined requests. Beyond it, reading
 * stops. */
#define CONN_KEEP_BYTES (16 * 1024)

/* Takes ownership of fd. */
void conn_new(struct http_server *s, const struct listener *l, int fd, const struct sockaddr *peer,
              const struct conn_proto *proto);
/*
 * Connects to a peer. NULL: *errnum is the reason. on_drain reports that the connection is open
 * (with TLS: that the handshake is done, before which nothing may be sent); until then, what is
 * sent waits.
 */
struct conn *conn_dial(struct http_server *s, const struct sockaddr *to, socklen_t len,
                       const struct conn_proto *proto, void *owner, int *errnum);
/* Sets no-delay, and keep-alives that detect a vanished peer. */
void conn_tune_tcp(int fd);
/* A connection for our own housekeeping: a draining server does not wait for it. */
void conn_set_background(struct conn *c, bool background);
/* Right after conn_dial(); takes ownership of t. */
void conn_dial_tls(struct conn *c, struct tls *t);
/* Why a dialled connection ended, as text. */
const char *conn_why(const struct conn *c);
void conn_free(struct conn *c); /* at once, after on_end; when the server is freed */

void conn_become(struct conn *c, const struct conn_proto *proto, void *owner);
/* At most CONN_IOV_MAX - 1 parts. May end the connection. */
void conn_send(struct conn *c, const struct iovec *iov, int count);
/* Sends a head, which may be empty, and bytes that are never freed: as many as the socket accepts,
 * plus LIMIT_LENT_SLICE_BYTES that are buffered. Returns how many of the bytes that is. */
size_t conn_send_lent(struct conn *c, const struct iovec *head, const void *lent, size_t len);
/* Sent together with what follows in this turn, or at its end. */
void conn_cork(struct conn *c, const void *bytes, size_t len);
/* Counts of bytes on the wire: everything sent or to be sent, and what the peer's kernel has
 * acknowledged of it (a unix peer: what it has read). */
uint64_t conn_count_sent(const struct conn *c);
uint64_t conn_count_taken(struct conn *c);
/* Sends corked and buffered bytes, as far as the socket has room. */
void conn_flush(struct conn *c);
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);       /* delivers kept bytes by the end of this turn */
void conn_resume_later(struct conn *c); /* the same in the next turn, after other connections */
void conn_set_deadline(struct conn *c, enum deadline_kind kind); /* DEADLINE_NONE clears */
/* A head is timed from the accept or from its first byte; a running clock is not restarted. */
void conn_time_head(struct conn *c);
void conn_set_grant(struct conn *c, const char *grant); /* NULL: none */
/* Memory that its protocol uses in addition. */
void conn_add_own_bytes(struct conn *c, size_t bytes);
/* A credential was accepted on it; ROLE_NONE revokes that. */
void conn_set_trust(struct conn *c, enum role role);
void conn_end(struct conn *c);
/*
 * The owner is done: buffered bytes are sent, then the connection ends. `drain`: the peer may still
 * be sending; its bytes are read and dropped until its end or the LINGER deadline, because a close
 * with unread bytes would destroy our last ones.
 */
void conn_finish(struct conn *c, bool drain);
/* The peer sends no more: can this many bytes still be unread? With TLS that cannot be known. */
bool conn_may_bring(const struct conn *c, uint64_t bytes);
void conn_shutdown_write(struct conn *c); /* FIN, once nothing is buffered */
/* For a protocol with on_writable: whether to wait for room. */
void conn_set_blocked(struct conn *c, bool blocked);
void conn_set_eof(struct conn *c); /* for a protocol with on_readable: nothing more to read */

static inline bool conn_is_tls(const struct conn *c)
{
    return c->tls != NULL;
}

#endif
