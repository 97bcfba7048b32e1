/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_accept_type.c - what the Accept header says, and headers that come twice
 */
#include "transport/http_request.h"

#include "test.h"

static struct http_server server = {
    .o = {.header_bytes = 4096, .header_count = 100, .uri_bytes = 100}};

static struct http_request *request_with(const char *headers)
{
    struct http_request *rq = request_new(&server, NULL);
    struct buf b = {0};
    size_t used;

    buf_printf(&b, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", headers);
    REQUIRE(http1_feed(&rq->parser, buf_data(&b), b.len, &used) == HTTP1_HEAD);
    REQUIRE(request_parse_target(rq, NULL) == 0);
    buf_fini(&b);
    return rq;
}

static void expect_accept(const char *accept, bool json, bool sse)
{
    char header[200];
    struct http_request *rq;

    snprintf(header, sizeof header, "Accept: %s\r\n", accept);
    rq = request_with(header);
    if (http_wants(rq, "application/json") != json || http_accepts(rq, "text/event-stream") != sse)
        EXPECT_STR(accept, NULL);
    request_free(rq);
}

TEST(json_is_wanted_when_it_is_named_and_liked_best)
{
    struct http_request *rq = request_with("");

    EXPECT(!http_wants(rq, "application/json") && http_accepts(rq, "text/event-stream"));
    request_free(rq);
    expect_accept("*/*", false, true);
    expect_accept("application/json", true, false);
    expect_accept("Application/JSON; charset=utf-8", true, false);
    expect_accept("application/json, text/event-stream", true, true);
    expect_accept("application/json;q=0.5, text/event-stream", false, true);
    expect_accept("application/json;q=0.5, text/event-stream;q=0.4", true, true);
    expect_accept("application/json, */*;q=0.1", true, true);
    expect_accept("text/*", false, true);
    expect_accept("text/*;q=0", false, false);
    expect_accept("text/event-stream;q=0, */*", false, false);
    expect_accept("application/json;q=0", false, false);
    expect_accept("application/jsonp", false, false);
    expect_accept("", false, false);
    expect_accept(",;q=,,; q=2", false, false);
}

TEST(repeated_headers_are_one_list)
{
    struct http_request *rq =
        request_with("X: a\r\nx: b\r\nCookie: c=1\r\nCookie: d=2\r\nY: z\r\n");

    EXPECT_STR(http_header(rq, "X"), "a, b");
    EXPECT_STR(http_header(rq, "cookie"), "c=1; d=2");
    EXPECT_STR(http_header(rq, "Y"), "z");
    EXPECT_STR(http_header(rq, "Z"), NULL);
    EXPECT_STR(http_header(rq, "host"), "a");
    request_free(rq);
}

static void expect_target(const char *target, const char *path, const char *query, const char *host)
{
    struct http_request *rq = request_new(&server, NULL);
    struct buf b = {0};
    size_t used;
    int rc;

    buf_printf(&b, "GET %s HTTP/1.1\r\nHost: header\r\n\r\n", target);
    REQUIRE(http1_feed(&rq->parser, buf_data(&b), b.len, &used) == HTTP1_HEAD);
    rc = request_parse_target(rq, NULL);
    EXPECT_INT(rc < 0, path == NULL);
    if (rc == 0) {
        EXPECT_STR(http_path(rq), path);
        EXPECT_STR(http_query_raw(rq), query);
        EXPECT_STR(http_header(rq, "Host"), host);
    }
    buf_fini(&b);
    request_free(rq);
}

TEST(targets_come_in_two_forms)
{
    expect_target("/", "/", "", "header");
    expect_target("/a?b=c?d", "/a", "b=c?d", "header");
    expect_target("/a?", "/a", "", "header");
    expect_target("http://x:1/a?b", "/a", "b", "x:1");
    expect_target("HTTPS://x", "/", "", "x");
    expect_target("http://x?q", "/", "q", "x");
    expect_target("//x/a", "//x/a", "", "header"); /* a path, not an authority */
    expect_target("/a#b", NULL, NULL, NULL);
    expect_target("http://x/#b", NULL, NULL, NULL);
    expect_target("http://", NULL, NULL, NULL);
    expect_target("ftp://x/a", NULL, NULL, NULL);
    expect_target("*", NULL, NULL, NULL);
}

TEST(queries_may_repeat_where_the_route_allows_it)
{
    struct http_request *rq = request_new(&server, NULL);
    static const char text[] = "GET /?c=a&c=b&d HTTP/1.1\r\nHost: a\r\n\r\n";
    const char *name, *value;
    size_t used, i = 0;

    REQUIRE(http1_feed(&rq->parser, text, sizeof text - 1, &used) == HTTP1_HEAD);
    REQUIRE(request_parse_target(rq, NULL) == 0);
    EXPECT(http_query_each(rq, &i, &name, &value));
    EXPECT_STR(value, "a");
    EXPECT(http_query_each(rq, &i, &name, &value));
    EXPECT_STR(value, "b");
    EXPECT(http_query_each(rq, &i, &name, &value));
    EXPECT_STR(name, "d");
    EXPECT(!http_query_each(rq, &i, &name, &value));
    request_free(rq);
}
