/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway.h - one entry point to many sandboxes: a worker of `holdfast gateway`
 *
 * A worker is one loop with one server. Clients' connections begin with gateway_client.c, which
 * parses the request, checks permission, finds the sandbox and then relays. It keeps no state that
 * another worker or gateway would need. Layer: gateway.
 */
#ifndef HF_GATEWAY_GATEWAY_H
#define HF_GATEWAY_GATEWAY_H

#include "gateway/head.h"
#include "gateway/networks.h"
#include "gateway/registration.h"
#include "transport/http.h"
#include "transport/listen.h"
#include "transport/tls.h"

#define GATEWAY_PORTS_MAX 64

struct origin;
struct gateway;
struct gateway_shared; /* gateway_shared.h: what workers have in common */

struct port_range {
    uint16_t first, last;
};

struct gateway_options {
    struct http_options http;
    const char *resolver;                /* "file:/etc/holdfast/sandboxes.json" */
    const char *domain;                  /* of host names; NULL */
    char default_id[PLACE_ID_BYTES + 1]; /* for requests that name no sandbox; "" */
    uint16_t default_port;
    struct port_range ports[GATEWAY_PORTS_MAX]; /* that may be reached at every sandbox */
    size_t port_count;
    struct networks networks; /* where sandboxes that others report may be */
    struct head_rules rules;
    bool no_auth;
    bool close_codes;    /* a refused WebSocket is accepted and closed, which browsers can see */
    struct buf tokens;   /* lines: each opens every sandbox */
    struct buf link_key; /* empty: no signed links */
    struct registration_trust registration;
    const char *redis_password; /* from the environment; NULL */
    const char *auth_hook;      /* "http://127.0.0.1:9000/auth"; NULL */
    uint32_t auth_cache_ms;
    const struct origin *origin;                                             /* CORS */
    uint32_t sandbox_connections, sandbox_rate, peer_connections, peer_rate; /* 0: no limit */
    int access_log;                                                          /* fd; -1 */
    bool access_log_socket;
    size_t worker; /* index of this worker */
    struct gateway_shared *shared;
};

struct gateway *gateway_new(struct loop *loop, const struct gateway_options *o,
                            struct hf_error *err);
void gateway_free(struct gateway *g);
/* For clients. */
void gateway_listen(struct gateway *g, const struct listen_socket *l, struct tls_context *tls);
/* /metrics, /healthz, /readyz, for operators. */
void gateway_listen_admin(struct gateway *g, const struct listen_socket *l);
/* Streams may end by themselves for `ms`; then WebSockets are closed with 1001 and others are
 * cut. */
void gateway_drain(struct gateway *g, uint32_t ms, task_fn *done, void *arg);
void gateway_cut(struct gateway *g); /* does that now */
bool gateway_is_ready(const struct gateway *g);

#endif
