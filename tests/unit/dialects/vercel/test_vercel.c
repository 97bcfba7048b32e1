/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>

#include "dialects/vercel/vc_decode.h"
#include "dialects/vercel/vc_lines.h"
#include "dialects/vercel/vc_sandbox.h"
#include "dialects/vercel/vercel_limits.h"

static json_t *tree(const char *text)
{
    return json_loads(text, JSON_ALLOW_NUL, NULL);
}

/* --- commands ---------------------------------------------------------------------------- */

/* 0, or the name of the code; *c is to be freed. */
static const char *asked(struct vc_command *c, const char *body, const char *own)
{
    json_auto_t *b = tree(body), *o = own != NULL ? tree(own) : NULL;
    struct hf_error err = {0};

    if (vc_decode_command(c, b, o, &err) == 0)
        return "ok";
    return hf_code_name(err.code);
}

TEST(a_command_is_a_program_with_arguments)
{
    json_auto_t *body =
        tree("{\"command\":\"sh\",\"args\":[\"-c\",\"a b\"],\"cwd\":\"/x\",\"env\":{"
             "\"B\":\"2\"},\"wait\":true,\"logs\":true,\"sudo\":true,"
             "\"timeout\":1000,\"other\":1}");
    json_auto_t *own = tree("{\"A\":\"1\",\"B\":\"1\"}");
    struct vc_command c;
    struct hf_error err = {0};

    EXPECT_INT(vc_decode_command(&c, body, own, &err), 0);
    EXPECT_STR(c.body.spec.command, "sh");
    EXPECT_INT(c.body.spec.arg_count, 2);
    EXPECT_STR(c.body.spec.args[1], "a b");
    EXPECT_STR(c.body.spec.cwd, "/x");
    EXPECT_INT(c.body.spec.env_count, 2);
    EXPECT_STR(c.body.spec.env[0].value, "1");
    EXPECT_STR(c.body.spec.env[1].value, "2");
    EXPECT(c.wait && c.logs && c.sudo);
    EXPECT_INT(c.body.spec.timeout_ms, 1000);
    EXPECT_INT(c.body.spec.grace_ms, 0);
    EXPECT_INT(c.body.spec.stdin_mode, STDIN_NULL);
    EXPECT(!c.body.spec.shell && !c.body.spec.pty);
    EXPECT_INT(json_object_size(own), 2);
    EXPECT_STR(json_string_value(json_object_get(own, "B")), "1");
    vc_command_fini(&c);
}

TEST(a_plain_command_has_no_time_limit_and_the_usual_grace)
{
    struct vc_command c;

    EXPECT_STR(asked(&c, "{\"command\":\"ls\",\"cwd\":\"\",\"env\":null}", NULL), "ok");
    EXPECT_INT(c.body.spec.timeout_ms, 0);
    EXPECT_INT(c.body.spec.grace_ms, -1);
    EXPECT(c.body.spec.cwd == NULL && !c.wait && !c.logs);
    vc_command_fini(&c);
}

TEST(commands_that_are_none)
{
    static const char *const rows[][2] = {
        {"{}", "missing_field"},
        {"{\"command\":\"\"}", "bad_value"},
        {"{\"command\":7}", "bad_type"},
        {"{\"command\":\"x\",\"args\":{}}", "bad_type"},
        {"{\"command\":\"x\",\"args\":[7]}", "bad_type"},
        {"{\"command\":\"x\",\"env\":[]}", "bad_type"},
        {"{\"command\":\"x\",\"env\":{\"\":\"y\"}}", "bad_value"},
        {"{\"command\":\"x\",\"timeout\":-1}", "bad_value"},
        {"{\"command\":\"x\\u0000y\"}", "bad_value"},
    };
    struct vc_command c;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_STR(asked(&c, rows[i][0], NULL), rows[i][1]);
        vc_command_fini(&c);
    }
}

/* --- frames -------------------------------------------------------------------------------- */

static const char *framed(struct vc_frame *f, const char *text)
{
    struct hf_error err = {0};

    return vc_decode_frame(f, text, strlen(text), NULL, &err) == 0 ? "ok" : hf_code_name(err.code);
}

TEST(a_start_has_its_variables_in_a_list)
{
    struct vc_frame f;

    EXPECT_STR(framed(&f,
                      "{\"type\":\"start\",\"command\":\"sh\",\"args\":[\"-i\"],\"env\":[\"A=1=2\","
                      "\"B=\"],\"cwd\":\"/x\",\"cols\":91,\"rows\":33}"),
               "ok");
    EXPECT_INT(f.kind, VC_FRAME_START);
    EXPECT(f.start.body.spec.pty);
    EXPECT_INT(f.start.body.spec.rows, 33);
    EXPECT_INT(f.start.body.spec.cols, 91);
    EXPECT_STR(f.start.body.spec.env[0].name, "A");
    EXPECT_STR(f.start.body.spec.env[0].value, "1=2");
    EXPECT_STR(f.start.body.spec.env[1].value, "");
    vc_frame_fini(&f);
    EXPECT_STR(framed(&f, "{\"type\":\"start\",\"command\":\"sh\",\"cols\":0,\"rows\":5}"), "ok");
    EXPECT_INT(f.start.body.spec.rows, 0);
    vc_frame_fini(&f);
    EXPECT_STR(framed(&f, "{\"type\":\"resize\",\"cols\":80,\"rows\":24}"), "ok");
    EXPECT_INT(f.kind, VC_FRAME_RESIZE);
    vc_frame_fini(&f);
}

TEST(frames_that_are_none)
{
    static const char *const rows[][2] = {
        {"{", "bad_json"},
        {"[]", "bad_value"},
        {"7", "bad_value"},
        {"{\"type\":\"start\"}", "missing_field"},
        {"{\"type\":\"start\",\"command\":\"x\",\"env\":[\"=x\"]}", "bad_value"},
        {"{\"type\":\"start\",\"command\":\"x\",\"env\":[7]}", "bad_type"},
        {"{\"type\":\"start\",\"command\":\"x\",\"cols\":5000,\"rows\":1}", "bad_value"},
        {"{\"type\":\"resize\",\"cols\":80}", "bad_type"},
        {"{\"type\":\"resize\",\"cols\":0,\"rows\":1}", "bad_size"},
    };
    struct vc_frame f;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_STR(framed(&f, rows[i][0]), rows[i][1]);
        vc_frame_fini(&f);
    }
}

/* --- the rest -------------------------------------------------------------------------------- */

static const char *path_of(const char *body)
{
    static char out[PATH_MAX];
    json_auto_t *b = tree(body);
    struct hf_error err = {0};

    return vc_decode_path(b, "/home", out, &err) == 0 ? out : hf_code_name(err.code);
}

TEST(paths_lie_below_a_directory)
{
    EXPECT_STR(path_of("{\"path\":\"a\"}"), "/home/a");
    EXPECT_STR(path_of("{\"path\":\"a\",\"cwd\":\"/x\"}"), "/x/a");
    EXPECT_STR(path_of("{\"path\":\"/a\",\"cwd\":\"x\"}"), "/a");
    EXPECT_STR(path_of("{\"path\":\"a\",\"cwd\":\"x\"}"), "bad_value");
    EXPECT_STR(path_of("{\"path\":\"\"}"), "bad_value");
    EXPECT_STR(path_of("{}"), "missing_field");
    EXPECT_STR(path_of("{\"path\":\"a\\u0000\"}"), "bad_value");
}

TEST(a_kill_without_a_signal_is_term)
{
    json_auto_t *none = tree("{}"), *nine = tree("{\"signal\":9}"), *bad = tree("{\"signal\":0}");
    struct hf_error err = {0};
    int n = 0;

    EXPECT_INT(vc_decode_signal(none, &n, &err), 0);
    EXPECT_INT(n, SIGTERM);
    EXPECT_INT(vc_decode_signal(nine, &n, &err), 0);
    EXPECT_INT(n, 9);
    EXPECT(vc_decode_signal(bad, &n, &err) < 0);
}

TEST(what_cannot_be_kept_is_not_promised)
{
    static const char *const rows[][2] = {
        {"{\"source\":{\"type\":\"git\"}}", "source"},
        {"{\"mounts\":{\"/x\":{\"drive\":\"d\"}}}", "mounts"},
        {"{\"networkPolicy\":{\"mode\":\"deny-all\"}}", "networkPolicy"},
        {"{\"networkPolicy\":{\"allow\":[]}}", "networkPolicy"},
        {"{\"networkPolicy\":{\"mode\":\"allow-all\"},\"mounts\":{},\"source\":null}", ""},
        {"{\"name\":\"a/b\"}", "name"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *body = tree(rows[i][0]);
        struct hf_error err = {0};
        struct vc_create c;

        EXPECT_INT(vc_decode_create(&c, body, &err) == 0, rows[i][1][0] == '\0');
        EXPECT_STR(err.field, rows[i][1]);
    }
}

TEST(names_are_such_that_paths_can_hold_them)
{
    EXPECT(vc_name_is_valid("my-box_1.x"));
    EXPECT(!vc_name_is_valid(""));
    EXPECT(!vc_name_is_valid(".."));
    EXPECT(!vc_name_is_valid("a/b"));
    EXPECT(!vc_name_is_valid("a b"));
    EXPECT(!vc_name_is_valid("sessions"));
    EXPECT(vc_sandbox_is_session_id("sbx_abcdefghijklmnopqrstuvwx"));
    EXPECT(!vc_sandbox_is_session_id("sbx_abcdefghijklmnopqrstuvw"));
    EXPECT(!vc_sandbox_is_session_id("sbx_ABCDEFGHIJKLMNOPQRSTUVWX"));
}

/* --- lines ------------------------------------------------------------------------------------- */

#define OUT(text) "{\"stream\":\"stdout\",\"data\":\"" text "\"}\n"
#define ERR(text) "{\"stream\":\"stderr\",\"data\":\"" text "\"}\n"

TEST(a_line_is_ascii_and_a_cut_character_waits_for_its_rest)
{
    struct vc_lines l = {0};
    struct buf out = {0};

    vc_lines_put(&l, false, "h\xc3\xa9\n\xf0\x9f", 6, &out);
    EXPECT_STR(buf_cstr(&out), OUT("h\\u00e9\\n"));
    buf_clear(&out);
    vc_lines_put(&l, true, "e\xe4\xb8", 3, &out);
    vc_lines_put(&l, false, "\x98", 1, &out);
    EXPECT_STR(buf_cstr(&out), ERR("e"));
    buf_clear(&out);
    vc_lines_put(&l, false, "\x80!", 2, &out);
    vc_lines_put(&l, true, "\xad", 1, &out);
    EXPECT_STR(buf_cstr(&out), OUT("\\ud83d\\ude00!") ERR("\\u4e2d"));
    buf_clear(&out);
    vc_lines_end(&l, &out);
    EXPECT_INT(out.len, 0);
    buf_fini(&out);
}

TEST(what_never_becomes_a_character_is_told_as_such)
{
    struct vc_lines l = {0};
    struct buf out = {0};

    vc_lines_put(&l, false, "\xf0\x9f", 2, &out);
    vc_lines_put(&l, false, "x", 1, &out);
    EXPECT_STR(buf_cstr(&out), OUT("\\ufffd\\ufffdx"));
    buf_clear(&out);
    vc_lines_put(&l, false, "\xc3", 1, &out);
    vc_lines_put(&l, true, "\xc3", 1, &out);
    vc_lines_end(&l, &out);
    EXPECT_STR(buf_cstr(&out), OUT("\\ufffd") ERR("\\ufffd"));
    buf_fini(&out);
}

TEST(much_output_is_many_lines)
{
    static char bytes[2 * LIMIT_VERCEL_LINE_BYTES + 10];
    struct vc_lines l = {0};
    struct buf out = {0};
    size_t lines = 0;

    memset(bytes, 'x', sizeof bytes);
    vc_lines_put(&l, false, bytes, sizeof bytes, &out);
    for (size_t i = 0; i < out.len; i++)
        lines += buf_data(&out)[i] == '\n';
    EXPECT_INT(lines, 3);
    buf_fini(&out);
}

TEST(an_error_is_a_line_too)
{
    struct buf out = {0};

    vc_line_error(&out, "gone", "a \"b\"");
    EXPECT_STR(buf_cstr(&out),
               "{\"stream\":\"error\",\"data\":{\"code\":\"gone\",\"message\":\"a \\\"b\\\"\"}}\n");
    buf_fini(&out);
}
