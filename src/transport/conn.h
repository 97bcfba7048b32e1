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
 * no room for is copied (`out`). Unsent bytes of a connection that is not blocked are corked: they
 * wait for more in this turn, to be sent in one call.
 *
 * Ending has two steps. conn_end() may be called from anywhere, also deep inside a send; it only
 * stops events. The connection's task then calls the protocol's on_end, which notifies the owner,
 * and frees the connection at the end of the turn, when no function that uses the connection is on
 * the stack. So after any callback that may reach a user's code, check conn_is_ended() first.
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

#define CONN_IOV_MAX 32

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

/* --- what it is and where it stands --------------------------------------------- */
bool conn_is_tls(const struct conn *c);
bool conn_is_dialled(const struct conn *c);     /* we connected to the peer */
bool conn_is_established(const struct conn *c); /* also true after its end */
bool conn_is_ended(const struct conn *c);
bool conn_is_blocked(const struct conn *c); /* the socket had no room */
bool conn_is_paused(const struct conn *c);
bool conn_is_mute(const struct conn *c);       /* the peer accepts no more bytes */
bool conn_is_delivering(const struct conn *c); /* on_bytes is on the stack */
bool conn_is_eof(const struct conn *c);        /* the peer's end was delivered */
bool conn_is_last(const struct conn *c);       /* as the protocol set it */
bool conn_has_request(const struct conn *c);
bool conn_has_proto(const struct conn *c, const struct conn_proto *proto);
struct http_server *conn_server(const struct conn *c);
const struct listener *conn_listener(const struct conn *c);
const char *conn_peer(const struct conn *c); /* "127.0.0.1:4711" */
int conn_fd(const struct conn *c);           /* -1: ended */
int conn_errnum(const struct conn *c);       /* why it ended, if known; 0 */
enum deadline_kind conn_deadline(const struct conn *c);
size_t conn_kept(const struct conn *c);   /* bytes received, but not consumed yet */
size_t conn_unsent(const struct conn *c); /* bytes accepted, but not sent yet */
void *conn_owner(const struct conn *c);
void conn_set_owner(struct conn *c, void *owner); /* of the same protocol */
/* For a protocol with on_writable: a dialled peer accepts no more bytes, but is still read. */
void conn_set_mute(struct conn *c);
/* on_last was called: no bytes follow the unread ones. */
void conn_set_last(struct conn *c);
/* A request, or part of one, has arrived. */
void conn_set_has_request(struct conn *c);

/* --- change it ------------------------------------------------------------------- */
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

#endif
