/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_opencode.c - Bodies of OpenCode's clients, and ids as they expect them.
 */
#include "dialects/opencode/oc_body_decode.h"
#include "dialects/opencode/opencode.h"
#include "test.h"

static json_t *tree(const char *text)
{
    json_t *t = json_parse(text, strlen(text), NULL);

    REQUIRE(t != NULL);
    return t;
}

TEST(whose_terminal_it_is_is_not_for_the_caller_to_say)
{
    json_t *body = tree("{\"command\":\"sh\",\"args\":[\"-c\",\"x\"],"
                        "\"env\":{\"TERM\":\"vt52\",\"A\":\"b\",\"OPENCODE_TERMINAL\":\"0\"}}");
    struct oc_pty_request a;

    EXPECT_INT(oc_pty_request_decode(&a, body, NULL), 0);
    EXPECT_STR(a.spec.command, "sh");
    EXPECT_U64(a.spec.arg_count, 2);
    EXPECT_STR(a.args[1], "x");
    EXPECT_U64(a.spec.env_count, 3);
    EXPECT_STR(a.env[0].name, "A");
    EXPECT_STR(a.env[1].value, "xterm-256color");
    EXPECT_STR(a.env[2].value, "1");
    oc_pty_request_fini(&a);
    json_decref(body);
}

static void expect_no_pty(const char *text, const char *why)
{
    json_t *body = tree(text);
    struct hf_error err = {0};
    struct oc_pty_request a;

    EXPECT(oc_pty_request_decode(&a, body, &err) < 0);
    EXPECT_STR(err.detail, why);
    oc_pty_request_fini(&a);
    json_decref(body);
}

TEST(what_is_wrong_is_said_in_the_words_of_the_platform)
{
    expect_no_pty("{\"command\":5}", "Expected string\n  at [\"command\"]");
    expect_no_pty("{\"cwd\":null}", "Expected string\n  at [\"cwd\"]");
    expect_no_pty("{\"title\":\"a\\u0000b\"}", "Expected a string without NUL\n  at [\"title\"]");
    expect_no_pty("{\"args\":\"x\"}", "Expected array\n  at [\"args\"]");
    expect_no_pty("{\"args\":[\"x\",1]}", "Expected strings without NUL\n  at [\"args\"]");
    expect_no_pty("{\"env\":[]}", "Expected object\n  at [\"env\"]");
    expect_no_pty("{\"env\":{\"A\":1}}", "Expected strings without NUL\n  at [\"env\"]");
}

/* A line of a file's helper may lack anything: a user of the sandbox may have written it. */
TEST(a_file_without_a_path_has_a_type)
{
    EXPECT_STR(oc_mime(NULL), "application/octet-stream");
    EXPECT_STR(oc_mime("/a.b/c"), "application/octet-stream");
    EXPECT_STR(oc_mime("/a/b.HTML"), "text/html");
}

static void expect_change(const char *text, int rc)
{
    json_t *body = tree(text);
    struct hf_error err = {0};
    struct oc_pty_change c;

    EXPECT_INT(oc_pty_change_decode(&c, body, &err) < 0, rc < 0);
    EXPECT_INT(err.code != HF_OK, rc < 0);
    json_decref(body);
}

TEST(an_update_is_a_title_a_size_both_or_nothing)
{
    expect_change("{}", 0);
    expect_change("{\"title\":\"x\",\"size\":{\"rows\":40,\"cols\":120}}", 0);
    expect_change("{\"size\":{\"rows\":0,\"cols\":120}}", -1);
    expect_change("{\"size\":{\"rows\":1.5,\"cols\":120}}", -1);
    expect_change("{\"size\":{\"rows\":40}}", -1);
    expect_change("{\"size\":7}", -1);
    expect_change("{\"title\":7}", -1);
}

static void expect_order(const char *text, bool shell, const char *why)
{
    json_t *body = tree(text);
    struct hf_error err = {0};
    struct oc_order w;

    EXPECT_INT(oc_order_decode(&w, body, shell, &err) < 0, why != NULL);
    EXPECT_STR(err.detail, why != NULL ? why : "");
    json_decref(body);
}

TEST(an_order_needs_what_the_platform_needs)
{
    expect_order("{\"agent\":\"build\",\"command\":\"ls\"}", true, NULL);
    expect_order("{\"command\":\"ls\"}", true, "Missing key\n  at [\"agent\"]");
    expect_order("{\"command\":\"ls\",\"arguments\":\"\"}", false, NULL);
    expect_order("{\"command\":\"ls\"}", false, "Missing key\n  at [\"arguments\"]");
    expect_order("{\"agent\":\"a\",\"command\":\"ls\",\"model\":{\"providerID\":\"p\"}}", true,
                 "Missing key\n  at [\"modelID\"]");
    expect_order("{\"command\":\"ls\",\"arguments\":\"\",\"model\":\"p/m\"}", false, NULL);
    expect_order("{\"agent\":\"a\",\"command\":\"ls\",\"messageID\":\"x\"}", true,
                 "Expected a string starting with \"msg\"\n  at [\"messageID\"]");
}

/* They sort by time; those of sessions the other way round. */
TEST(ids_are_in_the_order_of_their_making)
{
    char first[OC_ID_BYTES], second[OC_ID_BYTES];

    oc_new_id("evt", false, first);
    oc_new_id("evt", false, second);
    EXPECT_U64(strlen(first), 30);
    EXPECT(strcmp(first, second) < 0);
    oc_new_id("ses", true, first);
    oc_new_id("ses", true, second);
    EXPECT(strcmp(first, second) > 0);
    oc_make_id("msg", 1700000000000, 1, "seed", first);
    oc_make_id("msg", 1700000000000, 1, "seed", second);
    EXPECT_STR(first, second);
}
