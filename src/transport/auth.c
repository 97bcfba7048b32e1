/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.c - authenticates requests and determines their role
 *
 * The cookie is "ROLE.END.MAC". Its key is derived from the token that was used to request it, so a
 * new worker accepts the cookie and it becomes invalid with the token. Where no token was presented
 * (a unix socket, the link that `serve` prints) the first token with the role own takes its place;
 * if there is none, all tokens together do. Layer: transport.
 */
#include "transport/auth_own.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "transport/http1.h"
#include "transport/http_request.h"
#include "transport/origin.h"

#define DIGEST AUTH_DIGEST
#define TICKET_RANDOM 24 /* 39 characters of base32 */
#define COOKIE_MAX 128

struct auth *auth_new(void)
{
    struct auth *a = hf_xalloc(sizeof *a);

    a->own = (uid_t)-1;
    crypto_random(a->link_key, sizeof a->link_key);
    return a;
}

void auth_free(struct auth *a)
{
    if (a == NULL)
        return;
    hf_wipe(a, sizeof *a);
    free(a);
}

void auth_allow_all(struct auth *a)
{
    a->all = true;
}

void auth_set_uid(struct auth *a, uid_t own)
{
    a->own = own;
}

bool auth_uid_is_own(const struct auth *a, uid_t uid)
{
    return uid != (uid_t)-1 && (uid == 0 || uid == a->own);
}

/* --- tokens ------------------------------------------------------------------------------ */

/* The derived key reveals nothing about the token or about another token's key. */
static void derive_key(const uint8_t from[DIGEST], const uint8_t digest[DIGEST],
                       uint8_t key[DIGEST])
{
    static const char label[] = "holdfast cookie";
    uint8_t mixed[DIGEST + sizeof label], out[DIGEST];

    memcpy(mixed, digest, DIGEST);
    memcpy(mixed + DIGEST, label, sizeof label);
    hmac_sha256(from, DIGEST, mixed, sizeof mixed, out);
    memcpy(key, out, DIGEST);
    hf_wipe(mixed, sizeof mixed);
    hf_wipe(out, sizeof out);
}

/*
 * Mixes in the digest of another owner's token. The order of the tokens matters; it is the same in
 * every worker. Weaker tokens are left out: the holder of everything that a key is derived from can
 * sign with it.
 */
static void auth_turn_key(struct auth *a, const uint8_t digest[DIGEST])
{
    derive_key(a->key, digest, a->key);
}

void auth_token_set_key(struct token *t)
{
    static const uint8_t one[DIGEST] = "one token";

    derive_key(one, t->digest, t->key);
}

int auth_add_token(struct auth *a, const char *token, size_t len, enum role role)
{
    struct token *t = &a->tokens[a->count];

    if (len < AUTH_TOKEN_MIN || len > AUTH_TOKEN_MAX || role == ROLE_NONE)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] >= 0x7f)
            return -EINVAL;
    }
    if (a->count == AUTH_TOKENS_MAX || a->retired > 0)
        return -ENOSPC;
    *t = (struct token){.role = role, .number = ++a->last_number, .place = 1};
    for (size_t i = 0; i < a->count; i++)
        t->place += a->tokens[i].role == role;
    sha256(token, len, t->digest);
    auth_token_set_key(t);
    a->count++;
    if (role == ROLE_OWN)
        auth_turn_key(a, t->digest);
    return 0;
}

static enum role role_from_name(const char *s, size_t len)
{
    for (enum role r = ROLE_WATCH; r <= ROLE_OWN; r++) {
        if (strlen(http_role_name(r)) == len && memcmp(http_role_name(r), s, len) == 0)
            return r;
    }
    return ROLE_NONE;
}

static size_t trim(const char **s, size_t len)
{
    while (len > 0 && isspace((unsigned char)**s)) {
        ++*s;
        len--;
    }
    while (len > 0 && isspace((unsigned char)(*s)[len - 1]))
        len--;
    return len;
}

bool auth_line_parse(const char *s, size_t len, const char **token, size_t *token_len,
                     enum role *role)
{
    size_t word;

    *role = ROLE_OWN;
    len = trim(&s, len);
    if (len == 0 || *s == '#')
        return false;
    for (word = 0; word < len && !isspace((unsigned char)s[word]); word++)
        ;
    if (word < len) {
        *role = role_from_name(s, word);
        s += word;
        len = trim(&s, len - word);
    }
    *token = s;
    *token_len = len;
    return true;
}

static int auth_add_line(struct auth *a, const char *s, size_t len)
{
    enum role role;

    return auth_line_parse(s, len, &s, &len, &role) ? auth_add_token(a, s, len, role) : 0;
}

int auth_add_tokens(struct auth *a, const char *text, size_t len, struct hf_error *err)
{
    size_t before = a->count;
    int line = 1;

    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        int rc = auth_add_line(a, text, n);

        if (rc == -ENOSPC)
            return hf_fail(err, HF_E_bad_value, "There are more than %d tokens.", AUTH_TOKENS_MAX);
        if (rc < 0)
            return hf_fail(err, HF_E_bad_value,
                           "Line %d: write TOKEN, or ROLE TOKEN with own, type or watch; a token "
                           "has %d to %d visible ASCII characters.",
                           line, AUTH_TOKEN_MIN, AUTH_TOKEN_MAX);
        n += end != NULL;
        text += n;
        len -= n;
        line++;
    }
    if (a->count == before)
        return hf_fail(err, HF_E_bad_value,
                       "There is no token: the input is empty or has only comments, so no client "
                       "could authenticate.");
    return 0;
}

static bool token_is_over(const struct token *t)
{
    return t->until_wall_ms != 0 && t->until_wall_ms <= clock_wall_ms();
}

/* Compares with every token, even after a match, so that timing reveals nothing. */
enum role auth_token_role(const struct auth *a, const char *token, size_t len, struct auth_grant *g)
{
    uint8_t digest[DIGEST];
    enum role role = ROLE_NONE;

    sha256(token, len, digest);
    for (size_t i = 0; i < a->count + a->retired; i++) {
        const struct token *t = &a->tokens[i];

        if (crypto_equal(t->digest, digest, DIGEST) && t->role > role && !token_is_over(t)) {
            role = t->role;
            if (g != NULL)
                g->token = t->number;
        }
    }
    return role;
}

static const struct token *token_find(const struct auth *a, uint32_t number)
{
    for (size_t i = 0; i < a->count + a->retired; i++) {
        if (a->tokens[i].number == number && !token_is_over(&a->tokens[i]))
            return &a->tokens[i];
    }
    return NULL;
}

bool auth_token_lives(const struct auth *a, uint32_t token)
{
    return token_find(a, token) != NULL;
}

/* --- tickets ----------------------------------------------------------------------------- */

int auth_ticket_new(struct auth *a, enum role role, uint32_t token, int64_t lasts_ms, char *out,
                    int64_t *expires_wall_ms)
{
    int64_t now = clock_wall_ms();
    uint8_t random[TICKET_RANDOM];

    for (size_t i = 0; i < AUTH_TICKETS_MAX; i++) {
        struct ticket *t = &a->tickets[i];

        if (t->role != ROLE_NONE && t->end_wall_ms > now)
            continue;
        crypto_random(random, sizeof random);
        base32_encode(out, random, sizeof random);
        sha256(out, strlen(out), t->digest);
        t->role = role;
        t->token = token != 0 ? token : auth_own_token(a);
        t->end_wall_ms = *expires_wall_ms = now + lasts_ms;
        hf_wipe(random, sizeof random);
        return 0;
    }
    return -EAGAIN;
}

enum role auth_ticket_spend(struct auth *a, const char *ticket, uint32_t *token)
{
    int64_t now = clock_wall_ms();
    uint8_t digest[DIGEST];
    enum role role = ROLE_NONE;

    sha256(ticket, strlen(ticket), digest);
    for (size_t i = 0; i < AUTH_TICKETS_MAX; i++) {
        struct ticket *t = &a->tickets[i];

        if (t->role == ROLE_NONE || !crypto_equal(t->digest, digest, DIGEST))
            continue;
        if (t->end_wall_ms > now && (t->token == 0 || auth_token_lives(a, t->token))) {
            role = t->role;
            *token = t->token;
        }
        *t = (struct ticket){0};
    }
    return role;
}

/* --- cookies ----------------------------------------------------------------------------- */

/* "2.18f3c0d5a00." followed by the MAC of that in hex. */
static void cookie_value(const uint8_t key[DIGEST], enum role role, int64_t end_wall_ms, char *out)
{
    uint8_t mac[DIGEST];
    int len = snprintf(out, COOKIE_MAX, "%d.%llx.", (int)role, (unsigned long long)end_wall_ms);

    hmac_sha256(key, DIGEST, out, (size_t)len, mac);
    hex_encode(out + len, mac, sizeof mac);
}

/* The key of cookies that no single token authorised, such as those for root on a unix socket. */
static const uint8_t *shared_key(const struct auth *a)
{
    return auth_own_token(a) != 0 ? a->key : a->link_key;
}

void auth_cookie(const struct auth *a, enum role role, uint32_t token, bool secure, char *out)
{
    const struct token *t = token_find(a, token);
    char value[COOKIE_MAX];

    cookie_value(t != NULL ? t->key : shared_key(a), role, clock_wall_ms() + AUTH_COOKIE_MS, value);
    snprintf(out, 256, AUTH_COOKIE "=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s", value,
             AUTH_COOKIE_MS / 1000, secure ? "; Secure" : "");
}

/* Builds the expected cookie and compares: nothing is trusted before that. */
static bool cookie_fits(const uint8_t key[DIGEST], const char *value, size_t len, enum role role,
                        int64_t end_wall_ms)
{
    char expected[COOKIE_MAX];

    cookie_value(key, role, end_wall_ms, expected);
    return strlen(expected) == len && crypto_equal(expected, value, len);
}

/* The cookie does not name its token: the key identifies it. The holder of a token can derive its
 * key, so a cookie grants no more than the token does. */
static bool cookie_is_ours(const struct auth *a, const char *value, size_t len, enum role role,
                           int64_t end_wall_ms, struct auth_grant *g)
{
    for (size_t i = 0; i < a->count + a->retired; i++) {
        const struct token *t = &a->tokens[i];

        if (role <= t->role && !token_is_over(t) &&
            cookie_fits(t->key, value, len, role, end_wall_ms)) {
            g->token = t->number;
            return true;
        }
    }
    return cookie_fits(shared_key(a), value, len, role, end_wall_ms);
}

static enum role auth_cookie_role(const struct auth *a, const char *value, size_t len,
                                  struct auth_grant *g)
{
    char copy[COOKIE_MAX], *behind;
    enum role role = len > 2 && value[0] >= '0' + ROLE_WATCH && value[0] <= '0' + ROLE_OWN
                         ? (enum role)(value[0] - '0')
                         : ROLE_NONE;
    unsigned long long end_wall_ms;

    if (a->count == 0 || len >= sizeof copy || role == ROLE_NONE)
        return ROLE_NONE;
    memcpy(copy, value, len);
    copy[len] = '\0';
    end_wall_ms = strtoull(copy + 2, &behind, 16);
    if (*behind != '.' || end_wall_ms > INT64_MAX || (int64_t)end_wall_ms <= clock_wall_ms() ||
        !cookie_is_ours(a, copy, len, role, (int64_t)end_wall_ms, g))
        return ROLE_NONE;
    return role;
}

/* The value of our cookie in a Cookie header; NULL if there is none. */
static const char *find_cookie(const char *header, size_t *len)
{
    static const char name[] = AUTH_COOKIE "=";

    while (header != NULL && *header != '\0') {
        header += strspn(header, "; \t");
        *len = strcspn(header, ";");
        if (strncmp(header, name, sizeof name - 1) == 0) {
            *len -= sizeof name - 1;
            return header + sizeof name - 1;
        }
        header += *len;
    }
    return NULL;
}

/* Browsers send cookies on their own. A request that changes something must therefore also show
 * that it comes from one of our own pages. */
static bool cookie_may_count(const struct http_request *rq)
{
    const char *origin = http_header(rq, "Origin"), *site = http_header(rq, "Sec-Fetch-Site");

    if (request_is_plain_read(rq) && http_header(rq, "Upgrade") == NULL)
        return true;
    if (origin != NULL)
        return origin_is_same(origin, http_header(rq, "Host"), http_is_tls(rq));
    return site != NULL && (strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0);
}

/* --- the decision -------------------------------------------------------------------------- */

/* "token.0123456789abcdef": the first bytes of the digest of the presented secret. */
static void name_principal(struct auth_grant *g, const char *kind, const char *secret, size_t len)
{
    uint8_t digest[DIGEST];
    char hex[2 * DIGEST + 1];

    sha256(secret, len, digest);
    hex_encode(hex, digest, sizeof digest);
    snprintf(g->principal, sizeof g->principal, "%s.%.16s", kind, hex);
}

static enum role any_token_role(const struct auth *a, const char *token, size_t len,
                                struct auth_grant *g)
{
    if (link_is_secret(token, len))
        return link_secret_role(a, token, len, g);
    name_principal(g, "token", token, len);
    return auth_token_role(a, token, len, g);
}

static enum role bearer_role(const struct auth *a, const char *header, struct auth_grant *g)
{
    size_t scheme = strcspn(header, " ");
    const char *token = header + scheme + strspn(header + scheme, " ");

    if (scheme != 6 || strncasecmp(header, "Bearer", 6) != 0)
        return ROLE_NONE;
    return any_token_role(a, token, strlen(token), g);
}

static enum role subprotocol_role(const struct auth *a, const char *list, struct auth_grant *g)
{
    static const char prefix[] = AUTH_SUBPROTOCOL;
    enum role role = ROLE_NONE;

    while (list != NULL && *list != '\0') {
        struct buf token = {0};
        size_t len;

        list += strspn(list, ", \t");
        len = strcspn(list, ", \t");
        if (len > sizeof prefix - 1 && strncmp(list, prefix, sizeof prefix - 1) == 0 &&
            base64_decode(&token, list + sizeof prefix - 1, len - (sizeof prefix - 1)))
            role = any_token_role(a, buf_data(&token), token.len, g);
        buf_wipe(&token);
        if (role != ROLE_NONE)
            break;
        list += len;
    }
    return role;
}

/* The daemon's own cookie comes first: a link must not reduce the rights of an owner. */
static enum role any_cookie_role(const struct auth *a, const struct http_request *rq,
                                 struct auth_grant *g)
{
    const char *header = http_header(rq, "Cookie"), *cookie;
    enum role role = ROLE_NONE;
    size_t len;

    if (header == NULL || !cookie_may_count(rq))
        return ROLE_NONE;
    cookie = find_cookie(header, &len);
    if (cookie != NULL)
        role = auth_cookie_role(a, cookie, len, g);
    if (role == ROLE_NONE)
        return link_cookie_role(a, rq, header, g);
    name_principal(g, "cookie", cookie, len);
    return role;
}

enum role auth_role(const struct auth *a, const struct http_request *rq, uid_t uid,
                    struct auth_grant *g)
{
    const char *bearer = http_header(rq, "Authorization");
    enum role role;

    *g = (struct auth_grant){0};
    if (a->all)
        return ROLE_OWN;
    role = auth_ways_role(a, rq, g);
    if (role != ROLE_NONE)
        return role;
    if (bearer != NULL)
        return bearer_role(a, bearer, g); /* a cookie does not make up for a wrong token */
    role = any_cookie_role(a, rq, g);
    if (role == ROLE_NONE && http_is_websocket(rq))
        role = subprotocol_role(a, http_header(rq, "Sec-WebSocket-Protocol"), g);
    if (role == ROLE_NONE && auth_uid_is_own(a, uid)) {
        *g = (struct auth_grant){0};
        role = ROLE_OWN;
    }
    return role;
}
