/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cf_wire.c - what Cloudflare's clients send, and what is made of it for a shell
 */
#include "dialects/cloudflare/cf_wire.h"
#include "dialects/common/whole_text.h"
#include "test.h"

static const char *mux(struct cf_mux_frame *f, const char *text, const char **code)
{
    return cf_mux_decode(f, text, strlen(text), code);
}

TEST(a_request_of_the_multiplex_is_taken_apart)
{
    struct cf_mux_frame f;
    const char *code;

    EXPECT_STR(mux(&f,
                   "{\"type\":\"request\",\"id\":\"ws_1\",\"method\":\"POST\",\"path\":\"/api/x\","
                   "\"body\":{\"a\":1},\"headers\":{\"x-session-id\":\"s\"}}",
                   &code),
               NULL);
    EXPECT_STR(f.id, "ws_1");
    EXPECT_STR(f.method, "POST");
    EXPECT_STR(f.path, "/api/x");
    EXPECT_STR(f.session, "s");
    EXPECT_INT(json_integer_value(json_object_get(f.body, "a")), 1);
    EXPECT(!f.cancel);
    cf_mux_frame_fini(&f);
}

TEST(what_is_no_message_has_a_code_and_its_id_where_there_is_one)
{
    static const struct {
        const char *text, *code, *id;
    } cases[] = {
        {"", "PARSE_ERROR", NULL},
        {"nonsense", "PARSE_ERROR", NULL},
        {"[]", "INVALID_REQUEST", NULL},
        {"{\"type\":\"request\"}", "INVALID_REQUEST", NULL},
        {"{\"id\":\"a\"}", "INVALID_REQUEST", "a"},
        {"{\"type\":\"request\",\"id\":7}", "INVALID_REQUEST", NULL},
        {"{\"type\":\"request\",\"id\":\"\"}", "INVALID_REQUEST", NULL},
        {"{\"type\":\"request\",\"id\":\"a\\u0000b\"}", "INVALID_REQUEST", NULL},
        {"{\"type\":\"request\",\"id\":\"a\",\"method\":\"GET\"}", "INVALID_REQUEST", "a"},
        {"{\"type\":\"dance\",\"id\":\"a\",\"method\":\"GET\",\"path\":\"/\"}", "INVALID_REQUEST",
         "a"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cf_mux_frame f;
        const char *code;

        EXPECT(mux(&f, cases[i].text, &code) != NULL);
        EXPECT_STR(code, cases[i].code);
        EXPECT_STR(f.id, cases[i].id);
        cf_mux_frame_fini(&f);
    }
}

static enum cf_control control(const char *text)
{
    int64_t cols, rows;

    return cf_control_decode(text, strlen(text), &cols, &rows);
}

TEST(control_messages_of_a_terminal)
{
    int64_t cols = 0, rows = 0;
    const char *text = "{\"type\":\"resize\",\"cols\":100,\"rows\":30}";

    EXPECT_INT(cf_control_decode(text, strlen(text), &cols, &rows), CF_CONTROL_RESIZE);
    EXPECT_INT(cols, 100);
    EXPECT_INT(rows, 30);
    EXPECT_INT(control("{\"type\":\"resize\",\"cols\":0,\"rows\":30}"), CF_CONTROL_SIZE);
    EXPECT_INT(control("{\"type\":\"resize\",\"cols\":1.5,\"rows\":30}"), CF_CONTROL_SIZE);
    EXPECT_INT(control("{\"type\":\"resize\",\"cols\":\"9\",\"rows\":30}"), CF_CONTROL_BAD);
    EXPECT_INT(control("{\"type\":\"resize\"}"), CF_CONTROL_BAD);
    EXPECT_INT(control("{\"type\":\"interrupt\"}"), CF_CONTROL_INTERRUPT);
    EXPECT_INT(control("{\"type\":\"terminate\"}"), CF_CONTROL_TERMINATE);
    EXPECT_INT(control("{\"type\":7}"), CF_CONTROL_UNKNOWN);
    EXPECT_INT(control("[1]"), CF_CONTROL_UNKNOWN);
    EXPECT_INT(control("x"), CF_CONTROL_BAD);
}

TEST(only_names_that_a_shell_takes_are_names)
{
    EXPECT(cf_is_name("_a9"));
    EXPECT(!cf_is_name(""));
    EXPECT(!cf_is_name("9a"));
    EXPECT(!cf_is_name("a-b"));
    EXPECT(!cf_is_name("a;b"));
}

TEST(a_command_without_extras_is_left_as_it_is)
{
    struct buf out = {0};

    cf_wrap_command(&out, "echo \"$X\"; ls", NULL, NULL);
    EXPECT_STR(buf_cstr(&out), "echo \"$X\"; ls");
    buf_fini(&out);
}

/* Characters that come in pieces are put together; what never was one is passed on at the end. */
TEST(text_in_pieces_keeps_characters_whole)
{
    struct whole_text t = {0};
    struct buf out = {0};

    whole_text_feed(&t, false, "a\xe2", 2, &out);
    EXPECT_STR(buf_cstr(&out), "a");
    whole_text_feed(&t, true, "\xf0\x9f", 2, &out); /* the other stream does not come between */
    EXPECT_STR(buf_cstr(&out), "a");
    whole_text_feed(&t, false, "\x82", 1, &out);
    EXPECT_STR(buf_cstr(&out), "a");
    whole_text_feed(&t, false, "\xac!", 2, &out);
    EXPECT_STR(buf_cstr(&out), "a\xe2\x82\xac!");
    whole_text_end(&t, false, &out);
    EXPECT_U64(out.len, 5);
    whole_text_end(&t, true, &out);
    EXPECT_STR(buf_cstr(&out), "a\xe2\x82\xac!\xf0\x9f");
    buf_fini(&out);
}

TEST(an_argv_is_a_list_of_words_with_a_program)
{
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {
        {"[\"ls\"]", true},   {"[\"ls\",\"\"]", true}, {"[]", false},
        {"[\"\"]", false},    {"[1]", false},          {"[\"a\\u0000\"]", false},
        {"{\"a\":1}", false}, {"\"ls\"", false},       {"[\"ls\",null]", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hf_error err;
        json_auto_t *v = json_parse(cases[i].text, strlen(cases[i].text), &err);

        EXPECT_INT(cf_is_argv(v), cases[i].ok);
    }
}
