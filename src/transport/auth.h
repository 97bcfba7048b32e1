/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - who is asking, and what they may do
 *
 * Sources, in order: `Authorization: Bearer`, the cookie that a one-time
 * ticket set, the WebSocket subprotocol holdfast.bearer.BASE64URL, and on a unix
 * socket the peer's uid (root and the daemon's own uid are `own`). Tokens are
 * kept as SHA-256 digests and compared in constant time; the cookie is an HMAC
 * over its end time, so it survives a new worker.
 *
 * Tokens may be replaced while requests go on. Each has a number, which is never used again by
 * this struct, and everything that a token let in notes it: tickets and cookies die with their
 * token, and whoever is told of its end can cut what is left. Layer: transport.
 */
#ifndef HF_TRANSPORT_AUTH_H
#define HF_TRANSPORT_AUTH_H

#include "transport/http.h"

struct auth;

struct auth *auth_new(void);
void auth_free(struct auth *a);
void auth_allow_all(struct auth *a); /* --no-auth */
/* -EINVAL: too short or long, bad characters; -ENOSPC: too many. */
int auth_add_token(struct auth *a, const char *token, size_t len, enum role role);
/* Lines of "TOKEN" or "ROLE TOKEN", at least one of them; '#' comments. */
int auth_add_tokens(struct auth *a, const char *text, size_t len, struct hf_error *err);
/* One such line; false: there is no token on it. Borrows from the line. */
bool auth_line_parse(const char *s, size_t len, const char **token, size_t *token_len,
                     enum role *role);
void auth_set_uid(struct auth *a, uid_t own);
bool auth_uid_is_own(const struct auth *a, uid_t uid); /* of a unix peer: it needs no token */

/* --- replacing tokens ---------------------------------------------------------------- */
#define AUTH_KEY_BYTES 32
/* Of the cookies of links, which outlive tokens; random until it is set. */
void auth_set_link_key(struct auth *a, const uint8_t key[AUTH_KEY_BYTES]);
/* One that was replaced and is still good until then. Beyond AUTH_TOKENS_MAX it is not. */
void auth_add_retired(struct auth *a, const char *token, size_t len, enum role role,
                      int64_t until_wall_ms);
typedef void auth_ended_fn(void *arg, uint32_t token);
/* Takes the tokens of `fresh` in place of its own. Those that stay keep their number, of the
 * others the end is told. True: something has changed. */
bool auth_replace_tokens(struct auth *a, const struct auth *fresh, auth_ended_fn *ended, void *arg);
/* Tells the end of retired ones whose time is over; when the next one's will be, 0: never. */
int64_t auth_end_retired(struct auth *a, auth_ended_fn *ended, void *arg);
bool auth_token_lives(const struct auth *a, uint32_t token);
uint32_t auth_own_token(const struct auth *a); /* the first that may do everything; 0: none */

/* What may be told of a token. Its name is its role and its place among those of that role,
 * "own-1", so it is the same before and after a rotation. */
#define AUTH_NAME_MAX 16
struct auth_token_view {
    char name[AUTH_NAME_MAX];
    enum role role;
    int64_t until_wall_ms; /* 0: it is not retired */
};
bool auth_token_at(const struct auth *a, size_t i, struct auth_token_view *out);

#define AUTH_COOKIE "holdfast"
#define AUTH_SUBPROTOCOL "holdfast.bearer." /* followed by the token in base64url */
#define AUTH_TOKEN_MIN 16
#define AUTH_TOKEN_MAX 512
#define AUTH_TOKENS_MAX 64
#define AUTH_TICKET_MS 60000        /* one that somebody has just asked for */
#define AUTH_TICKET_START_MS 600000 /* the one that `serve` prints: it may be read later */
#define AUTH_COOKIE_MS (12LL * 3600 * 1000)
#define AUTH_TICKETS_MAX 64
#define AUTH_TICKET_BYTES 40
/* A single-use ticket for a role. `token`: whose holder asks; 0: nobody's, and then it is worth
 * what auth_own_token() is. out holds AUTH_TICKET_BYTES. -EAGAIN: too many open. */
int auth_ticket_new(struct auth *a, enum role role, uint32_t token, int64_t lasts_ms, char *out,
                    int64_t *expires_wall_ms);
/* Spends it, and tells whose it was; ROLE_NONE if unknown, spent or too old. */
enum role auth_ticket_spend(struct auth *a, const char *ticket, uint32_t *token);
/* Value of a Set-Cookie header for this role, good for as long as the token. out: 256 bytes. */
void auth_cookie(const struct auth *a, enum role role, uint32_t token, bool secure, char *out);

/* The role that belongs to a token; every one is compared, in constant time. g->token is its
 * number; g may be NULL. */
enum role auth_token_role(const struct auth *a, const char *token, size_t len,
                          struct auth_grant *g);
/* What the ways of the request's table say; auth_ways.c. */
enum role auth_ways_role(const struct auth *a, const struct http_request *rq, struct auth_grant *g);
/*
 * Links are credentials that somebody else keeps: secrets that begin with
 * AUTH_LINK_PREFIX, each good for one thing. A grant is the keeper's own name for
 * a link: letters, digits, '.' and '_', at most AUTH_GRANT_MAX of them.
 */
#define AUTH_LINK_PREFIX "hfl_"
#define AUTH_LINK_COOKIE_MAX 320
struct auth_links {
    /* What the secret allows now, and its grant. */
    enum role (*by_secret)(void *arg, const char *secret, size_t len, char *grant);
    /* What one allows that was let in before. */
    enum role (*by_grant)(void *arg, const char *grant);
    /* Is the request about what this grant is good for? */
    bool (*fits)(void *arg, const struct http_request *rq, const char *grant);
    void (*use)(void *arg, const char *grant); /* one more use of the secret */
    void *arg;
};
void auth_set_links(struct auth *a, const struct auth_links *links);
/* A browser opens a link: counts a use and gives its cookie (AUTH_LINK_COOKIE_MAX bytes) and grant
 * (AUTH_GRANT_MAX + 1). ROLE_NONE: there is no such link, or no longer. */
enum role auth_link_open(const struct auth *a, const char *secret, bool secure, char *cookie,
                         char *grant);
bool auth_grant_fits(const struct auth *a, const struct http_request *rq,
                     const struct auth_grant *g);
void auth_grant_use(const struct auth *a, const struct auth_grant *g);

/* The decision for a request; ROLE_NONE: 401. uid: unix peer or (uid_t)-1. g->id is set if the
 * role is that of a link, and then holds only where the link fits. */
enum role auth_role(const struct auth *a, const struct http_request *rq, uid_t uid,
                    struct auth_grant *g);

#endif
