/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth_own.h - what auth.c and auth_link.c share
 *
 * No other file includes it. Layer: transport.
 */
#ifndef HF_TRANSPORT_AUTH_OWN_H
#define HF_TRANSPORT_AUTH_OWN_H

#include "transport/auth.h"

#define AUTH_DIGEST AUTH_KEY_BYTES

struct token {
    uint8_t digest[AUTH_DIGEST];
    uint8_t key[AUTH_DIGEST]; /* of the cookies that it authorised */
    enum role role;
    uint32_t number;
    uint32_t place;        /* among those of its role, from 1 */
    int64_t until_wall_ms; /* 0: not retired */
};

struct ticket {
    uint8_t digest[AUTH_DIGEST];
    enum role role; /* ROLE_NONE: free */
    uint32_t token; /* used to request it; 0: none */
    int64_t end_wall_ms;
};

struct auth {
    struct token tokens[2 * AUTH_TOKENS_MAX]; /* retired ones follow the others */
    size_t count, retired;
    uint32_t last_number;
    struct ticket tickets[AUTH_TICKETS_MAX];
    /* Of cookies that no single token authorised; derived from all owners' tokens. */
    uint8_t key[AUTH_DIGEST];
    uint8_t link_key[AUTH_DIGEST];
    uid_t own;
    bool all;
    struct auth_links links;
};

/* auth.c */
void auth_token_set_key(struct token *t);

/* auth_link.c */
bool link_is_secret(const char *token, size_t len);
enum role link_secret_role(const struct auth *a, const char *token, size_t len,
                           struct auth_grant *g);
/* The best role among the links that the Cookie header proves; one in scope comes first. */
enum role link_cookie_role(const struct auth *a, const struct http_request *rq, const char *header,
                           struct auth_grant *g);

#endif
