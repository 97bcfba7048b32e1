/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth_own.h - what auth.c and auth_link.c share; nobody else includes it. Layer: transport.
 */
#ifndef HF_TRANSPORT_AUTH_OWN_H
#define HF_TRANSPORT_AUTH_OWN_H

#include "transport/auth.h"

#define AUTH_DIGEST 32

struct token {
    uint8_t digest[AUTH_DIGEST];
    enum role role;
};

struct ticket {
    uint8_t digest[AUTH_DIGEST];
    enum role role; /* ROLE_NONE: free */
    int64_t end_wall_ms;
};

struct auth {
    struct token tokens[AUTH_TOKENS_MAX];
    size_t count;
    struct ticket tickets[AUTH_TICKETS_MAX];
    uint8_t key[AUTH_DIGEST]; /* of the cookies */
    uid_t own;
    bool all;
    struct auth_links links;
};

/* auth_link.c */
bool link_is_secret(const char *token, size_t len);
enum role link_secret_role(const struct auth *a, const char *token, size_t len,
                           struct auth_grant *g);
/* Of the links that the Cookie header proves; one for the process asked for comes first. */
enum role link_cookie_role(const struct auth *a, const struct http_request *rq, const char *header,
                           struct auth_grant *g);

#endif
