/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - everything between a request's head and its handler
 *
 * The order is what makes it secure: first the route, then Host, Origin, credentials and role, and
 * only then the details of the request. Without a token, clients cannot learn which paths exist.
 * Layer: transport.
 */
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "transport/auth.h"
#include "transport/conn_own.h"
#include "transport/h2.h"
#include "transport/http_request.h"
#include "transport/origin.h"
#include "transport/ws.h"

#define CORS_MAX_AGE "600"
#define ORIGIN_MAX_BYTES 300 /* a host has at most 255 */

static bool refuse(struct http_request *rq, const struct hf_error *err)
{
    http_reply_error(rq, err);
    return false;
}

static bool refuse_code(struct http_request *rq, enum hf_code code, const char *detail)
{
    struct hf_error err = {0};

    hf_fail(&err, code, "%s", detail);
    return refuse(rq, &err);
}

static bool is_unix(const struct http_request *rq)
{
    return rq->c->listener->kind == LISTEN_UNIX;
}

/* --- the route ---------------------------------------------------------------------- */

static bool gate_route(struct http_request *rq)
{
    const struct http_server *s = rq->server;
    const struct route_table *own = rq->c->listener->table;
    struct hf_error err = {0};

    if (request_parse_target(rq, &err) < 0) {
        rq->close = true;
        return refuse(rq, &err);
    }
    if (rq->host != NULL && !is_unix(rq) && !origin_host_is_valid(rq->host)) {
        rq->close = true;
        return refuse_code(rq, HF_E_bad_request, "The Host is not a name or address with a port.");
    }
    if (strcmp(rq->path, "*") == 0)
        return true; /* OPTIONS for the server itself: no route */
    if (path_parse(&rq->segments, rq->path, &err) < 0)
        return refuse(rq, &err);
    if (own != NULL)
        router_find(&own, 1, true, rq->path, &rq->segments, rq->parser.method, &rq->match);
    else
        router_find(s->tables, s->table_count, false, rq->path, &rq->segments, rq->parser.method,
                    &rq->match);
    if (rq->match.table != NULL)
        rq->table = rq->match.table;
    return true;
}

/* --- origin and credentials ------------------------------------------------------------ */

static bool host_ok(const struct http_request *rq)
{
    const struct origin *o = rq->server->o.origin;

    return o == NULL || rq->host == NULL || origin_host_ok(o, rq->host, is_unix(rq));
}

static bool origin_ok(const struct http_request *rq, const char *origin)
{
    const struct origin *o = rq->server->o.origin;

    return o == NULL || origin == NULL || origin_origin_ok(o, origin, rq->host, http_is_tls(rq));
}

bool request_is_plain_read(const struct http_request *rq)
{
    const struct route *r = rq->match.route;

    return (rq->parser.method & (HTTP_GET_M | HTTP_HEAD_M)) != 0 && !rq->parser.upgrade &&
           (r == NULL || !(r->flags & ROUTE_CHANGES));
}

/* Scheme and authority of a URL, as an Origin would have them. */
static bool referer_ok(const struct http_request *rq, const char *url)
{
    const char *host = strstr(url, "://");
    char origin[ORIGIN_MAX_BYTES];
    size_t len;

    if (host == NULL)
        return false;
    len = (size_t)(host - url) + 3 + strcspn(host + 3, "/?#");
    if (len >= sizeof origin)
        return false;
    memcpy(origin, url, len);
    origin[len] = '\0';
    return origin_ok(rq, origin);
}

/*
 * Does the request come from one of our own pages, or from no browser at all? An image or a link on
 * another site makes a browser send a GET without an Origin; then Sec-Fetch-Site or the Referer
 * decides.
 */
static bool sender_ok(const struct http_request *rq, const char *origin)
{
    const char *site = http_header(rq, "Sec-Fetch-Site"), *referer = http_header(rq, "Referer");

    if (origin != NULL)
        return origin_ok(rq, origin);
    if (site != NULL)
        return strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
    return referer == NULL || rq->server->o.origin == NULL || referer_ok(rq, referer);
}

static bool changes_by_get(const struct http_request *rq)
{
    const struct route *r = rq->match.route;

    return r != NULL && (r->flags & ROUTE_CHANGES) != 0;
}

static void add_cors(struct http_request *rq, const char *origin)
{
    const struct origin *o = rq->server->o.origin;

    if (o == NULL || origin == NULL || !origin_is_listed(o, origin))
        return;
    http_add_header(rq, "Access-Control-Allow-Origin", origin);
    http_add_header(rq, "Access-Control-Expose-Headers", "*");
    http_add_header(rq, "Vary", "Origin");
}

static enum role find_role(struct http_request *rq)
{
    const struct auth *a = rq->server->o.auth;

    if (!rq->role_found) /* only once: it may redeem a ticket */
        rq->found_role = a == NULL ? ROLE_OWN : auth_role(a, rq, rq->c->uid, &rq->grant);
    rq->role_found = true;
    return rq->found_role;
}

/* Beyond the limit of connections only some are served; the others get a 429. */
static bool gate_room(struct http_request *rq)
{
    const struct route *r = rq->match.route;
    bool probe = r != NULL && (r->flags & ROUTE_PROBE);
    struct hf_error err = {0};

    if (!rq->c->crowded)
        return true;
    rq->close |= probe;
    if (admission_allows(rq->c, probe ? ROLE_NONE : find_role(rq), probe))
        return true;
    hf_fail(&err, HF_E_too_many_connections,
            "The daemon already has %zu connections; try again later.",
            rq->server->o.max_connections);
    err.limit = "connections";
    rq->close = true;
    return refuse(rq, &err);
}

/* Health probes may come from anywhere; if they present a credential, it is still recorded. */
static void gate_public(struct http_request *rq, const char *origin)
{
    add_cors(rq, origin);
    rq->role = host_ok(rq) && origin_ok(rq, origin) ? find_role(rq) : ROLE_NONE;
    if (rq->grant.id[0] != '\0')
        rq->role = ROLE_NONE; /* a link has one purpose, and this is not it */
    rq->grant = (struct auth_grant){.token = rq->role == ROLE_NONE ? 0 : rq->grant.token};
    http_set_trusted(rq, rq->role);
}

static bool gate_upgrade(struct http_request *rq);

/* Browsers hide the status of a refused handshake and would retry for ever: send a close code. */
static bool refuse_link(struct http_request *rq)
{
    const struct route *r = rq->match.route;

    /* With a body it cannot become a WebSocket yet, and no page sends one. */
    if (r != NULL && (r->flags & ROUTE_SCOPED) && (r->flags & ROUTE_UPGRADE) && rq->body_done &&
        http_is_websocket(rq)) {
        if (gate_upgrade(rq))
            ws_refuse(rq, WS_CODE_LINK_ENDED, "link_ended");
        return false;
    }
    return refuse_code(rq, HF_E_unauthorized,
                       "This link was revoked, has expired or is used up; request a new one.");
}

static bool gate_caller(struct http_request *rq, const char *origin)
{
    if (!host_ok(rq))
        return refuse_code(rq, HF_E_host_refused,
                           "The daemon does not serve this Host; allow it with --allow-host.");
    add_cors(rq, origin);
    if (!request_is_plain_read(rq) && !(changes_by_get(rq) ? sender_ok : origin_ok)(rq, origin))
        return refuse_code(
            rq, HF_E_origin_refused,
            "Pages of this Origin may not call the daemon; allow it with --cors-origin.");
    rq->role = find_role(rq);
    if (rq->role == ROLE_NONE && rq->grant.refused)
        return refuse_link(rq);
    if (rq->role == ROLE_NONE) {
        http_add_header(rq, "WWW-Authenticate", "Bearer");
        return refuse_code(rq, HF_E_unauthorized, "Send the token: Authorization: Bearer TOKEN.");
    }
    http_set_trusted(rq, rq->role);
    return true;
}

/* --- OPTIONS --------------------------------------------------------------------------- */

static bool is_preflight(const struct http_request *rq, const char *origin)
{
    return rq->parser.method == HTTP_OPTIONS_M && origin != NULL &&
           http_header(rq, "Access-Control-Request-Method") != NULL;
}

/* A browser's preflight, sent without credentials before the real request. */
static bool gate_preflight(struct http_request *rq, const char *origin)
{
    const char *headers = http_header(rq, "Access-Control-Request-Headers");
    const struct origin *o = rq->server->o.origin;
    char methods[METHODS_TEXT_BYTES];

    if (!host_ok(rq))
        return refuse_code(rq, HF_E_host_refused, "The daemon does not serve this Host.");
    if (o == NULL || !origin_is_listed(o, origin))
        return refuse_code(
            rq, HF_E_origin_refused,
            "Pages of this Origin may not call the daemon; allow it with --cors-origin.");
    router_methods_text(rq->match.allow, methods);
    add_cors(rq, origin);
    http_add_header(rq, "Access-Control-Allow-Methods", methods);
    if (headers != NULL)
        http_add_header(rq, "Access-Control-Allow-Headers", headers);
    http_add_header(rq, "Access-Control-Max-Age", CORS_MAX_AGE);
    http_reply_empty(rq, 204);
    return false;
}

static const char *allow_text(struct http_request *rq, unsigned allow)
{
    char text[METHODS_TEXT_BYTES];

    router_methods_text(allow | HTTP_OPTIONS_M, text);
    return request_keep_text(rq, text, strlen(text));
}

/* No route matches the path or the method. */
static bool gate_no_route(struct http_request *rq)
{
    unsigned all =
        HTTP_GET_M | HTTP_HEAD_M | HTTP_POST_M | HTTP_PUT_M | HTTP_PATCH_M | HTTP_DELETE_M;
    bool star = strcmp(rq->path, "*") == 0;
    struct hf_error err = {0};
    const char *allow;

    if (rq->match.allow == 0 && !star)
        return refuse_code(rq, HF_E_not_found, "There is nothing at this path.");
    allow = allow_text(rq, star ? all : rq->match.allow);
    http_add_header(rq, "Allow", allow);
    if (rq->parser.method == HTTP_OPTIONS_M) {
        http_reply_empty(rq, 204);
        return false;
    }
    hf_fail(&err, HF_E_method_not_allowed, "This path accepts %s.", allow);
    err.allow = allow;
    return refuse(rq, &err);
}

/* --- the details ------------------------------------------------------------------------ */

static bool gate_query(struct http_request *rq)
{
    struct hf_error err = {0};

    if (rq->match.route->flags & ROUTE_ANY_QUERY)
        return true;
    if (!request_parse_query(rq, &err) || query_check(&rq->query, rq->match.route->query, &err) < 0)
        return refuse(rq, &err);
    return true;
}

static bool gate_upgrade(struct http_request *rq)
{
    if (!(rq->match.route->flags & ROUTE_UPGRADE))
        return true;
    if (!rq->parser.upgrade || (!http_is_websocket(rq) && !(rq->match.route->flags & ROUTE_RAW))) {
        http_add_header(rq, "Upgrade", "websocket");
        http_add_header(rq, "Connection", "Upgrade");
        return refuse_code(rq, HF_E_upgrade_required, "Connect here with a WebSocket.");
    }
    if (!http_is_websocket(rq))
        return true;
    if (!ws_version_is_ours(rq)) {
        http_add_header(rq, "Sec-WebSocket-Version", "13");
        return refuse_code(rq, HF_E_upgrade_required, "Use version 13 of the WebSocket protocol.");
    }
    if (!ws_key_is_valid(rq))
        return refuse_code(rq, HF_E_bad_request, "Sec-WebSocket-Key must be 16 bytes in base64.");
    return true;
}

/* The role also limits a body that is buffered whole: weaker roles get a smaller limit. */
size_t gate_body_max(const struct http_request *rq)
{
    static const size_t by_role[] = {
        [ROLE_NONE] = LIMIT_PUBLIC_BODY_BYTES,
        [ROLE_WATCH] = LIMIT_WATCH_BODY_BYTES,
        [ROLE_TYPE] = LIMIT_TYPE_BODY_BYTES,
        [ROLE_OWN] = SIZE_MAX,
    };
    const struct route *r = rq->match.route;
    size_t max = r->body_max > 0 ? r->body_max : LIMIT_JSON_BODY_BYTES;

    if (request_is_streamed(rq) || max < by_role[rq->role])
        return max;
    return by_role[rq->role];
}

static bool gate_body(struct http_request *rq)
{
    const struct http1 *p = &rq->parser;
    const struct route *r = rq->match.route;
    bool wants_body = (p->method & (HTTP_POST_M | HTTP_PUT_M | HTTP_PATCH_M)) != 0;
    const char *expect = p->http11 ? http_header(rq, "Expect") : NULL;
    struct hf_error err = {0};

    if (expect != NULL && strcasecmp(expect, "100-continue") != 0)
        return refuse_code(rq, HF_E_expectation_failed,
                           "The only supported expectation is 100-continue.");
    if ((r->flags & ROUTE_NO_BODY) && http1_has_body(p))
        return refuse_code(rq, HF_E_bad_request, "This request must not have a body.");
    if (wants_body && !p->http11 && !p->has_length && !(r->flags & ROUTE_NO_BODY))
        return refuse_code(rq, HF_E_length_required, "HTTP/1.0 requires a Content-Length here.");
    if (p->length > gate_body_max(rq)) {
        hf_fail(&err, HF_E_body_too_large, "The request body exceeds the limit of %zu bytes.",
                gate_body_max(rq));
        err.limit = "body_bytes";
        return refuse(rq, &err);
    }
    return true;
}

/* A request that came by a link is limited to the link's scope. */
static bool gate_scope(struct http_request *rq)
{
    if (rq->grant.id[0] == '\0')
        return true;
    if ((rq->match.route->flags & ROUTE_SCOPED) &&
        auth_grant_fits(rq->server->o.auth, rq, &rq->grant))
        return true;
    return refuse_code(rq, HF_E_forbidden,
                       "This link is limited to one process and does not cover this request.");
}

static void gate_pass(struct http_request *rq)
{
    const char *grant = http_grant(rq);

    if (grant != NULL)
        auth_grant_use(rq->server->o.auth, &rq->grant);
    if (rq->h2 != NULL) {
        h2_set_grant(rq->h2, grant, rq->grant.token);
        return;
    }
    rq->c->token = rq->grant.token;
    if (grant != NULL || rq->c->grant != NULL)
        conn_set_grant(rq->c, grant);
}

bool gate_admit(struct http_request *rq)
{
    const char *origin = http_header(rq, "Origin");
    const struct route *r;

    if (origin != NULL && origin[0] == '\0')
        origin = NULL; /* of no page: that of a page without one is "null" */
    if (!gate_route(rq) || !gate_room(rq))
        return false;
    if (rq->parser.method == 0)
        return refuse_code(rq, HF_E_not_implemented, "No route accepts this method.");
    if (is_preflight(rq, origin))
        return gate_preflight(rq, origin);
    r = rq->match.route;
    if (r != NULL && (r->flags & ROUTE_PUBLIC))
        gate_public(rq, origin);
    else if (!gate_caller(rq, origin))
        return false;
    if (r == NULL)
        return gate_no_route(rq);
    if (rq->role < r->role && !(r->flags & ROUTE_PUBLIC)) {
        struct hf_error err = {0};

        hf_fail(&err, HF_E_forbidden, "This needs the role '%s'; yours is '%s'.",
                http_role_name(r->role), http_role_name(rq->role));
        return refuse(rq, &err);
    }
    if (!gate_scope(rq) || !gate_query(rq) || !gate_upgrade(rq) || !gate_body(rq))
        return false;
    gate_pass(rq);
    return true;
}
