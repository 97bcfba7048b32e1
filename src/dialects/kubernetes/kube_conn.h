/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_conn.h - a connection that carries several streams of bytes, whatever its framing
 *
 * exec, attach and portforward use numbered streams in three framings: the channels of a WebSocket
 * (kube_channel.h), SPDY after its own upgrade, and SPDY inside the binary messages of a WebSocket,
 * where message boundaries have no meaning (port forwarding of kubectl 1.31 and later). Owners see
 * streams and ids: an id is a channel, or the id of an SPDY stream.
 *
 * A struct kube_conn is the first member of its owner's struct from hf_xalloc(). It ends once, with
 * the connection or with the dialect; then `release` runs, and the memory is freed. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_CONN_H
#define HF_DIALECTS_KUBERNETES_KUBE_CONN_H

#include "dialects/common/call.h"
#include "dialects/kubernetes/kube.h"
#include "dialects/kubernetes/kube_channel.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "dialects/kubernetes/spdy.h"

struct kube_conn;

struct kube_conn_ops {
    /* SPDY only: a new stream, which the owner accepts or resets. */
    void (*open)(struct kube_conn *c, uint32_t id, const struct spdy_headers *h);
    /* SPDY only: the client has reset a stream. NULL: ignored, because clients reset all streams at
     * their end, then disconnect. */
    void (*reset)(struct kube_conn *c, uint32_t id);
    /* Returns how many bytes were consumed; kube_conn_resume() delivers the rest again. `fin`: the
     * last bytes of the stream, or a whole message. */
    size_t (*data)(struct kube_conn *c, uint32_t id, const char *bytes, size_t len, bool fin);
    /* Channels up to this one are streams. Messages on later ones are small and delivered whole. */
    uint8_t last_stream;
    void (*room)(struct kube_conn *c);      /* there is room for output again */
    void (*gate_open)(struct kube_conn *c); /* after kube_conn_gate(): output may begin */
    void (*pong)(struct kube_conn *c);      /* our ping was returned; NULL: no pings are sent */
    void (*drain)(struct kube_conn *c);     /* the daemon drains */
    /* The client has disconnected; `release` follows. in_order: not by a broken connection. NULL:
     * not wanted. */
    void (*closed)(struct kube_conn *c, bool in_order);
    void (*release)(struct kube_conn *c); /* frees what the owner holds, not the memory itself */
};

struct kube_conn {
    struct call call; /* without a request */
    const struct kube_conn_ops *ops;
    const struct protocol *protocol;
    char *peer;
    struct raw *raw; /* exactly one of raw and ws is set */
    struct ws *ws;
    struct spdy *spdy;
    struct timer *timer;  /* opens the gate; with SPDY, the time for the client to close */
    struct channel_in in; /* a message received in part */
    struct buf held;      /* input of a base64 message that was not consumed, */
    uint8_t held_channel; /* and its channel */
    bool gated;           /* send nothing yet */
    bool heard;           /* the first pong has arrived */
    bool replied;         /* SPDY: the stream of headers has begun */
    bool finished;        /* we have sent everything */
    bool over;            /* SPDY: the client has closed */
};

/* The best protocol that both sides know; `spdy` lists those for SPDY, best first, and ends with a
 * name of NULL. NULL: the request was refused. */
const struct protocol *kube_conn_negotiate(struct http_request *rq, const struct protocol *spdy);
/* Replies 101. No op is called before the next turn of the loop. */
void kube_conn_accept(struct kube_conn *c, struct http_request *rq, const struct protocol *protocol,
                      const struct kube_conn_ops *ops);
/*
 * Go clients start reading a WebSocket before they have set up their streams, and drop what arrives
 * for a missing one. With a gate we send nothing until the client has sent data for a channel, or
 * until KUBE_GATE_MS after its pong.
 */
void kube_conn_gate(struct kube_conn *c);

void kube_conn_accept_stream(struct kube_conn *c, uint32_t id);
void kube_conn_reset_stream(struct kube_conn *c, uint32_t id, uint32_t status);
bool kube_conn_ready(const struct kube_conn *c);
/* Sends all bytes; call only while the connection is ready. Channels have no end, so an empty last
 * piece sends nothing there. */
void kube_conn_send(struct kube_conn *c, uint32_t id, const char *bytes, size_t len, bool fin);
/* How many bytes were sent on the wire, and how many of those the peer has (viewer.h). */
uint64_t kube_conn_count_sent(const struct kube_conn *c);
uint64_t kube_conn_count_received(const struct kube_conn *c);
void kube_conn_ping(struct kube_conn *c);
void kube_conn_resume(struct kube_conn *c); /* delivers data again that was not consumed */
/* All data is sent. A WebSocket closes with 1000, or 1001 while the daemon drains. SPDY closes when
 * the client closes it, or KUBE_LINGER_MS later. */
void kube_conn_finish(struct kube_conn *c, bool draining);

#endif
