/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_exchange.c - from the head of a request to the connection to its sandbox
 *
 * The order of checks: is the request well-formed and for a sandbox; where is that; may the client
 * pass (which the sandbox's own tokens can decide); is the port allowed; is there room. A client
 * that may not pass learns nothing about which sandboxes exist. Layer: gateway.
 */
#include "gateway/gateway_exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "transport/origin.h"

static void exchange_on_lookup(struct lookup *l, int rc, struct endpoint *e);

static struct shared_counters *counters(const struct exchange *ex)
{
    return &ex->g->shared->seats[ex->g->o.worker].counters;
}

static struct exchange *exchange_alloc(const struct http_options *o)
{
    struct http1_limits limits = {o->header_bytes, o->header_count, o->uri_bytes};
    struct exchange *ex = hf_xalloc(sizeof *ex);

    http1_init(&ex->rq, &limits);
    http1_init_response(&ex->rs, &limits, false);
    return ex;
}

static void exchange_keep(struct gateway *g, struct exchange *ex)
{
    memset(ex, 0, offsetof(struct exchange, rq));
    http1_again(&ex->rq, false);
    http1_again(&ex->rs, false);
    mem_hide(ex, sizeof *ex);
    g->spare[g->spares++] = ex;
}

static struct exchange *exchange_kept(struct gateway *g)
{
    struct exchange *ex = g->spare[--g->spares];

    mem_show(ex, sizeof *ex);
    return ex;
}

static void exchange_release(struct exchange *ex)
{
    http1_fini(&ex->rq);
    http1_fini(&ex->rs);
    free(ex);
}

void exchange_free_spares(struct gateway *g)
{
    while (g->spares > 0)
        exchange_release(exchange_kept(g));
}

struct exchange *exchange_new(struct gateway *g, struct conn *client)
{
    struct exchange *ex = g->spares > 0 ? exchange_kept(g) : exchange_alloc(&g->o.http);

    ex->g = g;
    ex->client = client;
    ex->record.started_ns = clock_mono_ns();
    ex->record.method = "";
    ex->record.route = SHARED_OWN;
    g->shared->seats[g->o.worker].gauges.exchanges++;
    return ex;
}

void exchange_count_held(struct exchange *ex)
{
    peer_memory_set(&ex->held, ex->client,
                    ex->rq.target.cap + ex->rq.headers.cap + ex->rq.trailers.cap);
}

void exchange_free(struct exchange *ex)
{
    struct gateway *g = ex->g;

    peer_memory_clear(&ex->held);
    resolver_lookup_cancel(&ex->lookup);
    access_cancel(ex);
    bulk_drop_pipe(ex);
    quota_give(g->shared, g->o.worker, &ex->hold.sandbox);
    quota_give(g->shared, g->o.worker, &ex->hold.peer);
    endpoint_unref(ex->endpoint);
    free(ex->record.path);
    g->shared->seats[g->o.worker].gauges.exchanges--;
    if (g->spares < EXCHANGE_SPARES)
        exchange_keep(g, ex);
    else
        exchange_release(ex);
}

void exchange_drop_up(struct exchange *ex, bool keep)
{
    struct conn *up = ex->up;

    ex->up = NULL;
    if (up == NULL)
        return;
    if (keep)
        pool_put(ex->g->pool, up, &ex->to);
    else
        pool_end(up);
}

void exchange_abandon(struct exchange *ex)
{
    exchange_drop_up(ex, false);
    if (ex->rq.stage > HTTP1_IN_HEAD)
        access_record_finish(ex->g, &ex->record, conn_peer(ex->client), ex->upstream);
    exchange_free(ex);
}

void exchange_replied(struct exchange *ex)
{
    if (!ex->rq_done)
        ex->close = true;
    ex->state = EXCHANGE_REPLIED;
    conn_resume(ex->client);
}

/* --- the head ------------------------------------------------------------------------ */

static void exchange_name(struct exchange *ex)
{
    struct gateway *g = ex->g;
    struct access_record *r = &ex->record;
    uint32_t name[2] = {htonl(g->request_seed), htonl((uint32_t)++g->next_request)};
    size_t n = strcspn(ex->place.path, "?");

    hex_encode(ex->request_id, name, sizeof name);
    memcpy(r->request_id, ex->request_id, sizeof r->request_id);
    r->method = http1_method_name(&ex->rq);
    if (g->o.access_log >= 0)
        r->path = hf_xstrndup(ex->place.path, n);
}

static int check_expect(const struct exchange *ex, struct hf_error *err)
{
    size_t at = 0;
    const char *value = http1_header(&ex->rq, "Expect", &at);

    if (value == NULL ||
        (strcasecmp(value, "100-continue") == 0 && http1_header(&ex->rq, "Expect", &at) == NULL))
        return 0;
    return hf_fail(err, HF_E_expectation_failed, "The only supported expectation is 100-continue.");
}

static void find_cors(struct exchange *ex)
{
    size_t at = 0;
    const char *origin = http1_header(&ex->rq, "Origin", &at);

    if (origin != NULL && ex->g->o.origin != NULL && origin_is_listed(ex->g->o.origin, origin))
        ex->cors_origin = origin;
}

static bool is_preflight(const struct exchange *ex)
{
    size_t at = 0;

    return ex->cors_origin != NULL && ex->rq.method == HTTP_OPTIONS_M &&
           http1_header(&ex->rq, "Access-Control-Request-Method", &at) != NULL;
}

static int check_over_limit(const struct exchange *ex, struct hf_error *err)
{
    if (admission_allows(ex->client, ROLE_OWN, false))
        return 0;
    return hf_fail(err, HF_E_too_many_connections,
                   "The gateway already has %zu connections; try again later.",
                   ex->g->o.http.max_connections);
}

/* The whole path is the sandbox's. The host is not: pages of the path form share it. */
static int use_default(struct exchange *ex)
{
    const struct gateway_options *o = &ex->g->o;
    struct route_target *p = &ex->place;

    if (o->default_id[0] == '\0')
        return -ENOENT;
    memcpy(p->id, o->default_id, sizeof p->id);
    p->port = o->default_port;
    p->rest = p->path;
    p->rest_len = (size_t)(p->query - p->path);
    return 0;
}

void exchange_on_head(struct exchange *ex)
{
    struct hf_error err = {0};
    size_t at = 0;
    const char *host = http1_header(&ex->rq, "Host", &at);
    int rc = route_target_parse(buf_cstr(&ex->rq.target), host, ex->g->o.domain, &ex->place, &err);

    admission_progress(ex->client);
    ex->rq_done = !http1_has_body(&ex->rq);
    ex->close = !ex->rq.keep_alive || ex->g->server->draining;
    exchange_name(ex);
    if (rc == -ENOENT)
        rc = use_default(ex);
    if (rc == -ENOENT && gateway_reply_own(ex))
        return;
    if (rc == -ENOENT)
        rc = hf_fail(&err, HF_E_not_found,
                     "Sandboxes are at /v1/sandboxes/{id}/proxy/{port}/{path}.");
    if (rc == 0)
        rc = check_over_limit(ex, &err);
    if (rc == 0)
        rc = check_expect(ex, &err);
    if (rc < 0) {
        gateway_reply_error(ex, &err);
        return;
    }
    ex->record.route = ex->rq.upgrade ? SHARED_UPGRADE : SHARED_HTTP;
    memcpy(ex->record.id, ex->place.id, sizeof ex->record.id);
    ex->record.port = ex->place.port;
    find_cors(ex);
    if (is_preflight(ex)) {
        gateway_reply_preflight(ex);
        return;
    }
    ex->state = EXCHANGE_CHECK;
    if (access_is_hopeless(ex)) {
        counters(ex)->refused_auth++;
        access_check(ex, &err);
        gateway_reply_error(ex, &err);
        return;
    }
    counters(ex)->lookups++;
    resolver_find(ex->g->resolver, &ex->lookup, ex->place.id, exchange_on_lookup);
}

/* --- permission and look-up --------------------------------------------------------------- */

static void exchange_on_lookup(struct lookup *l, int rc, struct endpoint *e)
{
    struct exchange *ex = list_entry(l, struct exchange, lookup);
    struct hf_error err = {0};

    if (rc == 0) {
        ex->endpoint = endpoint_ref(e);
    } else if (rc == -ENOENT) {
        counters(ex)->lookup_misses++;
        ex->no_sandbox = true;
    } else {
        counters(ex)->lookup_failures++;
        hf_fail(&err, HF_E_resolver_unavailable, "The sandbox could not be looked up; try again.");
        gateway_reply_error(ex, &err);
        return;
    }
    switch (access_check(ex, &err)) {
    case ACCESS_YES: exchange_permitted(ex); break;
    case ACCESS_NO:
        counters(ex)->refused_auth++;
        gateway_reply_error(ex, &err);
        break;
    case ACCESS_LATER: break;
    }
}

static bool port_is_allowed(const struct gateway_options *o, uint16_t port)
{
    for (size_t i = 0; i < o->port_count; i++) {
        if (port >= o->ports[i].first && port <= o->ports[i].last)
            return true;
    }
    return false;
}

static int take_quota(struct exchange *ex, struct hf_error *err)
{
    const struct gateway_options *o = &ex->g->o;
    struct quota_limits sandbox = {o->sandbox_connections, o->sandbox_rate};
    struct quota_limits peer = {o->peer_connections, o->peer_rate};
    uint64_t now = loop_now_ms(ex->g->loop);
    char ip[64];

    head_peer_ip(conn_peer(ex->client), ip, sizeof ip);
    if (quota_take(ex->g->shared, o->worker, 's', ex->place.id, &sandbox, now, &ex->hold.sandbox) &&
        quota_take(ex->g->shared, o->worker, 'p', ip, &peer, now, &ex->hold.peer))
        return 0;
    counters(ex)->refused_quota++;
    return hf_fail(err, HF_E_too_many_requests,
                   "This sandbox, or your address, has reached its request limit.");
}

/* It is mostly the same as before, whose text is cached. */
static void name_upstream(struct exchange *ex)
{
    struct gateway *g = ex->g;

    if (!endpoint_address_equal(&g->last_to, &ex->to)) {
        g->last_to = ex->to;
        endpoint_address_text(&ex->to, g->last_text, sizeof g->last_text);
    }
    memcpy(ex->upstream, g->last_text, sizeof ex->upstream);
}

/* Those that register a sandbox choose the address: the gateway must not call everything it can
 * reach. */
static int check_address(struct exchange *ex, struct hf_error *err)
{
    struct gateway *g = ex->g;
    char text[64];

    if (g->resolver->class->is_operators || networks_allow(&g->o.networks, &ex->to))
        return 0;
    endpoint_address_text(&ex->to, text, sizeof text);
    if (!ex->endpoint->complained)
        log_warn(
            "not connecting to sandbox %s at %s: the address is not allowed; see --allow-address",
            ex->place.id, text);
    ex->endpoint->complained = true;
    return hf_fail(err, HF_E_upstream_unreachable,
                   "Sandbox %s is at an address that this gateway does not allow.", ex->place.id);
}

void exchange_permitted(struct exchange *ex)
{
    struct hf_error err = {0};
    int rc = 0;

    if (ex->no_sandbox) {
        rc = hf_fail(&err, HF_E_no_such_sandbox, "There is no sandbox %s.", ex->place.id);
    } else if (!endpoint_find_port(ex->endpoint, ex->place.port,
                                   port_is_allowed(&ex->g->o, ex->place.port), &ex->to)) {
        counters(ex)->refused_port++;
        rc = hf_fail(&err, HF_E_port_not_allowed, "Port %u of sandbox %s is not allowed.",
                     ex->place.port, ex->place.id);
    } else {
        rc = check_address(ex, &err);
        rc = rc == 0 ? take_quota(ex, &err) : rc;
    }
    if (rc < 0) {
        gateway_reply_error(ex, &err);
        return;
    }
    conn_set_trust(ex->client, ROLE_OWN); /* while it lasts */
    name_upstream(ex);
    ex->state = EXCHANGE_RELAY;
    upstream_begin(ex);
}
