/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_exchange.h - one request and its response, between a client and a sandbox
 *
 * An exchange belongs to the client's connection (owner of client_proto) from the first byte of the
 * request to the last of the response. Its states:
 *
 *   HEAD -> CHECK (may it pass, where is it?) -> RELAY (up and down at the same time) -> REPLIED
 *
 * and from anywhere to REPLIED when the gateway itself replies. Nothing is queued here while bytes
 * are relayed: when one side has no room, the other is not read. With a 101 both connections become
 * a tunnel and the exchange ends.
 *
 * Private to the gateway's files. Layer: gateway.
 */
#ifndef HF_GATEWAY_GATEWAY_EXCHANGE_H
#define HF_GATEWAY_GATEWAY_EXCHANGE_H

#include "gateway/access.h"
#include "gateway/access_log.h"
#include "gateway/gateway.h"
#include "gateway/pool.h"
#include "gateway/quota.h"
#include "gateway/resolver.h"
#include "transport/conn.h"

#define EXCHANGE_SPARES 16 /* kept for later requests, with their head buffers */

struct gateway {
    struct loop *loop;
    struct http_server *server;
    struct gateway_options o;
    struct resolver *resolver;
    struct access *access;
    struct pool *pool;
    struct gateway_shared *shared;
    struct list pipes; /* idle ones of tunnels */
    size_t pipe_count;
    struct exchange *spare[EXCHANGE_SPARES];
    size_t spares;
    struct buf head; /* being built */
    struct auth *auth;
    struct route_table admin;
    struct address last_to; /* and its text: see gateway_exchange.c */
    char last_text[64];
    uint64_t next_request;
    uint32_t request_seed;
};

enum exchange_state { EXCHANGE_HEAD, EXCHANGE_CHECK, EXCHANGE_RELAY, EXCHANGE_REPLIED };

struct exchange {
    struct gateway *g;
    struct conn *client;
    struct conn *up; /* NULL: not connected yet, or released */
    struct route_target place;
    struct endpoint *endpoint;
    struct lookup lookup;
    struct access_state access;
    struct quota_hold hold;
    struct access_record record;
    struct address to;
    struct pipe_pair *pipe; /* bulk_body.c's; NULL */
    size_t in_pipe;
    struct peer_memory held; /* of the request's head */
    char upstream[64];       /* "10.0.0.5:80" */
    const char *cors_origin; /* in rq; NULL */
    char request_id[24];
    enum exchange_state state;
    unsigned interims; /* 1xx responses so far */
    bool reused;       /* `up` had served others before */
    bool retried;
    bool rq_done;     /* received to its end, and forwarded */
    bool rs_begun;    /* the client has received a response head */
    bool rs_bytes;    /* the sandbox has sent something */
    bool chunked;     /* to the client */
    bool until_close; /* to the client */
    bool close;       /* no further request on this connection */
    bool farewell;    /* it ends with a close frame, to which the client replies */
    bool no_sandbox;
    struct http1 rq, rs; /* last: the members before them are zeroed for each request */
};

/* gateway_client.c */
extern const struct conn_proto client_proto;

/* gateway_exchange.c */
struct exchange *exchange_new(struct gateway *g, struct conn *client);
void exchange_free(struct exchange *ex);
void exchange_free_spares(struct gateway *g);
void exchange_on_head(struct exchange *ex);
/* Call after its head may have grown. May end the client's connection. */
void exchange_count_held(struct exchange *ex);
/* The client's connection has closed. */
void exchange_abandon(struct exchange *ex);
/* The sandbox's connection has left this exchange: it has ended, or is pooled. */
void exchange_drop_up(struct exchange *ex, bool keep);
/* The response is complete; the client's side continues. */
void exchange_replied(struct exchange *ex);
void exchange_permitted(struct exchange *ex); /* access.c has granted access */

/* upstream.c */
void upstream_begin(struct exchange *ex);
void upstream_send_body(struct exchange *ex, const char *bytes, size_t len);
void upstream_end_body(struct exchange *ex);
void upstream_moved(struct exchange *ex); /* bulk_body.c has moved the whole body */

/* bulk_body.c */
/* Nothing of the response is buffered; false: not worthwhile. */
bool bulk_begin(struct exchange *ex);
bool bulk_on_room(struct exchange *ex); /* the client has room; false: not enough */
void bulk_drop_pipe(struct exchange *ex);

/* gateway_reply.c: the gateway's own responses. */
void gateway_reply_error(struct exchange *ex, const struct hf_error *err);
/* The sandbox has refused an upgrade. False: the client may see its response. */
bool gateway_reply_refusal(struct exchange *ex);
void gateway_reply_text(struct exchange *ex, int status, const char *type, const char *body);
void gateway_reply_preflight(struct exchange *ex);
bool gateway_reply_own(struct exchange *ex); /* /healthz, /readyz; false: not one of ours */

/* tunnel.c: takes over both connections and the record; the exchange is freed. */
void tunnel_begin(struct exchange *ex);
void tunnel_free_pipes(struct gateway *g);

#endif
