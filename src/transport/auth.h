/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - who is asking, and what they may do
 *
 * Sources, in order: `Authorization: Bearer`, the cookie that a one-time
 * ticket set, the WebSocket subprotocol holdfast.bearer.BASE64URL, and on a unix
 * socket the peer's uid (root and the daemon's own uid are `own`). Tokens are
 * kept as SHA-256 digests and compared in constant time; the cookie is an HMAC
 * over its end time, so it survives a new worker. Layer: transport.
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
void auth_set_uid(struct auth *a, uid_t own);

#define AUTH_COOKIE "holdfast"
#define AUTH_SUBPROTOCOL "holdfast.bearer." /* followed by the token in base64url */
#define AUTH_TOKEN_MIN 16
#define AUTH_TOKEN_MAX 512
#define AUTH_TOKENS_MAX 64
#define AUTH_TICKET_MS 60000
#define AUTH_COOKIE_MS (12LL * 3600 * 1000)
#define AUTH_TICKETS_MAX 64
/* A single-use ticket for a role, good for AUTH_TICKET_MS. out holds 40 bytes. -EAGAIN: too many open. */
int auth_ticket_new(struct auth *a, enum role role, char *out, int64_t *expires_wall_ms);
/* Spends it; ROLE_NONE if unknown, spent or too old. */
enum role auth_ticket_spend(struct auth *a, const char *ticket);
/* Value of a Set-Cookie header for this role. out: 256 bytes. */
void auth_cookie(const struct auth *a, enum role role, bool secure, char *out);

/* The role that belongs to a token; every one is compared, in constant time. */
enum role auth_token_role(const struct auth *a, const char *token, size_t len);
/* What the ways of the request's table say; auth_ways.c. */
enum role auth_ways_role(const struct auth *a, const struct http_request *rq);
/* The decision for a request; ROLE_NONE: 401. uid: unix peer or (uid_t)-1. */
enum role auth_role(const struct auth *a, const struct http_request *rq, uid_t uid);

#endif
