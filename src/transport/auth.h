/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - authenticates requests and determines their role
 *
 * Sources, in order: `Authorization: Bearer`, the cookie that a one-time ticket set, the WebSocket
 * subprotocol holdfast.bearer.BASE64URL, and on a unix socket the peer's uid (root and the daemon's
 * own uid are `own`). Tokens are stored as SHA-256 digests and compared in constant time. The
 * cookie is an HMAC over its end time, so it survives a new worker.
 *
 * Tokens can be replaced while requests are being served. Each token has a number that this struct
 * never reuses, and everything that a token authorised records that number: tickets and cookies
 * become invalid with their token, and a callback reports its end so that open connections can be
 * cut. Layer: transport.
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
/* Lines of "TOKEN" or "ROLE TOKEN", at least one of them; '#' starts a comment. */
int auth_add_tokens(struct auth *a, const char *text, size_t len, struct hf_error *err);
/* Parses one such line; false if it has no token. Borrows from the line. */
bool auth_line_parse(const char *s, size_t len, const char **token, size_t *token_len,
                     enum role *role);
void auth_set_uid(struct auth *a, uid_t own);
bool auth_uid_is_own(const struct auth *a, uid_t uid); /* a unix peer that needs no token */

/* --- replacing tokens ---------------------------------------------------------------- */
#define AUTH_KEY_BYTES 32
/* The key of link cookies, which outlive tokens; random until it is set. */
void auth_set_link_key(struct auth *a, const uint8_t key[AUTH_KEY_BYTES]);
/* Adds a replaced token that stays valid until then. Beyond AUTH_TOKENS_MAX it is ignored. */
void auth_add_retired(struct auth *a, const char *token, size_t len, enum role role,
                      int64_t until_wall_ms);
typedef void auth_ended_fn(void *arg, uint32_t token);
/* Replaces the tokens with those of `fresh`. Tokens that stay keep their number; the end of the
 * others is reported. Returns true if anything changed. */
bool auth_replace_tokens(struct auth *a, const struct auth *fresh, auth_ended_fn *ended, void *arg);
/* Reports the end of retired tokens that have expired. Returns when the next one expires; 0:
 * never. */
int64_t auth_end_retired(struct auth *a, auth_ended_fn *ended, void *arg);
bool auth_token_lives(const struct auth *a, uint32_t token);
uint32_t auth_own_token(const struct auth *a); /* the first with role own; 0: none */

/* What may be disclosed about a token. Its name is its role and its place among the tokens of that
 * role, "own-1", so it is the same before and after a rotation. */
#define AUTH_NAME_MAX 16
struct auth_token_view {
    char name[AUTH_NAME_MAX];
    enum role role;
    int64_t until_wall_ms; /* 0: not retired */
};
bool auth_token_at(const struct auth *a, size_t i, struct auth_token_view *out);

#define AUTH_COOKIE "holdfast"
#define AUTH_SUBPROTOCOL "holdfast.bearer." /* followed by the token in base64url */
#define AUTH_TOKEN_MIN 16
#define AUTH_TOKEN_MAX 512
#define AUTH_TOKENS_MAX 64
#define AUTH_TICKET_MS 60000        /* a ticket that was just requested */
#define AUTH_TICKET_START_MS 600000 /* the ticket that `serve` prints: it may be read later */
#define AUTH_COOKIE_MS (12LL * 3600 * 1000)
#define AUTH_TICKETS_MAX 64
#define AUTH_TICKET_BYTES 40
/* Creates a single-use ticket for a role. `token` is the requester's token; with 0 the ticket
 * belongs to auth_own_token(). out holds AUTH_TICKET_BYTES. -EAGAIN: too many open. */
int auth_ticket_new(struct auth *a, enum role role, uint32_t token, int64_t lasts_ms, char *out,
                    int64_t *expires_wall_ms);
/* Redeems a ticket and stores its token; ROLE_NONE if it is unknown, redeemed or expired. */
enum role auth_ticket_spend(struct auth *a, const char *ticket, uint32_t *token);
/* Value of a Set-Cookie header for this role, valid as long as the token. out: 256 bytes. */
void auth_cookie(const struct auth *a, enum role role, uint32_t token, bool secure, char *out);

/* The role of a token; all are compared, in constant time. g->token is set to its number; g may be
 * NULL. */
enum role auth_token_role(const struct auth *a, const char *token, size_t len,
                          struct auth_grant *g);
/* Applies the auth_ways of the request's route table; auth_ways.c. */
enum role auth_ways_role(const struct auth *a, const struct http_request *rq, struct auth_grant *g);
/*
 * Links are credentials that another module stores: secrets that begin with AUTH_LINK_PREFIX, each
 * valid for one purpose. A grant is that module's own name for a link: letters, digits, '.' and
 * '_', at most AUTH_GRANT_MAX of them.
 */
#define AUTH_LINK_PREFIX "hfl_"
#define AUTH_LINK_COOKIE_MAX 320
struct auth_links {
    /* What the secret allows now, and its grant. */
    enum role (*by_secret)(void *arg, const char *secret, size_t len, char *grant);
    /* What a grant that was accepted earlier allows now. */
    enum role (*by_grant)(void *arg, const char *grant);
    /* Is the request within the scope of this grant? */
    bool (*fits)(void *arg, const struct http_request *rq, const char *grant);
    void (*use)(void *arg, const char *grant); /* counts one more use of the secret */
    void *arg;
};
void auth_set_links(struct auth *a, const struct auth_links *links);
/* A browser opens a link: counts a use and returns its cookie (AUTH_LINK_COOKIE_MAX bytes) and
 * grant (AUTH_GRANT_MAX + 1). ROLE_NONE: the link does not exist, or no longer. */
enum role auth_link_open(const struct auth *a, const char *secret, bool secure, char *cookie,
                         char *grant);
bool auth_grant_fits(const struct auth *a, const struct http_request *rq,
                     const struct auth_grant *g);
void auth_grant_use(const struct auth *a, const struct auth_grant *g);

/* The decision for a request; ROLE_NONE: 401. uid: unix peer or (uid_t)-1. If the role comes from a
 * link, g->id is set, and the role is valid only within the link's scope. */
enum role auth_role(const struct auth *a, const struct http_request *rq, uid_t uid,
                    struct auth_grant *g);

#endif
