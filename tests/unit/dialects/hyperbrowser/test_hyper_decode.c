/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hyper_decode.c - Bodies and frames of Hyperbrowser's clients.
 */
#include "dialects/hyperbrowser/hyper_decode.h"
#include "test.h"

#include <signal.h>

static json_t *tree(const char *text)
{
    json_t *t = json_parse(text, strlen(text), NULL);

    EXPECT(t != NULL);
    return t;
}

static int process_of(const char *text, struct hyper_request *a, json_t **body)
{
    struct hf_error err = {0};

    *body = tree(text);
    return hyper_decode_process(a, *body, &err);
}

TEST(a_command_is_a_line_for_the_shell)
{
    struct hyper_request a;
    json_t *body;

    EXPECT_INT(process_of("{\"command\":\"echo hi | cat\",\"cwd\":null}", &a, &body), 0);
    EXPECT_STR(a.spec.command, "echo hi | cat");
    EXPECT(a.spec.shell);
    EXPECT(!a.spec.pty);
    EXPECT(a.spec.cwd == NULL);
    hyper_request_fini(&a);
    json_decref(body);
}

/* Older clients send arguments beside the command; each of them stays one word. */
TEST(arguments_are_quoted_into_the_line)
{
    struct hyper_request a;
    json_t *body;

    EXPECT_INT(process_of("{\"command\":\"echo\",\"args\":[\"it's\",\"a b\",\"\"]}", &a, &body), 0);
    EXPECT_STR(a.spec.command, "'echo' 'it'\\''s' 'a b' ''");
    EXPECT_U64(a.spec.arg_count, 0);
    hyper_request_fini(&a);
    json_decref(body);
}

TEST(a_terminal_runs_a_program_unless_a_shell_is_asked_for)
{
    json_auto_t *plain = tree("{\"command\":\"bash\",\"args\":[\"-l\"],\"rows\":30,\"cols\":90}");
    json_auto_t *line = tree("{\"command\":\"ls | wc\",\"useShell\":true}");
    struct hf_error err = {0};
    struct hyper_request a;

    EXPECT_INT(hyper_decode_terminal(&a, plain, &err), 0);
    EXPECT(a.spec.pty && !a.spec.shell);
    EXPECT_U64(a.spec.arg_count, 1);
    EXPECT_INT(a.spec.rows, 30);
    hyper_request_fini(&a);
    EXPECT_INT(hyper_decode_terminal(&a, line, &err), 0);
    EXPECT(a.spec.shell);
    EXPECT_STR(a.spec.command, "ls | wc");
    hyper_request_fini(&a);
}

static void expect_timeout(const char *text, int64_t ms)
{
    json_auto_t *body = tree(text);
    struct hf_error err = {0};
    struct hyper_wait_request a;

    EXPECT_INT(hyper_decode_wait(&a, body, &err), 0);
    EXPECT_INT(a.timeout_ms, ms);
}

TEST(time_outs_come_in_two_units_and_milliseconds_count)
{
    struct hf_error err = {0};
    struct hyper_wait_request a;
    json_auto_t *bad = tree("{\"timeoutMs\":-1}"), *worse = tree("{\"timeout_sec\":1e300}");

    expect_timeout("{}", -1);
    expect_timeout("{\"timeoutMs\":null,\"timeout_sec\":null}", -1);
    expect_timeout("{\"timeoutMs\":0}", 0);
    expect_timeout("{\"timeoutMs\":1500.2}", 1501);
    expect_timeout("{\"timeout_sec\":0.5}", 500);
    expect_timeout("{\"timeout_sec\":2,\"timeoutMs\":100}", 100);
    EXPECT(hyper_decode_wait(&a, bad, &err) < 0);
    EXPECT_INT(err.code, HF_E_bad_value);
    EXPECT(hyper_decode_wait(&a, worse, &err) < 0);
}

static int signal_of(const char *text)
{
    json_auto_t *body = tree(text);
    struct hf_error err = {0};
    int signum;

    return hyper_decode_signal(body, &signum, &err) < 0 ? -1 : signum;
}

TEST(signals_have_names_and_numbers_or_none)
{
    EXPECT_INT(signal_of("{\"signal\":\"TERM\"}"), SIGTERM);
    EXPECT_INT(signal_of("{\"signal\":\"SIGHUP\"}"), SIGHUP);
    EXPECT_INT(signal_of("{\"signal\":9}"), SIGKILL);
    EXPECT_INT(signal_of("{}"), 0);
    EXPECT_INT(signal_of("{\"signal\":\"NONE\"}"), -1);
    EXPECT_INT(signal_of("{\"signal\":[]}"), -1);
}

static void expect_frame(const char *text, int rc, const char *bytes)
{
    struct hf_error err = {0};
    struct hyper_frame f;

    EXPECT_INT(hyper_decode_frame(&f, text, strlen(text), &err) < 0, rc < 0);
    if (bytes != NULL)
        EXPECT_MEM(buf_data(&f.bytes), f.bytes.len, bytes, strlen(bytes));
    if (rc < 0)
        EXPECT(err.detail[0] != '\0');
    buf_fini(&f.bytes);
}

TEST(frames_are_input_or_a_size)
{
    expect_frame("{\"type\":\"input\",\"data\":\"h\\u00e4\\n\"}", 0, "h\xc3\xa4\n");
    expect_frame("{\"type\":\"input\",\"data\":\"/w==\",\"encoding\":\"base64\"}", 0, "\xff");
    expect_frame("{\"type\":\"resize\",\"rows\":32,\"cols\":110}", 0, NULL);
    expect_frame("{\"type\":\"resize\",\"rows\":0,\"cols\":110}", -1, NULL);
    expect_frame("{\"type\":\"input\",\"data\":\"!\",\"encoding\":\"base64\"}", -1, NULL);
    expect_frame("{\"type\":\"ping\"}", -1, NULL);
    expect_frame("{", -1, NULL);
    expect_frame("7", -1, NULL);
}
