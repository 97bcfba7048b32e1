/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdy_conn.h - SPDY on a connection: after its own upgrade, or inside a WebSocket
 *
 * kubectl 1.31 and later forwards ports by SPDY frames in binary messages. Message boundaries have
 * no meaning then. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_SPDY_CONN_H
#define HF_DIALECTS_KUBERNETES_SPDY_CONN_H

#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/spdy.h"

struct spdy_conn;

struct spdy_conn_ops {
    /* A new stream, which the owner accepts or resets. */
    void (*open)(void *arg, uint32_t id, const struct spdy_headers *h);
    size_t (*data)(void *arg, uint32_t id, const char *bytes, size_t len, bool fin); /* spdy.h */
    void (*reset)(void *arg, uint32_t id);
    void (*drain)(void *arg); /* there is room again */
    void (*pong)(void *arg);  /* our ping was returned; NULL: no pings are sent */
    void (*gone)(void *arg);  /* called once; the connection is dead afterwards */
};

#define SPDY_HEADER "X-Stream-Protocol-Version"
#define SPDY_TUNNEL "SPDY/3.1+" /* prefix of the same protocol inside a WebSocket */

/* Which of our protocols (NULL-terminated, best first) the client offers; NULL: none, and the
 * request was refused. */
const char *spdy_negotiate(struct http_request *rq, const char *const *ours);
/* Replies 101. No op is called before the next turn of the loop. */
struct spdy_conn *spdy_conn_raw(struct http_request *rq, const char *protocol,
                                const struct spdy_conn_ops *ops, void *arg);
struct spdy_conn *spdy_conn_tunnel(struct http_request *rq, const char *subprotocol,
                                   const struct spdy_conn_ops *ops, void *arg);

void spdy_conn_accept(struct spdy_conn *c, uint32_t id);
void spdy_conn_reset(struct spdy_conn *c, uint32_t id, uint32_t status);
bool spdy_conn_ready(const struct spdy_conn *c);
/* Sends all bytes; call only while the connection is ready. */
void spdy_conn_send(struct spdy_conn *c, uint32_t id, const char *bytes, size_t len, bool fin);
/* How many bytes were sent on the wire, and how many of those the peer's kernel has. */
uint64_t spdy_conn_count_sent(const struct spdy_conn *c);
uint64_t spdy_conn_count_taken(const struct spdy_conn *c);
void spdy_conn_ping(struct spdy_conn *c);
void spdy_conn_resume(struct spdy_conn *c); /* delivers data again that was not consumed */
/* All data is sent. The connection closes when the client closes it, or KUBE_LINGER_MS later. Only
 * `gone` is called from now on. */
void spdy_conn_finish(struct spdy_conn *c);
/* The dialect is being freed: no op is called, and the connection is not touched. */
void spdy_conn_free(struct spdy_conn *c);

#endif
