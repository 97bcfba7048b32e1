/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway.c - one entry point to many sandboxes: the parts of a worker
 *
 * Layer: gateway.
 */
#include "gateway/gateway.h"

#include <unistd.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "gateway/gateway_exchange.h"
#include "transport/auth.h"

/* --- for operators -------------------------------------------------------------------- */

static void admin_error(struct http_request *rq, const struct hf_error *err)
{
    const char *name = hf_code_name(err->code);

    http_reply(rq, hf_code_status(err->code), "text/plain", name, strlen(name));
}

static void admin_metrics(struct http_request *rq)
{
    struct gateway *g = http_context(rq);
    struct http_stats stats;
    struct buf out = {0};

    http_server_stats(g->server, &stats);
    g->shared->seats[g->o.worker].gauges.connections = stats.connections;
    shared_put_metrics(g->shared, &out);
    http_reply(rq, 200, "text/plain; version=0.0.4", buf_data(&out), out.len);
    buf_fini(&out);
}

static void admin_health(struct http_request *rq)
{
    http_reply(rq, 200, "text/plain", "ok\n", 3);
}

static void admin_ready(struct http_request *rq)
{
    bool ready = gateway_is_ready(http_context(rq));

    http_reply(rq, ready ? 200 : 503, "text/plain", ready ? "ready\n" : "not ready\n",
               ready ? 6 : 10);
}

static const struct route admin_routes[] = {
    {HTTP_GET_M, "/metrics", admin_metrics, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY,
     0, NULL},
    {HTTP_GET_M, "/healthz", admin_health, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY,
     0, NULL},
    {HTTP_GET_M, "/readyz", admin_ready, ROLE_NONE, ROUTE_PUBLIC | ROUTE_PROBE | ROUTE_ANY_QUERY, 0,
     NULL},
};

/* --- life cycle ---------------------------------------------------------------------------- */

static struct resolver *open_resolver(struct gateway *g, struct hf_error *err)
{
    struct resolver_secrets secrets = {.redis_password = g->o.redis_password,
                                       .trust = &g->o.registration};

    return resolver_open(g->server, g->o.resolver, &secrets, err);
}

struct gateway *gateway_new(struct loop *loop, const struct gateway_options *o,
                            struct hf_error *err)
{
    struct gateway *g = hf_xalloc(sizeof *g);

    g->loop = loop;
    g->o = *o;
    g->shared = o->shared;
    list_init(&g->pipes);
    crypto_random(&g->request_seed, sizeof g->request_seed);
    g->auth = auth_new();
    auth_allow_all(g->auth);
    g->o.http.auth = g->auth;
    g->server = http_server_new(loop, &g->o.http);
    g->pool = pool_new(&g->shared->seats[o->worker].gauges.idle_upstreams);
    g->shared->seats[o->worker].pid = (int32_t)getpid();
    g->admin = (struct route_table){.prefix = "",
                                    .routes = admin_routes,
                                    .count = sizeof admin_routes / sizeof *admin_routes,
                                    .error = admin_error,
                                    .context = g};
    http_server_mount(g->server, &g->admin);
    g->access = access_new(o, err);
    if (g->access != NULL)
        g->resolver = open_resolver(g, err);
    if (g->resolver == NULL) {
        gateway_free(g);
        return NULL;
    }
    return g;
}

void gateway_free(struct gateway *g)
{
    if (g == NULL)
        return;
    resolver_close(g->resolver);
    http_server_free(g->server); /* also frees exchanges, tunnels and pooled connections */
    access_free(g->access);
    pool_free(g->pool);
    tunnel_free_pipes(g);
    exchange_free_spares(g);
    auth_free(g->auth);
    buf_wipe(&g->head);
    free(g);
}

void gateway_listen(struct gateway *g, const struct listen_socket *l, struct tls_context *tls)
{
    http_server_listen_proto(g->server, l->fd, l->kind, &client_proto, g,
                             l->kind == LISTEN_TCP ? tls : NULL);
}

void gateway_listen_admin(struct gateway *g, const struct listen_socket *l)
{
    http_server_listen(g->server, l->fd, l->kind, &g->admin, NULL);
}

void gateway_drain(struct gateway *g, uint32_t ms, task_fn *done, void *arg)
{
    http_server_drain(g->server, ms, done, arg);
}

void gateway_cut(struct gateway *g)
{
    server_cut(g->server);
}

bool gateway_is_ready(const struct gateway *g)
{
    return !g->server->draining && resolver_is_ready(g->resolver);
}
