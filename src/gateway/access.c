/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.c - decides whether a request may pass the gateway
 *
 * Layer: gateway.
 */
#include "gateway/access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway_exchange.h"
#include "gateway/gateway_fetch.h"
#include "gateway/signed_link.h"
#include "transport/auth.h"
#include "transport/origin.h"

#define ACCESS_TOKENS_MAX 64

struct cached {
    uint8_t key[32];
    uint64_t until_ms;
    int status;
};

struct access {
    uint8_t tokens[ACCESS_TOKENS_MAX][32];
    size_t token_count;
    struct buf link_key;
    struct fetch_target hook;
    struct tls_context *trust; /* of an https:// hook; NULL */
    bool has_hook;
    bool complained; /* the hook's failure was logged */
    uint32_t cache_ms;
    struct cached cache[LIMIT_AUTH_CACHE]; /* by hash; a newer reply replaces an older one */
};

/* --- set-up ------------------------------------------------------------------------ */

static int add_tokens(struct access *a, const struct buf *text, struct hf_error *err)
{
    const char *s = buf_data(text), *end = s + text->len;

    while (s < end) {
        const char *next = memchr(s, '\n', (size_t)(end - s));
        size_t n = next != NULL ? (size_t)(next - s) : (size_t)(end - s);
        const char *line = s;

        s += n + 1;
        while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
            n--;
        if (n == 0 || line[0] == '#')
            continue;
        if (n < AUTH_TOKEN_MIN || n > AUTH_TOKEN_MAX || a->token_count == ACCESS_TOKENS_MAX)
            return hf_fail(err, HF_E_bad_value,
                           "A token must have %d to %d characters, and a file at most %d tokens.",
                           AUTH_TOKEN_MIN, AUTH_TOKEN_MAX, ACCESS_TOKENS_MAX);
        sha256(line, n, a->tokens[a->token_count++]);
    }
    return 0;
}

/* For https:// the system's CA certificates are trusted, or those of SSL_CERT_FILE. */
static int set_hook(struct access *a, const char *url, struct hf_error *err)
{
    int rc = fetch_parse_url(url, &a->hook, err);

    if (rc < 0 || !a->hook.tls)
        return rc;
    a->hook.trust = a->trust = tls_client_context_new(NULL, err);
    return a->trust != NULL ? 0 : -EINVAL;
}

struct access *access_new(const struct gateway_options *o, struct hf_error *err)
{
    struct access *a = hf_xalloc(sizeof *a);
    int rc = o->tokens.len > 0 ? add_tokens(a, &o->tokens, err) : 0;

    a->has_hook = o->auth_hook != NULL;
    a->cache_ms = o->auth_cache_ms;
    if (rc == 0 && a->has_hook)
        rc = set_hook(a, o->auth_hook, err);
    if (rc == 0 && o->link_key.len > 0 && o->link_key.len < 32)
        rc = hf_fail(err, HF_E_bad_value, "The key for signed links must have at least 32 bytes.");
    buf_put(&a->link_key, buf_data(&o->link_key), o->link_key.len);
    if (rc < 0) {
        access_free(a);
        return NULL;
    }
    return a;
}

void access_free(struct access *a)
{
    if (a == NULL)
        return;
    buf_wipe(&a->link_key);
    tls_context_free(a->trust);
    free(a);
}

/* --- tokens -------------------------------------------------------------------------- */

static bool is_known(const struct exchange *ex, const char *token, size_t len)
{
    const struct access *a = ex->g->access;
    uint8_t digest[32];
    bool known = false;

    if (len < AUTH_TOKEN_MIN || len > AUTH_TOKEN_MAX)
        return false;
    sha256(token, len, digest);
    for (size_t i = 0; i < a->token_count; i++)
        known |= crypto_equal(a->tokens[i], digest, sizeof digest);
    if (ex->endpoint != NULL)
        known |= endpoint_knows_token(ex->endpoint, digest);
    return known;
}

static bool by_bearer(struct exchange *ex)
{
    size_t at = 0;
    const char *value;

    while ((value = http1_header(&ex->rq, "Authorization", &at)) != NULL) {
        if (strncasecmp(value, "Bearer ", 7) != 0)
            continue;
        value += 7;
        value += strspn(value, " ");
        ex->access.spent_authorization |= is_known(ex, value, strlen(value));
    }
    return ex->access.spent_authorization;
}

static bool by_protocol(struct exchange *ex)
{
    size_t at = 0, n;
    const char *list = http1_header(&ex->rq, "Sec-WebSocket-Protocol", &at);
    struct buf token = {0};

    while (list != NULL && *list != '\0' && !ex->access.spent_protocol) {
        list += strspn(list, " \t,");
        n = strcspn(list, ", \t");
        if (n > sizeof AUTH_SUBPROTOCOL - 1 &&
            strncmp(list, AUTH_SUBPROTOCOL, sizeof AUTH_SUBPROTOCOL - 1) == 0 &&
            base64_decode(&token, list + sizeof AUTH_SUBPROTOCOL - 1,
                          n - (sizeof AUTH_SUBPROTOCOL - 1)))
            ex->access.spent_protocol = is_known(ex, buf_data(&token), token.len);
        buf_wipe(&token);
        list += n;
    }
    return ex->access.spent_protocol;
}

/* --- links ----------------------------------------------------------------------------- */

static const char *header(const struct exchange *ex, const char *name)
{
    size_t at = 0;

    return http1_header(&ex->rq, name, &at);
}

static bool header_is(const struct exchange *ex, const char *name, const char *value)
{
    const char *given = header(ex, name);

    return given != NULL && strcasecmp(given, value) == 0;
}

/* As the client sees it, which may be behind a trusted proxy. */
static bool client_has_tls(const struct exchange *ex)
{
    return conn_is_tls(ex->client) ||
           (ex->g->o.rules.trust_forwarded && header_is(ex, "X-Forwarded-Proto", "https"));
}

static bool origin_is_own(const struct exchange *ex, const char *origin)
{
    const char *host = ex->g->o.rules.trust_forwarded ? header(ex, "X-Forwarded-Host") : NULL;

    return origin_is_same(origin, host != NULL ? host : ex->place.host, client_has_tls(ex));
}

/* A page's request that changes something or opens a stream: the page must be the sandbox's own. */
static bool page_is_own(const struct exchange *ex)
{
    const char *origin = header(ex, "Origin"), *site = header(ex, "Sec-Fetch-Site");

    if (!ex->place.by_host && !ex->g->o.rules.trust_path_origin)
        return false; /* the pages of all sandboxes have this origin */
    if (origin != NULL && !origin_is_own(ex, origin))
        return false;
    if (site != NULL)
        return strcasecmp(site, "same-origin") == 0 || strcasecmp(site, "none") == 0;
    return origin != NULL;
}

/* A read: also by following a link from elsewhere, but not by another page's script. */
static bool read_is_fine(const struct exchange *ex)
{
    const char *origin = header(ex, "Origin"), *site = header(ex, "Sec-Fetch-Site");

    if (origin != NULL && !origin_is_own(ex, origin))
        return false;
    if (site == NULL || strcasecmp(site, "same-origin") == 0 || strcasecmp(site, "none") == 0)
        return true;
    return header_is(ex, "Sec-Fetch-Mode", "navigate") &&
           header_is(ex, "Sec-Fetch-Dest", "document");
}

/* A browser sends a cookie whichever page makes the request, so a cookie alone proves no intent. */
static bool cookie_counts(const struct exchange *ex)
{
    bool reads = !ex->rq.upgrade && (ex->rq.method & (HTTP_GET_M | HTTP_HEAD_M)) != 0;

    if (ex->cors_origin != NULL)
        return true; /* the operator allows these pages */
    return reads ? read_is_fine(ex) : page_is_own(ex);
}

static bool link_opens(struct exchange *ex, const char *text, size_t len)
{
    const struct access *a = ex->g->access;

    return text != NULL && link_is_good(&a->link_key, ex->place.id, ex->place.port, text, len,
                                        clock_wall_ms() / 1000, &ex->access.link_expires_s);
}

/* Binds a cookie to this very host where possible, so that no other host can have set it. */
static const char *cookie_name(const struct exchange *ex)
{
    return ex->place.prefix_len == 0 && client_has_tls(ex) ? LINK_HOST_NAME : LINK_NAME;
}

static bool by_link(struct exchange *ex)
{
    size_t len, at = 0;
    const char *text, *cookie;

    if (ex->g->access->link_key.len == 0)
        return false;
    text = link_in_query(ex->place.query, &len);
    if (link_opens(ex, text, len)) {
        ex->access.sets_cookie = !ex->rq.upgrade;
        return true;
    }
    while ((cookie = http1_header(&ex->rq, "Cookie", &at)) != NULL) {
        text = link_in_cookie(cookie, cookie_name(ex), &len);
        if (!link_opens(ex, text, len))
            continue;
        ex->access.foreign_page = !cookie_counts(ex);
        return !ex->access.foreign_page;
    }
    return false;
}

const char *access_cookie(const struct exchange *ex, char *out, size_t room)
{
    const struct route_target *p = &ex->place;
    char text[LINK_TEXT_BYTES];
    int64_t age = ex->access.link_expires_s - clock_wall_ms() / 1000;

    if (!ex->access.sets_cookie || age <= 0 || p->prefix_len > 140)
        return NULL;
    link_sign(&ex->g->access->link_key, p->id, p->port, ex->access.link_expires_s, text);
    snprintf(out, room, "%s=%s; Max-Age=%lld; Path=%.*s; HttpOnly; SameSite=Lax%s", cookie_name(ex),
             text, (long long)age, p->prefix_len > 0 ? (int)p->prefix_len : 1,
             p->prefix_len > 0 ? p->path : "/", client_has_tls(ex) ? "; Secure" : "");
    return out;
}

/* --- the hook --------------------------------------------------------------------------- */

/* Everything sent to the hook affects its decision, so all of it is part of the cache key. */
static void hook_put_head(struct exchange *ex, struct buf *out)
{
    static const char *const forwarded[] = {"Authorization", "Cookie", "Sec-WebSocket-Protocol",
                                            "Origin"};
    const struct fetch_target *t = &ex->g->access->hook;
    char ip[64];

    buf_printf(out, "GET %s HTTP/1.1\r\nHost: %s\r\n", t->path[0] != '\0' ? t->path : "/", t->host);
    buf_printf(out, "X-Sandbox-Id: %s\r\nX-Sandbox-Port: %u\r\n", ex->place.id, ex->place.port);
    buf_printf(out, "X-Original-Method: %s\r\nX-Original-URI: %s\r\n", http1_method_name(&ex->rq),
               buf_cstr(&ex->rq.target));
    head_peer_ip(conn_peer(ex->client), ip, sizeof ip);
    buf_printf(out, "X-Forwarded-For: %s\r\nConnection: close\r\n", ip);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        const char *value;
        size_t at = 0;

        while ((value = http1_header(&ex->rq, forwarded[i], &at)) != NULL)
            buf_printf(out, "%s: %s\r\n", forwarded[i], value);
    }
    buf_puts(out, "\r\n");
}

static struct cached *cache_slot(struct access *a, const uint8_t key[32])
{
    return &a->cache[crypto_hash(key, 32) % LIMIT_AUTH_CACHE];
}

static enum access_verdict hook_verdict(int status, struct hf_error *err)
{
    if (status >= 200 && status < 300)
        return ACCESS_YES;
    if (status == 403)
        hf_fail(err, HF_E_forbidden, "The gateway's auth hook refuses this request.");
    else if (status == 401)
        hf_fail(err, HF_E_unauthorized, "The gateway's auth hook requires other credentials.");
    else
        hf_fail(err, HF_E_auth_unavailable, "The gateway's auth hook is unavailable; try again.");
    return ACCESS_NO;
}

static void hook_on_head(void *arg, const struct http1 *rs)
{
    struct exchange *ex = arg;

    ex->access.status = rs->status;
}

static void hook_on_body(void *arg, const char *bytes, size_t len)
{
    (void)arg, (void)bytes, (void)len;
}

static void hook_on_done(void *arg, int rc)
{
    struct exchange *ex = arg;
    struct access *a = ex->g->access;
    struct hf_error err = {0};
    int status = rc == 0 ? ex->access.status : 0;

    if (rc < 0 && !a->complained)
        log_warn("the auth hook: %s", fetch_why(ex->access.fetch, rc));
    a->complained = rc < 0;
    ex->access.fetch = NULL;
    if (rc == 0 && (status / 100 == 2 || status == 401 || status == 403)) {
        struct cached *c = cache_slot(a, ex->access.key);

        memcpy(c->key, ex->access.key, sizeof c->key);
        c->status = status;
        c->until_ms = clock_mono_ms() + a->cache_ms;
    }
    if (hook_verdict(status, &err) == ACCESS_YES)
        exchange_permitted(ex);
    else
        gateway_reply_error(ex, &err);
}

static const struct fetch_ops hook_ops = {
    .on_head = hook_on_head, .on_body = hook_on_body, .on_done = hook_on_done};

static enum access_verdict by_hook(struct exchange *ex, struct hf_error *err)
{
    struct access *a = ex->g->access;
    const struct cached *c;
    struct buf head = {0};

    hook_put_head(ex, &head);
    sha256(buf_data(&head), head.len, ex->access.key);
    c = cache_slot(a, ex->access.key);
    if (c->until_ms > clock_mono_ms() && crypto_equal(c->key, ex->access.key, 32)) {
        buf_wipe(&head);
        return hook_verdict(c->status, err);
    }
    ex->access.fetch = fetch_start(ex->g->server, &a->hook, &head, &hook_ops, ex, err);
    buf_wipe(&head);
    return ex->access.fetch != NULL ? ACCESS_LATER : hook_verdict(0, err);
}

void access_cancel(struct exchange *ex)
{
    fetch_cancel(ex->access.fetch);
    ex->access.fetch = NULL;
}

bool access_has_links(const struct access *a)
{
    return a->link_key.len > 0;
}

/* Checks all credentials, even after one is valid: none of them may be forwarded. */
static bool has_credentials(struct exchange *ex)
{
    bool token = by_bearer(ex), protocol = by_protocol(ex);

    return by_link(ex) || token || protocol;
}

bool access_is_hopeless(const struct exchange *ex)
{
    const struct access *a = ex->g->access;
    size_t len;

    return !ex->g->o.no_auth && !a->has_hook && header(ex, "Authorization") == NULL &&
           header(ex, "Sec-WebSocket-Protocol") == NULL && header(ex, "Cookie") == NULL &&
           link_in_query(ex->place.query, &len) == NULL;
}

enum access_verdict access_check(struct exchange *ex, struct hf_error *err)
{
    if (ex->g->o.no_auth || has_credentials(ex))
        return ACCESS_YES;
    if (ex->g->access->has_hook)
        return by_hook(ex, err);
    hf_fail(err, HF_E_unauthorized,
            ex->access.foreign_page
                ? "The cookie of a signed link is valid only for pages of the same sandbox, "
                  "and only under the sandbox's own host name."
                : "Send a token of this sandbox as Authorization: Bearer, or use a signed link.");
    return ACCESS_NO;
}
