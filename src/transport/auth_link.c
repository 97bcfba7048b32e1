/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth_link.c - authenticates requests that use a link
 *
 * struct auth_links connects to the module that stores the links. A browser that has opened a link
 * gets a cookie "holdfast-link-GRANT=END.MAC". It proves that the use was counted, so that it is
 * not counted again, and it is worthless once the link has ended. Its key is not derived from a
 * token, because a link outlives the token it was created with. Each link has a cookie of its own,
 * so that two shared terminals can be open side by side. Layer: transport.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/text.h"
#include "transport/auth_own.h"

#define COOKIE_PREFIX "holdfast-link-"
#define VALUE_MAX 96 /* end and MAC */

void auth_set_links(struct auth *a, const struct auth_links *links)
{
    a->links = *links;
}

bool link_is_secret(const char *token, size_t len)
{
    size_t prefix = strlen(AUTH_LINK_PREFIX);

    return len > prefix && memcmp(token, AUTH_LINK_PREFIX, prefix) == 0;
}

enum role link_secret_role(const struct auth *a, const char *token, size_t len,
                           struct auth_grant *g)
{
    enum role role = ROLE_NONE;

    g->counts = true;
    if (a->links.by_secret != NULL)
        role = a->links.by_secret(a->links.arg, token, len, g->id);
    g->refused = role == ROLE_NONE;
    return role;
}

bool auth_grant_fits(const struct auth *a, const struct http_request *rq,
                     const struct auth_grant *g)
{
    return a->links.fits != NULL && a->links.fits(a->links.arg, rq, g->id);
}

void auth_grant_use(const struct auth *a, const struct auth_grant *g)
{
    if (g->id[0] != '\0' && g->counts)
        a->links.use(a->links.arg, g->id);
}

/* --- cookies ---------------------------------------------------------------------- */

/* "18f3c0d5a00." followed by the MAC of that and of the link's grant, in hex. */
static void cookie_value(const struct auth *a, const char *grant, int64_t end_wall_ms, char *out)
{
    char signed_text[AUTH_GRANT_MAX + 64];
    uint8_t mac[AUTH_DIGEST];
    int len = snprintf(out, VALUE_MAX, "%llx.", (unsigned long long)end_wall_ms);
    int n = snprintf(signed_text, sizeof signed_text, "link %s %s", grant, out);

    hmac_sha256(a->link_key, AUTH_DIGEST, signed_text, (size_t)n, mac);
    hex_encode(out + len, mac, sizeof mac);
}

static bool cookie_is_ours(const struct auth *a, const char *grant, const char *value, size_t len)
{
    char copy[VALUE_MAX], expected[VALUE_MAX], *behind;
    unsigned long long end_wall_ms;

    if (a->count == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, value, len);
    copy[len] = '\0';
    end_wall_ms = strtoull(copy, &behind, 16);
    if (*behind != '.' || end_wall_ms > INT64_MAX)
        return false;
    cookie_value(a, grant, (int64_t)end_wall_ms, expected);
    return strlen(expected) == len && crypto_equal(expected, copy, len) &&
           (int64_t)end_wall_ms > clock_wall_ms();
}

/* Checks one cookie of the header: whether it is a link's, and what it allows. */
static enum role cookie_role(const struct auth *a, const char *cookie, size_t len,
                             struct auth_grant *g)
{
    size_t prefix = strlen(COOKIE_PREFIX), name;
    const char *eq = memchr(cookie, '=', len);
    enum role role;

    if (eq == NULL || len < prefix || memcmp(cookie, COOKIE_PREFIX, prefix) != 0)
        return ROLE_NONE;
    name = (size_t)(eq - cookie) - prefix;
    if (name > AUTH_GRANT_MAX)
        return ROLE_NONE;
    memcpy(g->id, cookie + prefix, name);
    g->id[name] = '\0';
    if (!cookie_is_ours(a, g->id, eq + 1, len - prefix - name - 1))
        return ROLE_NONE;
    role = a->links.by_grant != NULL ? a->links.by_grant(a->links.arg, g->id) : ROLE_NONE;
    g->refused = role == ROLE_NONE;
    return role;
}

enum role link_cookie_role(const struct auth *a, const struct http_request *rq, const char *header,
                           struct auth_grant *g)
{
    enum role best = ROLE_NONE;

    while (header != NULL && *header != '\0') {
        struct auth_grant one = {0};
        enum role role;
        size_t len;

        header += strspn(header, "; \t");
        len = strcspn(header, ";");
        role = cookie_role(a, header, len, &one);
        header += len;
        if (role != ROLE_NONE && auth_grant_fits(a, rq, &one)) {
            *g = one;
            return role;
        }
        if (role != ROLE_NONE || (one.refused && best == ROLE_NONE)) {
            *g = one;
            best = role;
        }
    }
    return best;
}

enum role auth_link_open(const struct auth *a, const char *secret, bool secure, char *cookie,
                         char *grant)
{
    int64_t ms = AUTH_COOKIE_MS;
    struct auth_grant g = {0};
    enum role role = ROLE_NONE;
    char value[VALUE_MAX];

    if (link_is_secret(secret, strlen(secret)))
        role = link_secret_role(a, secret, strlen(secret), &g);
    if (role == ROLE_NONE)
        return role;
    auth_grant_use(a, &g);
    cookie_value(a, g.id, clock_wall_ms() + ms, value);
    snprintf(cookie, AUTH_LINK_COOKIE_MAX,
             COOKIE_PREFIX "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s", g.id, value,
             (long long)(ms / 1000), secure ? "; Secure" : "");
    memcpy(grant, g.id, sizeof g.id);
    return role;
}
