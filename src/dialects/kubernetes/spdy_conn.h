/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdy_conn.h - SPDY on a connection: after an upgrade of its own, or inside a WebSocket
 *
 * kubectl of 1.31 and later forwards ports by SPDY frames in binary messages; where one
 * message ends and the next begins means nothing then. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_SPDY_CONN_H
#define HF_DIALECTS_KUBERNETES_SPDY_CONN_H

#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/spdy.h"

struct spdy_conn;

struct spdy_conn_ops {
    /* A new stream, which is to be accepted or reset. */
    void (*open)(void *arg, uint32_t id, const struct spdy_headers *h);
    size_t (*data)(void *arg, uint32_t id, const char *bytes, size_t len, bool fin); /* spdy.h */
    void (*reset)(void *arg, uint32_t id);
    void (*drain)(void *arg); /* there is room again */
    void (*pong)(void *arg);  /* a ping of ours was answered; NULL: none is sent */
    void (*gone)(void *arg);  /* once; the connection is dead after it */
};

#define SPDY_HEADER "X-Stream-Protocol-Version"
#define SPDY_TUNNEL "SPDY/3.1+" /* in front of the same protocol, as that of a WebSocket */

/* Which of our protocols (NULL-terminated, the best first) the client offers; NULL: it was told
 * that there is none. */
const char *spdy_negotiate(struct http_request *rq, const char *const *ours);
/* Answers 101. No op is called before the next turn. */
struct spdy_conn *spdy_conn_raw(struct http_request *rq, const char *protocol,
                                const struct spdy_conn_ops *ops, void *arg);
struct spdy_conn *spdy_conn_tunnel(struct http_request *rq, const char *subprotocol,
                                   const struct spdy_conn_ops *ops, void *arg);

void spdy_conn_accept(struct spdy_conn *c, uint32_t id);
void spdy_conn_reset(struct spdy_conn *c, uint32_t id, uint32_t status);
bool spdy_conn_ready(const struct spdy_conn *c);
/* All of it is sent; send only while it is ready. */
void spdy_conn_send(struct spdy_conn *c, uint32_t id, const char *bytes, size_t len, bool fin);
/* How much was sent, in a count of bytes on the wire, and how much of it the peer's kernel has. */
uint64_t spdy_conn_count_sent(const struct spdy_conn *c);
uint64_t spdy_conn_count_taken(const struct spdy_conn *c);
void spdy_conn_ping(struct spdy_conn *c);
void spdy_conn_resume(struct spdy_conn *c); /* data that was not taken comes again */
/* All is said: it ends when the client has ended it, or KUBE_LINGER_MS later. Only `gone` comes. */
void spdy_conn_finish(struct spdy_conn *c);
/* The dialect is freed: no op is called, and the connection is not touched. */
void spdy_conn_free(struct spdy_conn *c);

#endif
