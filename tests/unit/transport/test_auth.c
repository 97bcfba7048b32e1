/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_auth.c - who is asking, and what they may do
 */
#include "transport/auth.h"

#include <errno.h>

#include "test.h"

#include "base/clock.h"
#include "transport/http_request.h"

#define OWN "own-token-0123456789"
#define WATCH "watch-token-0123456789"

static uint32_t whose;

static struct auth *new_auth(void)
{
    struct auth *a = auth_new();

    REQUIRE(auth_add_token(a, OWN, strlen(OWN), ROLE_OWN) == 0);
    REQUIRE(auth_add_token(a, WATCH, strlen(WATCH), ROLE_WATCH) == 0);
    return a;
}

/* The role of a request given by its method, target and headers, at a table with these ways. */
static enum role ask_at(const struct auth *a, const struct auth_ways *ways, uid_t uid,
                        const char *request, const char *headers)
{
    struct route_table table = {.prefix = "", .ways = ways};
    struct http_server server = {
        .o = {.header_bytes = 4096, .header_count = 100, .uri_bytes = 100}};
    struct http_request *rq;
    struct buf b = {0};
    enum role role;
    size_t used;

    rq = request_new(&server, NULL);
    buf_printf(&b, "%s HTTP/1.1\r\nHost: localhost:7070\r\n%s\r\n", request, headers);
    REQUIRE(http1_feed(&rq->parser, buf_data(&b), b.len, &used) == HTTP1_HEAD);
    REQUIRE(request_parse_target(rq, NULL) == 0);
    rq->table = &table;
    role = auth_role(a, rq, uid, &(struct auth_grant){0});
    request_free(rq);
    buf_fini(&b);
    return role;
}

static enum role ask_as(const struct auth *a, uid_t uid, const char *method, const char *headers)
{
    char request[32];

    snprintf(request, sizeof request, "%s /", method);
    return ask_at(a, NULL, uid, request, headers);
}

static enum role request(const struct auth *a, const char *headers)
{
    return ask_as(a, (uid_t)-1, "GET", headers);
}

TEST(a_bearer_token_gives_its_role)
{
    struct auth *a = new_auth();

    EXPECT_INT(request(a, "Authorization: Bearer " OWN "\r\n"), ROLE_OWN);
    EXPECT_INT(request(a, "authorization: bearer   " WATCH "\r\n"), ROLE_WATCH);
    EXPECT_INT(request(a, "Authorization: Bearer " OWN "x\r\n"), ROLE_NONE);
    EXPECT_INT(request(a, "Authorization: Bearer\r\n"), ROLE_NONE);
    EXPECT_INT(request(a, "Authorization: Basic " OWN "\r\n"), ROLE_NONE);
    EXPECT_INT(request(a, "Authorization: " OWN "\r\n"), ROLE_NONE);
    EXPECT_INT(request(a, ""), ROLE_NONE);
    auth_free(a);
}

TEST(without_auth_everybody_owns)
{
    struct auth *a = auth_new();

    EXPECT_INT(request(a, ""), ROLE_NONE);
    auth_allow_all(a);
    EXPECT_INT(request(a, ""), ROLE_OWN);
    EXPECT_INT(request(a, "Authorization: Bearer wrong\r\n"), ROLE_OWN);
    auth_free(a);
}

TEST(tokens_that_can_be_guessed_are_refused)
{
    struct auth *a = auth_new();
    char longer[600];

    memset(longer, 'x', sizeof longer);
    EXPECT_INT(auth_add_token(a, "short", 5, ROLE_OWN), -EINVAL);
    EXPECT_INT(auth_add_token(a, "", 0, ROLE_OWN), -EINVAL);
    EXPECT_INT(auth_add_token(a, longer, sizeof longer, ROLE_OWN), -EINVAL);
    EXPECT_INT(auth_add_token(a, "with space 0123456789", 21, ROLE_OWN), -EINVAL);
    EXPECT_INT(auth_add_token(a, OWN, strlen(OWN), ROLE_NONE), -EINVAL);
    auth_free(a);
}

TEST(a_token_file_has_a_token_per_line)
{
    static const char text[] =
        "# comment\n\n  " OWN "  \r\nwatch\t" WATCH "\ntype other-token-0123456789";
    struct auth *a = auth_new();
    struct hf_error err = {0};

    EXPECT_INT(auth_add_tokens(a, text, sizeof text - 1, NULL), 0);
    EXPECT_INT(request(a, "Authorization: Bearer " OWN "\r\n"), ROLE_OWN);
    EXPECT_INT(request(a, "Authorization: Bearer " WATCH "\r\n"), ROLE_WATCH);
    EXPECT_INT(request(a, "Authorization: Bearer other-token-0123456789\r\n"), ROLE_TYPE);
    EXPECT_INT(auth_add_tokens(a, "ok-token-0123456789\nboss " OWN "\n", 45, &err), -EINVAL);
    EXPECT(strstr(err.detail, "Line 2") != NULL);
    EXPECT(strstr(err.detail, OWN) == NULL); /* what is secret is not in messages */
    auth_free(a);
}

/* A daemon that was started so let nobody in, and did not say why. */
TEST(a_token_file_without_a_token_is_refused)
{
    static const char *const empty[] = {"", "\n", "# own " OWN "\n", " \n#\n\t\r\n"};
    struct auth *a = auth_new();

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct hf_error err = {0};

        EXPECT_INT(auth_add_tokens(a, empty[i], strlen(empty[i]), &err), -EINVAL);
        EXPECT(strstr(err.detail, "no token") != NULL);
    }
    EXPECT_INT(auth_add_tokens(a, OWN, strlen(OWN), NULL), 0);
    auth_free(a);
}

/* A browser cannot set headers on a WebSocket, but it can offer a subprotocol. */
TEST(the_subprotocol_counts_for_websockets_only)
{
    struct auth *a = new_auth();
    static const char offer[] =
        "Sec-WebSocket-Protocol: holdfast.v1, holdfast.bearer.b3duLXRva2VuLTAxMjM0NTY3ODk\r\n";
    struct buf b = {0};

    buf_printf(&b, "Connection: Upgrade\r\nUpgrade: websocket\r\n%s", offer);
    EXPECT_INT(request(a, buf_cstr(&b)), ROLE_OWN);
    EXPECT_INT(request(a, offer), ROLE_NONE);
    EXPECT_INT(request(a, "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                          "Sec-WebSocket-Protocol: holdfast.bearer.!!!, holdfast.bearer.\r\n"),
               ROLE_NONE);
    buf_fini(&b);
    auth_free(a);
}

TEST(on_a_unix_socket_the_uid_decides)
{
    struct auth *a = new_auth();

    auth_set_uid(a, 1000);
    EXPECT_INT(ask_as(a, 1000, "POST", ""), ROLE_OWN);
    EXPECT_INT(ask_as(a, 0, "POST", ""), ROLE_OWN);
    EXPECT_INT(ask_as(a, 1001, "POST", ""), ROLE_NONE);
    EXPECT_INT(ask_as(a, 1001, "POST", "Authorization: Bearer " WATCH "\r\n"), ROLE_WATCH);
    EXPECT_INT(ask_as(a, 1000, "POST", "Authorization: Bearer wrong-token-000000\r\n"), ROLE_NONE);
    auth_free(a);
}

TEST(a_ticket_is_good_once)
{
    struct auth *a = new_auth();
    char ticket[40], other[40];
    int64_t end;

    REQUIRE(auth_ticket_new(a, ROLE_TYPE, 0, AUTH_TICKET_MS, ticket, &end) == 0);
    REQUIRE(auth_ticket_new(a, ROLE_OWN, 0, AUTH_TICKET_MS, other, &end) == 0);
    EXPECT_INT((int64_t)strlen(ticket), 39);
    EXPECT_INT(auth_ticket_spend(a, "nonsense", &whose), ROLE_NONE);
    EXPECT_INT(auth_ticket_spend(a, "", &whose), ROLE_NONE);
    EXPECT_INT(auth_ticket_spend(a, ticket, &whose), ROLE_TYPE);
    EXPECT_INT(auth_ticket_spend(a, ticket, &whose), ROLE_NONE);
    EXPECT_INT(auth_ticket_spend(a, other, &whose), ROLE_OWN);
    auth_free(a);
}

TEST(a_ticket_lasts_as_long_as_it_was_made_for)
{
    struct auth *a = new_auth();
    char ticket[AUTH_TICKET_BYTES];
    int64_t end, before = clock_wall_ms();

    REQUIRE(auth_ticket_new(a, ROLE_OWN, 0, AUTH_TICKET_START_MS, ticket, &end) == 0);
    EXPECT(end >= before + AUTH_TICKET_START_MS);
    EXPECT(end <= clock_wall_ms() + AUTH_TICKET_START_MS);
    EXPECT_INT(auth_ticket_spend(a, ticket, &whose), ROLE_OWN);
    REQUIRE(auth_ticket_new(a, ROLE_OWN, 0, 0, ticket, &end) == 0);
    EXPECT_INT(auth_ticket_spend(a, ticket, &whose), ROLE_NONE);
    auth_free(a);
}

TEST(open_tickets_are_bounded)
{
    struct auth *a = new_auth();
    char ticket[40];
    int64_t end;

    for (int i = 0; i < AUTH_TICKETS_MAX; i++)
        REQUIRE(auth_ticket_new(a, ROLE_OWN, 0, AUTH_TICKET_MS, ticket, &end) == 0);
    EXPECT_INT(auth_ticket_new(a, ROLE_OWN, 0, AUTH_TICKET_MS, (char[40]){0}, &end), -EAGAIN);
    EXPECT_INT(auth_ticket_spend(a, ticket, &whose), ROLE_OWN);
    EXPECT_INT(auth_ticket_new(a, ROLE_OWN, 0, AUTH_TICKET_MS, ticket, &end), 0);
    auth_free(a);
}

/* The header a browser would send for a Set-Cookie, with `more` behind it. */
static const char *cookie_header(const struct auth *a, enum role role, const char *more)
{
    static char header[600];
    char set[256];

    auth_cookie(a, role, 0, false, set);
    set[strcspn(set, ";")] = '\0';
    snprintf(header, sizeof header, "Cookie: a=b; %s; c=d\r\n%s", set, more);
    return header;
}

TEST(a_cookie_survives_a_new_worker_but_not_new_tokens)
{
    struct auth *a = new_auth(), *same = new_auth(), *other = auth_new();
    const char *header = cookie_header(a, ROLE_TYPE, "");
    char tampered[600];
    char set[256];

    REQUIRE(auth_add_token(other, WATCH, strlen(WATCH), ROLE_OWN) == 0);
    EXPECT_INT(request(a, header), ROLE_TYPE);
    EXPECT_INT(request(same, header), ROLE_TYPE);
    EXPECT_INT(request(other, header), ROLE_NONE);
    strcpy(tampered, header);
    *strstr(tampered, "holdfast=2") = 'H';
    EXPECT_INT(request(a, tampered), ROLE_NONE);
    strcpy(tampered, header);
    strstr(tampered, "holdfast=2")[9] = '3'; /* a better role */
    EXPECT_INT(request(a, tampered), ROLE_NONE);
    strcpy(tampered, header);
    strstr(tampered, "holdfast=2")[11] ^= 1; /* a later end */
    EXPECT_INT(request(a, tampered), ROLE_NONE);
    auth_cookie(a, ROLE_OWN, 0, true, set);
    EXPECT(strstr(set, "; HttpOnly; SameSite=Strict; Secure") != NULL);
    auth_free(a);
    auth_free(same);
    auth_free(other);
}

/* Browsers send cookies with requests that other sites cause. */
TEST(a_cookie_changes_nothing_for_another_site)
{
    struct auth *a = new_auth();
    uid_t nobody = (uid_t)-1;

    EXPECT_INT(ask_as(a, nobody, "POST", cookie_header(a, ROLE_OWN, "")), ROLE_NONE);
    EXPECT_INT(
        ask_as(a, nobody, "DELETE", cookie_header(a, ROLE_OWN, "Sec-Fetch-Site: cross-site\r\n")),
        ROLE_NONE);
    EXPECT_INT(
        ask_as(a, nobody, "POST", cookie_header(a, ROLE_OWN, "Origin: http://localhost:7070\r\n")),
        ROLE_OWN);
    EXPECT_INT(ask_as(a, nobody, "POST",
                      cookie_header(a, ROLE_OWN,
                                    "Origin: http://evil.example\r\n"
                                    "Sec-Fetch-Site: same-origin\r\n")),
               ROLE_NONE);
    EXPECT_INT(
        ask_as(a, nobody, "POST", cookie_header(a, ROLE_OWN, "Sec-Fetch-Site: same-origin\r\n")),
        ROLE_OWN);
    EXPECT_INT(ask_as(a, nobody, "GET",
                      cookie_header(a, ROLE_OWN, "Connection: Upgrade\r\nUpgrade: websocket\r\n")),
               ROLE_NONE);
    EXPECT_INT(ask_as(a, nobody, "GET",
                      cookie_header(a, ROLE_OWN,
                                    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                    "Origin: http://localhost:7070\r\n")),
               ROLE_OWN);
    auth_free(a);
}

/* --- where a platform's clients put it ------------------------------------------ */

/* A ticket of the platform's own: it knows who may come in by it. */
static enum role ticket_role(const struct http_request *rq, struct auth_grant *g)
{
    const char *ticket = http_query(rq, "ticket");

    (void)g;
    return ticket != NULL && strcmp(ticket, "good") == 0 ? ROLE_TYPE : ROLE_NONE;
}

static const struct auth_ways ways = {
    .headers = "X-Access-Token X-Api-Key",
    .query = "access_token",
    .basic = true,
    .basic_query = "auth_token",
    .upgrade_own = ticket_role,
    .scheme = "FlyV1",
};

static enum role ask_platform(const struct auth *a, const char *target, const char *headers)
{
    char request[128];

    snprintf(request, sizeof request, "GET %s", target);
    return ask_at(a, &ways, (uid_t)-1, request, headers);
}

TEST(a_platform_may_have_headers_of_its_own)
{
    struct auth *a = new_auth();

    EXPECT_INT(ask_platform(a, "/", "X-Access-Token: " OWN "\r\n"), ROLE_OWN);
    EXPECT_INT(ask_platform(a, "/", "x-api-key: " WATCH "\r\n"), ROLE_WATCH);
    EXPECT_INT(ask_platform(a, "/", "X-Access-Token: nothing\r\n"), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/", "X-Other: " OWN "\r\n"), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/", "Authorization: Bearer " OWN "\r\n"), ROLE_OWN);
    /* Authorization is somebody's name there. */
    EXPECT_INT(ask_platform(a, "/", "Authorization: Bearer me\r\nX-Api-Key: " OWN "\r\n"),
               ROLE_OWN);
    EXPECT_INT(request(a, "X-Access-Token: " OWN "\r\n"), ROLE_NONE);
    auth_free(a);
}

TEST(a_platform_may_have_its_token_in_the_query_or_as_basic)
{
    struct auth *a = new_auth();

    EXPECT_INT(ask_platform(a, "/x?access_token=" OWN, ""), ROLE_OWN);
    EXPECT_INT(ask_platform(a, "/x?access_token=wrong", ""), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/x?token=" OWN, ""), ROLE_NONE);
    /* user:own-token-0123456789 and watch-token-0123456789: */
    EXPECT_INT(
        ask_platform(a, "/", "Authorization: Basic dXNlcjpvd24tdG9rZW4tMDEyMzQ1Njc4OQ==\r\n"),
        ROLE_OWN);
    EXPECT_INT(ask_platform(a, "/", "Authorization: Basic d2F0Y2gtdG9rZW4tMDEyMzQ1Njc4OTo=\r\n"),
               ROLE_WATCH);
    EXPECT_INT(ask_platform(a, "/", "Authorization: Basic bm8gY29sb24=\r\n"), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/", "Authorization: Basic !\r\n"), ROLE_NONE);
    auth_free(a);
}

TEST(a_platform_may_have_another_name_for_bearer)
{
    struct auth *a = new_auth();

    EXPECT_INT(ask_platform(a, "/", "Authorization: FlyV1 " OWN "\r\n"), ROLE_OWN);
    EXPECT_INT(ask_platform(a, "/", "Authorization: flyv1   " WATCH "\r\n"), ROLE_WATCH);
    EXPECT_INT(ask_platform(a, "/", "Authorization: FlyV1 nothing\r\n"), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/", "Authorization: FlyV1\r\n"), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/", "Authorization: FlyV12 " OWN "\r\n"), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/", "Authorization: FlyV1" OWN "\r\n"), ROLE_NONE);
    EXPECT_INT(request(a, "Authorization: FlyV1 " OWN "\r\n"), ROLE_NONE);
    auth_free(a);
}

TEST(a_platform_may_have_basic_credentials_in_the_query)
{
    struct auth *a = new_auth();

    EXPECT_INT(ask_platform(a, "/x?auth_token=dXNlcjpvd24tdG9rZW4tMDEyMzQ1Njc4OQ%3D%3D", ""),
               ROLE_OWN);
    EXPECT_INT(ask_platform(a, "/x?auth_token=" OWN, ""), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/x?auth_token=bm8gY29sb24%3D", ""), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/x?auth_token=", ""), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/x", "Authorization: Basic \r\n"), ROLE_NONE);
    auth_free(a);
}

TEST(a_platform_may_have_tickets_of_its_own_for_an_upgrade)
{
    static const char upgrade[] = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    struct auth *a = new_auth();

    EXPECT_INT(ask_platform(a, "/x?ticket=good", upgrade), ROLE_TYPE);
    EXPECT_INT(ask_platform(a, "/x?ticket=bad", upgrade), ROLE_NONE);
    EXPECT_INT(ask_platform(a, "/x?ticket=good", ""), ROLE_NONE);
    auth_free(a);
}

/* --- links ------------------------------------------------------------------------ */

#define LINK "hfl_0123456789012345678901234567890123456789"

struct keeper {
    enum role secret, grant;
    int uses;
};

static enum role keeper_by_secret(void *arg, const char *secret, size_t len, char *grant)
{
    const struct keeper *k = arg;

    if (len != strlen(LINK) || memcmp(secret, LINK, len) != 0)
        return ROLE_NONE;
    strcpy(grant, "key.link_1");
    return k->secret;
}

static enum role keeper_by_grant(void *arg, const char *grant)
{
    const struct keeper *k = arg;

    return strcmp(grant, "key.link_1") == 0 ? k->grant : ROLE_NONE;
}

static bool keeper_fits(void *arg, const struct http_request *rq, const char *grant)
{
    (void)arg, (void)rq, (void)grant;
    return true;
}

static void keeper_use(void *arg, const char *grant)
{
    struct keeper *k = arg;

    EXPECT_STR(grant, "key.link_1");
    k->uses++;
}

static struct auth *new_auth_with_links(struct keeper *k)
{
    struct auth *a = new_auth();

    auth_set_links(
        a, &(struct auth_links){keeper_by_secret, keeper_by_grant, keeper_fits, keeper_use, k});
    return a;
}

TEST(a_link_is_whatever_its_keeper_says)
{
    struct keeper k = {ROLE_TYPE, ROLE_TYPE, 0};
    struct auth *a = new_auth_with_links(&k), *none = new_auth();

    EXPECT_INT(request(a, "Authorization: Bearer " LINK "\r\n"), ROLE_TYPE);
    EXPECT_INT(request(a, "Authorization: Bearer " LINK "x\r\n"), ROLE_NONE);
    EXPECT_INT(request(none, "Authorization: Bearer " LINK "\r\n"), ROLE_NONE);
    EXPECT_INT(k.uses, 0);
    auth_free(a);
    auth_free(none);
}

TEST(a_link_opened_in_a_browser_counts_once_and_ends_with_the_link)
{
    struct keeper k = {ROLE_WATCH, ROLE_WATCH, 0};
    struct auth *a = new_auth_with_links(&k), *other = auth_new();
    char cookie[AUTH_LINK_COOKIE_MAX], grant[AUTH_GRANT_MAX + 1], header[400];

    EXPECT_INT(auth_link_open(a, "hfl_wrong", false, cookie, grant), ROLE_NONE);
    EXPECT_INT(auth_link_open(a, LINK, false, cookie, grant), ROLE_WATCH);
    EXPECT_STR(grant, "key.link_1");
    EXPECT_INT(k.uses, 1);
    snprintf(header, sizeof header, "Cookie: a=b; %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
    EXPECT_INT(request(a, header), ROLE_WATCH);
    EXPECT_INT(k.uses, 1);
    auth_set_links(other, &(struct auth_links){keeper_by_secret, keeper_by_grant, keeper_fits,
                                               keeper_use, &k});
    EXPECT_INT(request(other, header), ROLE_NONE); /* no token, so no key */
    header[strcspn(cookie, ";") + 8] ^= 1;
    EXPECT_INT(request(a, header), ROLE_NONE);
    header[strcspn(cookie, ";") + 8] ^= 1;
    k.grant = ROLE_NONE;
    EXPECT_INT(request(a, header), ROLE_NONE);
    auth_free(a);
    auth_free(other);
}

TEST(a_link_does_not_make_less_of_a_better_cookie)
{
    struct keeper k = {ROLE_WATCH, ROLE_WATCH, 0};
    struct auth *a = new_auth_with_links(&k);
    char cookie[AUTH_LINK_COOKIE_MAX], grant[AUTH_GRANT_MAX + 1], own[256], header[700];

    auth_link_open(a, LINK, true, cookie, grant);
    EXPECT(strstr(cookie, "; Secure") != NULL);
    auth_cookie(a, ROLE_OWN, 0, false, own);
    snprintf(header, sizeof header, "Cookie: %.*s; %.*s\r\n", (int)strcspn(cookie, ";"), cookie,
             (int)strcspn(own, ";"), own);
    EXPECT_INT(request(a, header), ROLE_OWN);
    auth_free(a);
}

/* --- other tokens in place of these ------------------------------------------------ */

#define NEXT "next-token-0123456789"

static char ends[64];

static void note_end(void *arg, uint32_t token)
{
    size_t len = strlen(ends);

    (void)arg;
    snprintf(ends + len, sizeof ends - len, "%u,", (unsigned)token);
}

static bool replace(struct auth *a, const char *text, const char *retired, int64_t until_ms)
{
    struct auth *fresh = auth_new();
    bool changed;

    REQUIRE(auth_add_tokens(fresh, text, strlen(text), NULL) == 0);
    if (retired != NULL)
        auth_add_retired(fresh, retired, strlen(retired), ROLE_OWN, until_ms);
    ends[0] = '\0';
    changed = auth_replace_tokens(a, fresh, note_end, NULL);
    auth_free(fresh);
    return changed;
}

static uint32_t number_of(const struct auth *a, const char *token)
{
    struct auth_grant g = {0};

    return auth_token_role(a, token, strlen(token), &g) == ROLE_NONE ? 0 : g.token;
}

TEST(replacing_one_token_leaves_the_others_alone)
{
    struct auth *a = new_auth();
    uint32_t own = number_of(a, OWN), watch = number_of(a, WATCH);
    char own_page[600], watch_page[600], set[256], own_ticket[40], watch_ticket[40];
    int64_t end;

    auth_cookie(a, ROLE_OWN, own, false, set);
    snprintf(own_page, sizeof own_page, "Cookie: %.*s\r\n", (int)strcspn(set, ";"), set);
    auth_cookie(a, ROLE_WATCH, watch, false, set);
    snprintf(watch_page, sizeof watch_page, "Cookie: %.*s\r\n", (int)strcspn(set, ";"), set);
    REQUIRE(auth_ticket_new(a, ROLE_OWN, own, AUTH_TICKET_MS, own_ticket, &end) == 0);
    REQUIRE(auth_ticket_new(a, ROLE_WATCH, watch, AUTH_TICKET_MS, watch_ticket, &end) == 0);
    EXPECT_INT(request(a, own_page), ROLE_OWN);
    EXPECT_INT(request(a, watch_page), ROLE_WATCH);

    EXPECT(!replace(a, OWN "\nwatch " WATCH "\n", NULL, 0));
    EXPECT_STR(ends, "");
    EXPECT(replace(a, NEXT "\nwatch " WATCH "\n", NULL, 0));
    EXPECT_STR(ends, "1,");
    EXPECT_INT(request(a, own_page), ROLE_NONE);
    EXPECT_INT(request(a, watch_page), ROLE_WATCH);
    EXPECT_INT(auth_ticket_spend(a, own_ticket, &whose), ROLE_NONE);
    EXPECT_INT(auth_ticket_spend(a, watch_ticket, &whose), ROLE_WATCH);
    EXPECT_INT(whose, watch);
    EXPECT_INT(number_of(a, WATCH), watch);
    EXPECT_INT(number_of(a, OWN), 0);
    EXPECT(number_of(a, NEXT) > watch); /* a number is never used again */
    auth_free(a);
}

TEST(a_name_does_not_depend_on_the_token)
{
    struct auth *a = new_auth();
    struct auth_token_view before, after;

    REQUIRE(auth_token_at(a, 1, &before));
    EXPECT_STR(before.name, "watch-1");
    replace(a, OWN "\nown " NEXT "\nwatch other-watch-0123456789\n", NULL, 0);
    REQUIRE(auth_token_at(a, 1, &after));
    EXPECT_STR(after.name, "own-2");
    REQUIRE(auth_token_at(a, 2, &after));
    EXPECT_STR(after.name, before.name);
    EXPECT(!auth_token_at(a, 3, &after));
    auth_free(a);
}

TEST(a_retired_token_is_good_until_its_time_is_over)
{
    struct auth *a = new_auth();
    int64_t soon = clock_wall_ms() + 60000;
    uint32_t own = number_of(a, OWN);

    EXPECT(replace(a, NEXT "\nwatch " WATCH "\n", OWN, soon));
    EXPECT_STR(ends, "");
    EXPECT_INT(number_of(a, OWN), own);
    EXPECT_INT(auth_end_retired(a, note_end, NULL), soon);
    EXPECT_STR(ends, "");
    EXPECT(auth_own_token(a) != own);

    EXPECT(replace(a, NEXT "\nwatch " WATCH "\n", NULL, 0));
    EXPECT_STR(ends, "1,");
    EXPECT_INT(auth_end_retired(a, note_end, NULL), 0);
    auth_free(a);
}

TEST(the_end_of_a_retired_token_is_told_once)
{
    struct auth *a = new_auth();
    int64_t next, until = clock_wall_ms() + 30;

    replace(a, NEXT "\nwatch " WATCH "\n", OWN, until);
    while ((next = auth_end_retired(a, note_end, NULL)) != 0)
        EXPECT_INT(next, until);
    EXPECT_STR(ends, "1,");
    EXPECT(clock_wall_ms() >= until);
    EXPECT_INT(number_of(a, OWN), 0);
    EXPECT_INT(auth_end_retired(a, note_end, NULL), 0);
    EXPECT_STR(ends, "1,");
    auth_free(a);
}

TEST(retired_tokens_are_bounded)
{
    struct auth *a = new_auth();
    int64_t later = clock_wall_ms() + 60000;
    char token[40];

    for (int i = 0; i <= AUTH_TOKENS_MAX; i++) {
        snprintf(token, sizeof token, "retired-token-%06d", i);
        auth_add_retired(a, token, strlen(token), ROLE_OWN, later);
    }
    EXPECT_INT(number_of(a, token), 0);
    snprintf(token, sizeof token, "retired-token-%06d", AUTH_TOKENS_MAX - 1);
    EXPECT(number_of(a, token) != 0);
    auth_free(a);
}

TEST(an_opened_link_outlives_the_tokens)
{
    struct keeper k = {ROLE_WATCH, ROLE_WATCH, 0};
    struct auth *a = new_auth_with_links(&k), *next = new_auth_with_links(&k);
    static const uint8_t key[AUTH_KEY_BYTES] = "carried over";
    char cookie[AUTH_LINK_COOKIE_MAX], grant[AUTH_GRANT_MAX + 1], header[400];

    auth_set_link_key(a, key);
    EXPECT_INT(auth_link_open(a, LINK, false, cookie, grant), ROLE_WATCH);
    snprintf(header, sizeof header, "Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
    replace(a, NEXT "\n", NULL, 0);
    EXPECT_INT(request(a, header), ROLE_WATCH);
    EXPECT_INT(request(next, header), ROLE_NONE); /* another key */
    auth_set_link_key(next, key);
    EXPECT_INT(request(next, header), ROLE_WATCH); /* the next worker */
    auth_free(a);
    auth_free(next);
}
