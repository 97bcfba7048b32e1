/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_router.c - which row of which table a request belongs to
 */
#include "transport/router.h"

#include "test.h"

static const struct route root_routes[] = {
    {HTTP_GET_M, "/", NULL, ROLE_NONE, 0, 0, NULL},
    {HTTP_GET_M, "/healthz", NULL, ROLE_NONE, ROUTE_PUBLIC, 0, NULL},
    {HTTP_GET_M | HTTP_POST_M, "/v1/processes", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_POST_M, "/v1/processes/run", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M | HTTP_PATCH_M, "/v1/processes/{id}", NULL, ROLE_WATCH, 0, 0, NULL},
    {HTTP_DELETE_M, "/v1/processes/{id}", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/v1/processes/{id}/links/{lid}", NULL, ROLE_OWN, 0, 0, NULL},
    {HTTP_GET_M, "/assets/", NULL, ROLE_NONE, ROUTE_PREFIX, 0, NULL},
    {HTTP_GET_M, "/proxy/{port}", NULL, ROLE_OWN, ROUTE_PREFIX, 0, NULL},
};
static const struct route docker_routes[] = {
    {HTTP_GET_M, "/_ping", NULL, ROLE_NONE, 0, 0, NULL},
    {HTTP_GET_M, "/{version}/info", NULL, ROLE_NONE, 0, 0, NULL},
};
static const struct route_table root = {.prefix = "", .routes = root_routes, .count = 9};
static const struct route_table docker = {
    .prefix = "/dialects/docker", .routes = docker_routes, .count = 2};
static const struct route_table *const tables[] = {&root, &docker};

/* The row as "pattern", or "404", or the Allow of a 405. Params are copied into `got`. */
static const char *find(const char *raw, unsigned method, char *got)
{
    static char allow[METHODS_TEXT_BYTES];
    static struct route_match m;
    struct path p;
    const char *answer;

    REQUIRE(path_parse(&p, raw, NULL) == 0);
    router_find(tables, 2, false, raw, &p, method, &m);
    if (got != NULL)
        got[0] = '\0';
    for (size_t i = 0; got != NULL && i < m.param_count; i++)
        sprintf(got + strlen(got), "%.*s=%s;", (int)m.params[i].name_len, m.params[i].name,
                m.params[i].value);
    if (got != NULL && m.rest != NULL)
        sprintf(got + strlen(got), "*=%s", m.rest);
    router_methods_text(m.allow, allow);
    answer = m.route != NULL ? m.route->pattern : m.allow != 0 ? allow : "404";
    path_fini(&p);
    return answer;
}

TEST(rows_are_found_by_path_and_method)
{
    char got[200];

    EXPECT_STR(find("/", HTTP_GET_M, got), "/");
    EXPECT_STR(find("/healthz", HTTP_GET_M, got), "/healthz");
    EXPECT_STR(find("/v1/processes", HTTP_POST_M, got), "/v1/processes");
    EXPECT_STR(find("/v1/processes/abc", HTTP_GET_M, got), "/v1/processes/{id}");
    EXPECT_STR(got, "id=abc;");
    EXPECT_STR(find("/v1/processes/a%2Fb/links/%78", HTTP_GET_M, got),
               "/v1/processes/{id}/links/{lid}");
    EXPECT_STR(got, "id=a/b;lid=x;");
    EXPECT_STR(find("/v1/proc%65sses", HTTP_GET_M, got), "/v1/processes");
}

TEST(a_fixed_word_above_wins_over_a_parameter_below)
{
    char got[200];

    EXPECT_STR(find("/v1/processes/run", HTTP_POST_M, got), "/v1/processes/run");
    /* Also for methods that it does not take: run is nobody's id. */
    EXPECT_STR(find("/v1/processes/run", HTTP_GET_M, got), "POST");
}

TEST(get_implies_head)
{
    EXPECT_STR(find("/healthz", HTTP_HEAD_M, NULL), "/healthz");
    EXPECT_STR(find("/v1/processes/abc", HTTP_HEAD_M, NULL), "/v1/processes/{id}");
}

TEST(a_wrong_method_tells_the_right_ones_of_all_rows)
{
    EXPECT_STR(find("/v1/processes/abc", HTTP_PUT_M, NULL), "GET, HEAD, PATCH, DELETE");
    EXPECT_STR(find("/v1/processes/run", HTTP_PUT_M, NULL), "POST");
    EXPECT_STR(find("/healthz", 0, NULL), "GET, HEAD");
}

TEST(what_fits_no_row_is_not_found)
{
    static const char *const none[] = {
        "/v1",
        "/v1/",
        "/v1/processes/",
        "/v1//processes",
        "//",
        "/healthz/",
        "/v1/processes/a/b",
        "/Healthz",
        "/assets",
        "/proxy/",
        "/proxy//x",
        "/dialects",
        "/dialects/docker",
        "/dialects/docker/",
        "/dialects/dockerx",
    };

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        EXPECT_STR(find(none[i], HTTP_GET_M, NULL), "404");
}

TEST(a_prefix_row_takes_the_rest_as_it_was_sent)
{
    char got[200];

    EXPECT_STR(find("/assets/js/a%20b.js", HTTP_GET_M, got), "/assets/");
    EXPECT_STR(got, "*=js/a%20b.js");
    EXPECT_STR(find("/assets/", HTTP_GET_M, got), "/assets/");
    EXPECT_STR(got, "*=");
    EXPECT_STR(find("/proxy/80/x/y", HTTP_GET_M, got), "/proxy/{port}");
    EXPECT_STR(got, "port=80;*=/x/y");
    EXPECT_STR(find("/proxy/80", HTTP_GET_M, got), "/proxy/{port}");
    EXPECT_STR(got, "port=80;*=");
    EXPECT_STR(find("/proxy/80/", HTTP_GET_M, got), "/proxy/{port}");
    EXPECT_STR(got, "port=80;*=/");
}

TEST(the_longest_prefix_has_the_say)
{
    char got[200];

    EXPECT_STR(find("/dialects/docker/_ping", HTTP_GET_M, NULL), "/_ping");
    EXPECT_STR(find("/dialects/docker/v1.43/info", HTTP_GET_M, got), "/{version}/info");
    EXPECT_STR(got, "version=v1.43;");
    EXPECT_STR(find("/dialects/docker/healthz", HTTP_GET_M, NULL), "404");
}

TEST(a_listener_of_its_own_has_no_prefix)
{
    const struct route_table *own = &docker;
    struct route_match m;
    struct path p;

    REQUIRE(path_parse(&p, "/_ping", NULL) == 0);
    router_find(&own, 1, true, "/_ping", &p, HTTP_GET_M, &m);
    EXPECT(m.table == &docker && m.route == &docker_routes[0]);
    path_fini(&p);
}

TEST(parameters_are_found_by_name)
{
    const char *raw = "/v1/processes/a/links/b";
    struct route_match m;
    struct path p;

    REQUIRE(path_parse(&p, raw, NULL) == 0);
    router_find(tables, 2, false, raw, &p, HTTP_GET_M, &m);
    EXPECT_STR(router_param_get(&m, "id"), "a");
    EXPECT_STR(router_param_get(&m, "lid"), "b");
    EXPECT_STR(router_param_get(&m, "i"), NULL);
    EXPECT_STR(router_param_get(&m, "*"), NULL);
    path_fini(&p);
}
