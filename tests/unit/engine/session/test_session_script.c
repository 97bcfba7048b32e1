/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_script.c - what goes to a session's shell, and what comes back
 */
#include "engine/session/session_script.h"

#include "test.h"

static void check_encoded(const char *command, const char *input, size_t input_len,
                          const char *want)
{
    struct buf out = {0};

    session_script_encode(&out, 12, command, strlen(command), input, input_len);
    EXPECT_STR(buf_cstr(&out), want);
    buf_fini(&out);
}

TEST(a_command_is_three_lines_whatever_it_holds)
{
    check_encoded("ls -l", NULL, 0, "12\nls -l\n-\n");
    check_encoded("a\n\tb\\n'\"$x\r", NULL, 0, "12\na\\n\tb\\\\n'\"$x\r\n-\n");
    check_encoded("cat", "", 0, "12\ncat\n+\n");
    check_encoded("cat", "a\\b\n\0\xff", 6, "12\ncat\n+a\\0134b\\0012\\0000\\0377\n");
}

/* The end of a line that the relay had half of must not look like a number. */
TEST(what_is_typed_is_a_line_of_which_no_end_is_a_number)
{
    struct buf out = {0};

    session_script_encode_typed(&out, 12, "read\nx", 6, false);
    EXPECT_STR(buf_cstr(&out), "12\nread\\nx\n=\n");
    buf_clear(&out);
    session_script_encode_typed(&out, 12, "cat", 3, true);
    EXPECT_STR(buf_cstr(&out), "12\ncat\n=e\n");
    buf_clear(&out);
    session_script_encode_typing(&out, "12\n\0\xff", 5);
    EXPECT_STR(buf_cstr(&out), "+12\\0012\\0000\\0377.\n");
    for (size_t i = 0; i + 1 < out.len; i++)
        EXPECT(strspn(buf_cstr(&out) + i, "0123456789") < out.len - 1 - i);
    buf_fini(&out);
}

TEST(typing_grows_no_more_than_is_said)
{
    char bytes[SESSION_TYPE_BYTES] = {0};
    struct buf out = {0};

    session_script_encode_typing(&out, bytes, sizeof bytes);
    EXPECT_U64(out.len, SESSION_TYPE_BYTES * SESSION_TYPE_FACTOR + 3);
    buf_fini(&out);
}

TEST(a_report_has_four_fields)
{
    struct session_report m;

    REQUIRE(session_report_parse("7 143 1234 /a b", 15, &m));
    EXPECT_U64(m.number, 7);
    EXPECT_INT(m.status, 143);
    EXPECT_BYTES(m.job, m.job_len, "1234");
    EXPECT_BYTES(m.cwd, m.cwd_len, "/a b");
    REQUIRE(session_report_parse("7 0  ", 5, &m));
    EXPECT_U64(m.job_len, 0);
    EXPECT_U64(m.cwd_len, 0);
}

/* A shell of an older daemon tells all of $PWD, however long that is. */
TEST(the_directory_of_a_report_is_cut)
{
    char text[SESSION_CWD_MAX + 100];
    struct session_report m;

    memset(text, 'x', sizeof text);
    memcpy(text, "7 3  /", 6);
    REQUIRE(session_report_parse(text, sizeof text, &m));
    EXPECT_U64(m.number, 7);
    EXPECT_INT(m.status, 3);
    EXPECT_U64(m.cwd_len, SESSION_CWD_MAX);
}

TEST(what_is_no_report_is_not_taken_for_one)
{
    static const char *const wrong[] = {
        "",         "7",       "7 0",     "7 0 ",   "x 0  /",
        "7 256  /", "7 -1  /", " 7 0  /", "7  0 /", "99999999999999999999 0  /"};
    struct session_report m;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bool is = session_report_parse(wrong[i], strlen(wrong[i]), &m);

        if (is)
            fprintf(stderr, "\"%s\"\n", wrong[i]);
        EXPECT(!is);
    }
}
