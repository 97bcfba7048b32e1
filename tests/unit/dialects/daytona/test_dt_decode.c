/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dt_decode.c - what Daytona's clients send
 */
#include "base/limits.h"
#include "dialects/daytona/dt_decode.h"
#include "test.h"

static json_t *tree(const char *text)
{
    json_t *t = json_parse(text, strlen(text), NULL);

    EXPECT(t != NULL);
    return t;
}

TEST(a_log_is_split_as_the_version_expects_it)
{
    EXPECT_INT(dt_split_for(NULL, NULL), DT_STRIPPED);
    EXPECT_INT(dt_split_for("0.26.9", NULL), DT_STRIPPED);
    EXPECT_INT(dt_split_for("nonsense", NULL), DT_STRIPPED);
    EXPECT_INT(dt_split_for("", NULL), DT_STRIPPED);
    EXPECT_INT(dt_split_for(NULL, "true"), DT_MARKED);
    EXPECT_INT(dt_split_for("0.27.0", NULL), DT_MARKED);
    EXPECT_INT(dt_split_for("0.166.0", NULL), DT_MARKED);
    EXPECT_INT(dt_split_for("0.167.0", NULL), DT_SPLIT);
    EXPECT_INT(dt_split_for("0.218.0", NULL), DT_SPLIT);
    EXPECT_INT(dt_split_for("1.0.0", NULL), DT_SPLIT);
    EXPECT_INT(dt_split_for("0.0.0-dev", NULL), DT_SPLIT);
    EXPECT_INT(dt_split_for("99999999999999999999.1", NULL), DT_STRIPPED);
}

TEST(variables_come_among_the_subprotocols)
{
    struct hf_error err = {0};
    json_t *envs = NULL;

    EXPECT_INT(dt_decode_offered_env("", &envs, &err), 0);
    EXPECT(envs == NULL);
    EXPECT_INT(dt_decode_offered_env("X-Daytona-Pty-Exit-Control", &envs, &err), 0);
    EXPECT(envs == NULL);
    EXPECT_INT(dt_decode_offered_env("X-Daytona-Pty-Envs~eyJYIjoieSJ9,  X-Daytona-Pty-Exit-Control",
                                     &envs, &err),
               0);
    EXPECT_STR(json_string_value(json_object_get(envs, "X")), "y");
    json_decref(envs);
    EXPECT(dt_decode_offered_env("X-Daytona-Pty-Envs~!!!", &envs, &err) < 0);
    EXPECT(dt_decode_offered_env("a, X-Daytona-Pty-Envs~e30x", &envs, &err) < 0);
}

TEST(a_version_may_come_among_the_subprotocols)
{
    char out[DT_PROTOCOL_BYTES], longer[400] = DT_VERSION_PROTOCOL;

    EXPECT_STR(dt_decode_offered_version("a, X-Daytona-SDK-Version~0.218.0, b", out), "0.218.0");
    EXPECT(dt_decode_offered_version("X-Daytona-SDK-Version~", out) == NULL);
    EXPECT(dt_decode_offered_version("b", out) == NULL);
    memset(longer + strlen(longer), '1', 200);
    EXPECT(dt_decode_offered_version(longer, out) == NULL);
}

TEST(variables_have_names_that_a_shell_takes)
{
    static const char *const wrong[] = {"{\"1A\":\"x\"}",  "{\"\":\"x\"}", "{\"A B\":\"x\"}",
                                        "{\"A=B\":\"x\"}", "{\"A\":1}",    "[]"};
    struct spec_env *env = NULL;
    struct hf_error err = {0};
    size_t count = 0;
    json_t *t = tree("{\"_a1\":\"x\",\"B\":\"\"}");

    EXPECT_INT(dt_decode_env(t, &env, &count, &err), 0);
    EXPECT_U64(count, 2);
    free(env);
    json_decref(t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        env = NULL;
        t = tree(wrong[i]);
        EXPECT(dt_decode_env(t, &env, &count, &err) < 0);
        free(env);
        json_decref(t);
    }
}

static int execute(const char *text, int64_t *timeout_s)
{
    struct dt_request a = {.tree = tree(text)};
    struct hf_error err = {0};
    int rc = dt_decode(&a, DT_EXECUTE, a.tree, &err);

    *timeout_s = a.timeout_s;
    dt_request_fini(&a);
    return rc;
}

TEST(a_command_must_be_one_and_a_time_out_a_number_of_seconds)
{
    int64_t s;

    EXPECT_INT(execute("{\"command\":\"ls\",\"timeout\":7,\"more\":1}", &s), 0);
    EXPECT_INT(s, 7);
    EXPECT_INT(execute("{\"command\":\"ls\",\"timeout\":null,\"envs\":null}", &s), 0);
    EXPECT_INT(s, 0);
    EXPECT_INT(execute("{\"command\":\"ls\",\"timeout\":4294967295}", &s), 0);
    EXPECT(s <= LIMIT_DURATION_MS / 1000);
    EXPECT(execute("{\"command\":\" \\n\"}", &s) < 0);
    EXPECT(execute("{}", &s) < 0);
    EXPECT(execute("{\"command\":\"ls\",\"timeout\":-1}", &s) < 0);
    EXPECT(execute("{\"command\":\"ls\",\"timeout\":1.5}", &s) < 0);
    EXPECT(execute("{\"command\":\"ls\",\"envs\":[]}", &s) < 0);
    EXPECT(execute("{\"command\":7}", &s) < 0);
}

TEST(a_command_of_a_session_may_be_asked_for_in_two_ways)
{
    struct dt_request a = {0};
    struct hf_error err = {0};
    json_t *t = tree("{\"command\":\"ls\",\"async\":true}");

    EXPECT_INT(dt_decode(&a, DT_EXEC, t, &err), 0);
    EXPECT(a.async && a.echo);
    json_decref(t);
    a = (struct dt_request){0};
    t = tree("{\"command\":\"ls\",\"runAsync\":true,\"suppressInputEcho\":true}");
    EXPECT_INT(dt_decode(&a, DT_EXEC, t, &err), 0);
    EXPECT(a.async && !a.echo);
    json_decref(t);
    t = tree("{\"command\":\"ls\",\"runAsync\":\"yes\"}");
    EXPECT(dt_decode(&a, DT_EXEC, t, &err) < 0);
    json_decref(t);
}

TEST(sizes_have_a_bound_and_zero_is_none)
{
    struct hf_error err = {0};
    struct dt_request a = {0};
    int64_t n = 0;
    json_t *t = tree("{\"rows\":1000,\"cols\":0}");

    EXPECT_INT(dt_decode(&a, DT_SIZE, t, &err), 0);
    EXPECT_INT(a.rows, 1000);
    EXPECT_INT(a.cols, 0);
    json_decref(t);
    t = tree("{\"rows\":1001,\"cols\":10}");
    EXPECT(dt_decode(&a, DT_SIZE, t, &err) < 0);
    json_decref(t);
    EXPECT_INT(dt_decode_side(NULL, "rows", &n, &err), 0);
    EXPECT_INT(dt_decode_side("40", "rows", &n, &err), 0);
    EXPECT_INT(n, 40);
    EXPECT(dt_decode_side("1001", "rows", &n, &err) < 0);
    EXPECT(dt_decode_side("-1", "rows", &n, &err) < 0);
    EXPECT(dt_decode_side("x", "rows", &n, &err) < 0);
}

static void check_artifacts(const char *text, const char *rest, size_t charts)
{
    struct buf b = {0};
    json_t *all;

    buf_puts(&b, text);
    all = dt_take_artifacts(&b);
    EXPECT_STR(buf_cstr(&b), rest);
    EXPECT_U64(json_array_size(all), charts);
    json_decref(all);
    buf_fini(&b);
}

TEST(lines_of_artifacts_are_taken_out_of_the_result)
{
    check_artifacts("", "", 0);
    check_artifacts("a\nb", "a\nb", 0);
    check_artifacts("a\ndtn_artifact_k39fd2:{\"type\":\"chart\",\"value\":{\"title\":\"t\"}}\nb\n",
                    "a\nb\n", 1);
    check_artifacts("dtn_artifact_k39fd2:{\"type\":\"chart\",\"value\":{}}", "", 1);
    check_artifacts("dtn_artifact_k39fd2:nonsense\nx\n", "x\n", 0);
    check_artifacts("xdtn_artifact_k39fd2:{}\n", "xdtn_artifact_k39fd2:{}\n", 0);
}

static enum dt_packet packet(const char *text, char **token)
{
    return dt_decode_packet(text, strlen(text), token);
}

TEST(packets_of_socket_io_are_told_apart)
{
    char *token;

    EXPECT_INT(packet("40{\"token\":\"t\"}", &token), DT_PACKET_CONNECT);
    EXPECT_STR(token, "t");
    free(token);
    EXPECT_INT(packet("40", &token), DT_PACKET_CONNECT);
    EXPECT_STR(token, "");
    free(token);
    EXPECT_INT(packet("40{\"token\":7}", &token), DT_PACKET_CONNECT);
    EXPECT_STR(token, "");
    free(token);
    EXPECT_INT(packet("3", &token), DT_PACKET_OTHER);
    EXPECT_INT(packet("2", &token), DT_PACKET_PING);
    EXPECT_INT(packet("41", &token), DT_PACKET_DISCONNECT);
    EXPECT_INT(packet("", &token), DT_PACKET_OTHER);
    EXPECT(token == NULL);
}
