/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_interactive.c - POST …/interactive: the address of a terminal, and a token for it
 *
 * The token is part of an address, so it is not one of the daemon's: it is valid for a minute and
 * for this session's terminals. It is signed with a token of full rights, so every worker can
 * verify it, and no holder of fewer rights can forge one. Layer: dialects.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/text.h"
#include "dialects/vercel/vercel.h"
#include "dialects/vercel/vercel_limits.h"
#include "transport/auth.h"

#define DIGEST_TEXT 64

/* The first token with full rights; NULL: none to sign with. */
static const char *signing_key(const struct vercel *v, size_t *len)
{
    const char *at = buf_data(v->base.host.tokens), *token;
    size_t left = v->base.host.tokens->len;
    enum role role;

    while (left > 0) {
        const char *end = memchr(at, '\n', left);
        size_t n = end != NULL ? (size_t)(end - at) + 1 : left;

        if (auth_line_parse(at, n, &token, len, &role) && role >= ROLE_OWN)
            return token;
        at += n;
        left -= n;
    }
    return NULL;
}

/* The HMAC of what the token grants, in hex. False: no key. */
static bool sign(const struct vercel *v, const char *session, int64_t until_ms,
                 char out[DIGEST_TEXT + 1])
{
    char text[100];
    uint8_t digest[32];
    size_t key_len;
    const char *key = signing_key(v, &key_len);
    int len =
        snprintf(text, sizeof text, "vercel interactive %.40s %lld", session, (long long)until_ms);

    if (key == NULL)
        return false;
    hmac_sha256(key, key_len, text, (size_t)len, digest);
    hex_encode(out, digest, sizeof digest);
    return true;
}

/* "UNTIL.HEX" */
enum role vc_token_role(const struct http_request *rq, struct auth_grant *g)
{
    const char *token = http_query(rq, "token"), *session = strrchr(http_path(rq), '/'), *dot;
    char want[DIGEST_TEXT + 1], digits[24];
    int64_t until;

    (void)g; /* the rights of the signing token apply, which is the default */
    dot = token != NULL ? strchr(token, '.') : NULL;
    if (dot == NULL || strlen(dot + 1) != DIGEST_TEXT || (size_t)(dot - token) >= sizeof digits)
        return ROLE_NONE;
    snprintf(digits, sizeof digits, "%.*s", (int)(dot - token), token);
    if (!text_to_i64(digits, 0, INT64_MAX, &until) || until < clock_wall_ms() ||
        !sign(vc_of(rq), session + 1, until, want))
        return ROLE_NONE;
    return crypto_equal(want, dot + 1, DIGEST_TEXT) ? ROLE_OWN : ROLE_NONE;
}

/* --- the address ------------------------------------------------------------------------- */

/* The path before the API's own: where the dialect is served. */
static size_t mount_len(const struct http_request *rq)
{
    const char *path = http_path(rq), *at = path, *found = path;

    while ((at = strstr(at, "/api/v2/sandboxes/")) != NULL)
        found = at++;
    return (size_t)(found - path);
}

/* The address that the client used; a gateway passes on the one that it was reached by. */
static void put_url(struct buf *url, const struct http_request *rq, const char *session)
{
    const char *host = http_header(rq, "X-Forwarded-Host");
    const char *proto = http_header(rq, "X-Forwarded-Proto");
    const char *prefix = http_header(rq, "X-Forwarded-Prefix");
    bool tls = proto != NULL ? strcmp(proto, "https") == 0 : http_is_tls(rq);

    if (host == NULL)
        host = http_header(rq, "Host");
    buf_printf(url, "%s://%s%s", tls ? "wss" : "ws", host != NULL ? host : "localhost",
               prefix != NULL ? prefix : "");
    buf_put(url, http_path(rq), mount_len(rq));
    buf_printf(url, "/interactive/%s", session);
}

void vc_interactive(struct http_request *rq)
{
    struct vercel *v = vc_of(rq);
    struct vc_sandbox *b = vc_session(rq);
    int64_t until = clock_wall_ms() + VERCEL_TOKEN_MS;
    char digest[DIGEST_TEXT + 1] = "none", token[DIGEST_TEXT + 32]; /* "none": no token required */
    struct buf url = {0};
    struct json_out o;

    if (b == NULL)
        return;
    (void)sign(v, b->session, until, digest);
    snprintf(token, sizeof token, "%lld.%s", (long long)until, digest);
    put_url(&url, rq, b->session);
    o = dialect_reply_open(&v->base);
    json_kstr(&o, "url", buf_cstr(&url));
    json_kstr(&o, "token", token);
    buf_fini(&url);
    http_add_header(rq, "Cache-Control", "no-store");
    dialect_reply_send(rq, 200, &o);
}
