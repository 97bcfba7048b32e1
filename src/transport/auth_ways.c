/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth_ways.c - finds tokens where a platform's own clients put them
 *
 * Layer: transport.
 */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/text.h"
#include "transport/auth.h"
#include "transport/http_request.h"

#define NAME_MAX_BYTES 64

typedef const char *find_fn(const struct http_request *rq, const char *name);
typedef enum role role_fn(const struct auth *a, const char *text, size_t len, struct auth_grant *g);

/* The best role that any of the named values has. */
static enum role names_role(const struct auth *a, const struct http_request *rq, const char *names,
                            find_fn *find, role_fn *role_of, struct auth_grant *g)
{
    enum role best = ROLE_NONE;

    while (names != NULL && *names != '\0') {
        size_t len = strcspn(names, " ");
        char name[NAME_MAX_BYTES];

        if (len > 0 && len < sizeof name) {
            struct auth_grant one = {0};
            const char *value;
            enum role role;

            memcpy(name, names, len);
            name[len] = '\0';
            value = find(rq, name);
            role = value == NULL ? ROLE_NONE : role_of(a, value, strlen(value), &one);
            if (role > best) {
                best = role;
                *g = one;
            }
        }
        names += len + strspn(names + len, " ");
    }
    return best;
}

/* "USER:PASSWORD" in base64. Platforms differ in which of the two is the token; either may be. */
static enum role pair_role(const struct auth *a, const char *text, size_t len, struct auth_grant *g)
{
    enum role role = ROLE_NONE;
    struct buf plain = {0};
    const char *colon;

    if (base64_decode(&plain, text, len) && plain.len > 0 &&
        (colon = memchr(buf_data(&plain), ':', plain.len)) != NULL) {
        size_t user = (size_t)(colon - buf_data(&plain));

        role = auth_token_role(a, colon + 1, plain.len - user - 1, g);
        if (role == ROLE_NONE)
            role = auth_token_role(a, buf_data(&plain), user, g);
    }
    buf_wipe(&plain);
    return role;
}

static enum role basic_role(const struct auth *a, const struct http_request *rq,
                            struct auth_grant *g)
{
    const char *header = http_header(rq, "Authorization");

    if (header == NULL || strncasecmp(header, "Basic ", 6) != 0)
        return ROLE_NONE;
    header += 6 + strspn(header + 6, " ");
    return pair_role(a, header, strlen(header), g);
}

/* "SCHEME TOKEN"; the scheme is case-insensitive. */
static enum role scheme_role(const struct auth *a, const struct http_request *rq,
                             const char *scheme, struct auth_grant *g)
{
    const char *header = http_header(rq, "Authorization");
    size_t len = strlen(scheme);

    if (header == NULL || strncasecmp(header, scheme, len) != 0 || header[len] != ' ')
        return ROLE_NONE;
    header += len + strspn(header + len, " ");
    return auth_token_role(a, header, strlen(header), g);
}

/* A credential made for a token's holder, such as a ticket, is invalid without the token. If the
 * token is not known, the first token with the role own stands in. */
static enum role own_role(const struct auth *a, const struct http_request *rq, struct auth_grant *g)
{
    enum role role = rq->table->ways->upgrade_own(rq, g);

    if (role == ROLE_NONE || g->token == 0)
        g->token = role == ROLE_NONE ? 0 : auth_own_token(a);
    else if (!auth_token_lives(a, g->token))
        role = ROLE_NONE;
    return role;
}

enum role auth_ways_role(const struct auth *a, const struct http_request *rq, struct auth_grant *g)
{
    const struct auth_ways *w = rq->table == NULL ? NULL : rq->table->ways;
    enum role role = ROLE_NONE;

    if (w == NULL)
        return ROLE_NONE;
    role = names_role(a, rq, w->headers, http_header, auth_token_role, g);
    if (role == ROLE_NONE)
        role = names_role(a, rq, w->query, http_query, auth_token_role, g);
    if (role == ROLE_NONE)
        role = names_role(a, rq, w->basic_query, http_query, pair_role, g);
    if (role == ROLE_NONE && http_header(rq, "Upgrade") != NULL)
        role = names_role(a, rq, w->upgrade_query, http_query, auth_token_role, g);
    if (role == ROLE_NONE && w->upgrade_own != NULL && http_is_websocket(rq))
        role = own_role(a, rq, g);
    if (role == ROLE_NONE && w->basic)
        role = basic_role(a, rq, g);
    if (role == ROLE_NONE && w->scheme != NULL)
        role = scheme_role(a, rq, w->scheme, g);
    return role;
}
