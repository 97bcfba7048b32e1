/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_head.c - heads of HTTP/2 as those of HTTP/1.1, and the fields of answers
 */
#include "transport/h2_own.h"

#include "test.h"

static const struct http1_limits limits = {
    .header_bytes = 1024, .header_count = 6, .uri_bytes = 64};

static void field(struct http1 *p, const char *name, const char *value)
{
    h2_head_field(p, name, strlen(name), value, strlen(value));
}

static void begin(struct http1 *p, const char *method, const char *path)
{
    http1_init(p, &limits);
    field(p, ":method", method);
    field(p, ":scheme", "http");
    field(p, ":path", path);
    field(p, ":authority", "localhost:1");
}

TEST(a_head_looks_like_one_of_http_1_1)
{
    struct http1 p;
    size_t at = 0;

    begin(&p, "POST", "/a?b=c");
    field(&p, "content-length", "12");
    field(&p, "x-y", "z");
    h2_head_finish(&p, false);
    EXPECT(!p.failed);
    EXPECT_INT(p.method, HTTP_POST_M);
    EXPECT_STR(buf_cstr(&p.target), "/a?b=c");
    EXPECT_STR(http1_header(&p, "Host", &at), "localhost:1");
    at = 0;
    EXPECT_STR(http1_header(&p, "X-Y", &at), "z");
    EXPECT(p.has_length && p.length == 12 && !p.chunked && http1_has_body(&p));
    http1_fini(&p);
}

TEST(a_body_without_length_is_one_all_the_same)
{
    struct http1 p;

    begin(&p, "POST", "/");
    h2_head_finish(&p, false);
    EXPECT(p.chunked && http1_has_body(&p));
    http1_fini(&p);
    begin(&p, "GET", "/");
    h2_head_finish(&p, true);
    EXPECT(!http1_has_body(&p));
    http1_fini(&p);
}

TEST(methods_that_are_not_ours_are_none)
{
    struct http1 p;

    begin(&p, "get", "/");
    EXPECT_INT(p.method, 0);
    http1_fini(&p);
    http1_init(&p, &limits);
    field(&p, ":method", "CONNECT");
    EXPECT(p.failed);
    EXPECT_INT(p.error.code, HF_E_not_implemented);
    http1_fini(&p);
}

TEST(a_host_must_agree_with_the_authority)
{
    struct http1 p;

    begin(&p, "GET", "/");
    field(&p, "host", "LOCALHOST:1");
    h2_head_finish(&p, true);
    EXPECT(!p.failed);
    EXPECT_INT(p.header_count, 1);
    http1_fini(&p);
    begin(&p, "GET", "/");
    field(&p, "host", "localhost:2");
    EXPECT_INT(p.error.code, HF_E_bad_request);
    http1_fini(&p);
    http1_init(&p, &limits);
    field(&p, ":path", "/");
    h2_head_finish(&p, true);
    EXPECT_INT(p.error.code, HF_E_bad_request);
    http1_fini(&p);
}

static int refused_with(const char *path, const char *name, const char *value, int times)
{
    struct http1 p;
    int code;

    begin(&p, "GET", path);
    for (int i = 0; i < times; i++)
        field(&p, name, value);
    h2_head_finish(&p, true);
    code = p.failed ? (int)p.error.code : 0;
    http1_fini(&p);
    return code;
}

TEST(heads_are_bounded)
{
    char longer[1024];

    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    EXPECT_INT(refused_with("/", "a", "b", 5), 0);
    EXPECT_INT(refused_with("/", "a", "b", 6), HF_E_headers_too_large);
    EXPECT_INT(refused_with("/", "a", longer, 1), HF_E_headers_too_large);
    longer[65] = '\0';
    EXPECT_INT(refused_with(longer, "a", "b", 1), HF_E_uri_too_long);
    EXPECT_INT(refused_with("/a b", "a", "b", 1), HF_E_bad_request);
    EXPECT_INT(refused_with("/\xc3\xa4", "a", "b", 1), HF_E_bad_request);
}

TEST(fields_of_an_answer_leave_out_the_connections)
{
    struct buf lines = {0};
    struct h2_fields f;

    buf_puts(&lines,
             "Content-Type: text/plain\r\nConnection: close\r\nUpgrade: x\r\nX-A: b: c\r\n");
    h2_fields_init(&f, "200", &lines);
    REQUIRE(f.count == 3);
    EXPECT_STR((const char *)f.list[0].name, ":status");
    EXPECT_STR((const char *)f.list[1].name, "content-type");
    EXPECT_STR((const char *)f.list[1].value, "text/plain");
    EXPECT_STR((const char *)f.list[2].name, "x-a");
    EXPECT_STR((const char *)f.list[2].value, "b: c");
    h2_fields_fini(&f);
    buf_fini(&lines);
}

TEST(the_preface_is_known_from_its_first_byte)
{
    static const char all[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore";

    for (size_t n = 1; n < sizeof all; n++)
        EXPECT(h2_is_preface(all, n));
    EXPECT(!h2_is_preface("POST", 4));
    EXPECT(!h2_is_preface("PRI * HTTP/2.0\r\n\r\nXX", 20));
    EXPECT(!h2_is_preface("GET", 3));
}
