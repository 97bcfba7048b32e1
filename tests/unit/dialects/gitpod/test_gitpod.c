/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gitpod.c - the small formats of gRPC, and messages as Gitpod's client sends them
 */
#include "dialects/gitpod/gitpod.h"

#include "test.h"

static const char *unframe(const char *body, size_t len, size_t *n, enum grpc_code *code)
{
    const char *why;

    return grpc_unframe(body, len, n, code, &why);
}

TEST(a_body_is_one_message)
{
    enum grpc_code code;
    size_t n;

    EXPECT(unframe("\0\0\0\0\0", 5, &n, &code) != NULL);
    EXPECT_INT(n, 0);
    EXPECT(unframe("\0\0\0\0\2ab", 7, &n, &code) != NULL);
    EXPECT_INT(n, 2);
    EXPECT(unframe("", 0, &n, &code) == NULL);
    EXPECT(unframe("\0\0\0\0", 4, &n, &code) == NULL);
    EXPECT(unframe("\0\0\0\0\2a", 6, &n, &code) == NULL);
    EXPECT(unframe("\0\0\0\0\1ab", 7, &n, &code) == NULL);
    EXPECT_INT(code, GRPC_INTERNAL);
    EXPECT(unframe("\0\377\377\377\377ab", 7, &n, &code) == NULL);
    EXPECT(unframe("\1\0\0\0\2ab", 7, &n, &code) == NULL);
    EXPECT_INT(code, GRPC_UNIMPLEMENTED);
}

TEST(a_message_has_its_length_in_front)
{
    char head[GRPC_HEAD_BYTES];

    grpc_head(head, 0x01020304);
    EXPECT(memcmp(head, "\0\1\2\3\4", 5) == 0);
}

static int64_t timeout(const char *text)
{
    uint64_t ms;

    return grpc_timeout(text, &ms) ? (int64_t)ms : -1;
}

TEST(time_outs_have_units)
{
    EXPECT_INT(timeout("2H"), 7200000);
    EXPECT_INT(timeout("3M"), 180000);
    EXPECT_INT(timeout("5S"), 5000);
    EXPECT_INT(timeout("100m"), 100);
    EXPECT_INT(timeout("2500u"), 2);
    EXPECT_INT(timeout("7n"), 1);
    EXPECT_INT(timeout("0S"), 1);
    EXPECT(timeout("99999999H") > 0);
    EXPECT_INT(timeout(""), -1);
    EXPECT_INT(timeout("5"), -1);
    EXPECT_INT(timeout("S"), -1);
    EXPECT_INT(timeout("5Sx"), -1);
    EXPECT_INT(timeout("123456789S"), -1);
    EXPECT_INT(timeout("-1S"), -1);
}

TEST(messages_in_headers_are_percent_encoded)
{
    struct buf b = {0};

    grpc_put_message(&b, "a b%\n\xc3\xa4");
    EXPECT_STR(buf_cstr(&b), "a b%25%0A%C3%A4");
    buf_fini(&b);
}

static const char *shown(const struct pb_message *m, const void *bytes, size_t len)
{
    static char text[512];
    struct hf_error err = {0};
    json_t *tree = pb_from_wire(m, bytes, len, &err);
    char *dump = tree != NULL ? json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    snprintf(text, sizeof text, "%s", dump != NULL ? dump : "error");
    free(dump);
    json_decref(tree);
    return text;
}
#define SHOWN(m, bytes) shown(&(m), bytes, sizeof(bytes) - 1)

/* As recorded from the client. */
TEST(real_messages_are_read)
{
    EXPECT_STR(SHOWN(gitpod_write_request, "\x0a\x02\x61\x31\x12\x03\x6c\x73\x0a"),
               "{\"alias\":\"a1\",\"stdin\":\"ls\\n\"}");
    EXPECT_STR(SHOWN(gitpod_size_request, "\x0a\x02\x61\x31\x18\x01\x22\x04\x08\x18\x10\x50"),
               "{\"alias\":\"a1\",\"force\":true,\"size\":{\"cols\":80,\"rows\":24}}");
    EXPECT_STR(
        SHOWN(gitpod_open_request, "\x12\x06\x0a\x01\x41\x12\x01\x31\x32\x04\x08\x18\x10\x50"),
        "{\"env\":{\"A\":\"1\"},\"size\":{\"cols\":80,\"rows\":24}}");
    EXPECT_STR(SHOWN(gitpod_alias_request, "\x0a\x7f"), "error");
}
