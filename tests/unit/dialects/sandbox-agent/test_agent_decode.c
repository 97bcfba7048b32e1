/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_decode.c - Bodies and frames of sandbox-agent's clients.
 */
#include "base/limits.h"
#include "dialects/sandbox-agent/agent.h"
#include "test.h"

static const struct agent_config config = {64, 30000, 300000, 1 << 20, 10 << 20, 16};

static json_t *tree(const char *text)
{
    json_t *t = json_parse(text, strlen(text), NULL);

    EXPECT(t != NULL);
    return t;
}

TEST(a_create_has_pipes_unless_a_terminal_is_asked_for)
{
    json_auto_t *plain = tree("{\"command\":\"cat\",\"args\":[\"-\",\"a b\"],\"more\":1}");
    json_auto_t *tty = tree("{\"command\":\"sh\",\"tty\":true,\"interactive\":true,\"cwd\":null}");
    struct hf_error err = {0};
    struct agent_request a;

    EXPECT_INT(agent_decode_create(&a, plain, &err), 0);
    EXPECT(!a.body.spec.pty && a.body.spec.stdin_mode == STDIN_PIPE);
    EXPECT_U64(a.body.spec.arg_count, 2);
    EXPECT_STR(a.body.spec.args[1], "a b");
    spec_body_fini(&a.body);
    EXPECT_INT(agent_decode_create(&a, tty, &err), 0);
    EXPECT(a.body.spec.pty && a.body.spec.stdin_mode == STDIN_DEFAULT);
    EXPECT_STR(a.body.spec.metadata_json, "{\"interactive\":true}");
    spec_body_fini(&a.body);
}

/* 0 and absent are the default; nobody gets more than the configured most. */
TEST(a_run_is_bounded_by_the_config)
{
    static const struct {
        const char *body;
        int64_t timeout_ms, max_output;
    } rows[] = {
        {"{\"command\":\"x\"}", 30000, 1 << 20},
        {"{\"command\":\"x\",\"timeoutMs\":0,\"maxOutputBytes\":0}", 30000, 0},
        {"{\"command\":\"x\",\"timeoutMs\":5,\"maxOutputBytes\":5}", 5, 5},
        {"{\"command\":\"x\",\"timeoutMs\":9000000,\"maxOutputBytes\":9000000}", 300000, 1 << 20},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *body = tree(rows[i].body);
        struct hf_error err = {0};
        struct agent_request a;

        EXPECT_INT(agent_decode_run(&a, body, &config, &err), 0);
        EXPECT_INT(a.body.spec.timeout_ms, rows[i].timeout_ms);
        EXPECT_INT(a.max_output, rows[i].max_output);
        spec_body_fini(&a.body);
    }
}

/* What a run wrote is held in memory, so a client cannot lift that bound by the config. */
TEST(a_config_stays_below_the_daemons_own_limits)
{
    json_auto_t *body = tree("{\"maxConcurrentProcesses\":1,\"defaultRunTimeoutMs\":900,"
                             "\"maxRunTimeoutMs\":500,\"maxOutputBytes\":99999999999,"
                             "\"maxLogBytesPerProcess\":1,\"maxInputBytesPerRequest\":1}");
    json_auto_t *zero = tree("{\"maxConcurrentProcesses\":0,\"defaultRunTimeoutMs\":1,"
                             "\"maxRunTimeoutMs\":1,\"maxOutputBytes\":1,"
                             "\"maxLogBytesPerProcess\":1,\"maxInputBytesPerRequest\":1}");
    json_auto_t *part = tree("{\"maxOutputBytes\":1}");
    struct agent_config c = {0};
    struct hf_error err = {0};

    EXPECT_INT(agent_decode_config(&c, body, &err), 0);
    EXPECT_INT(c.default_run_ms, 500);
    EXPECT_INT(c.max_output, LIMIT_RUN_OUTPUT_MAX_BYTES);
    EXPECT(agent_decode_config(&c, zero, &err) < 0 && err.code == HF_E_bad_value);
    EXPECT(agent_decode_config(&c, part, &err) < 0 && err.code == HF_E_missing_field);
}

static enum hf_code input_of(const char *text, struct buf *bytes)
{
    json_auto_t *body = tree(text);
    struct hf_error err = {0};

    (void)agent_decode_input(body, "base64", config.max_input, bytes, &err);
    return err.code;
}

/* NUL is a key like any other: it was refused in text once. */
TEST(input_is_base64_unless_it_says_otherwise)
{
    struct buf bytes = {0};

    EXPECT_INT(input_of("{\"data\":\"b25lCg==\"}", &bytes), HF_OK);
    EXPECT_INT(input_of("{\"data\":\"a\\u0000\",\"encoding\":\"utf8\"}", &bytes), HF_OK);
    EXPECT_INT(input_of("{\"data\":\"b\",\"encoding\":\"text\"}", &bytes), HF_OK);
    EXPECT(bytes.len == 7 && memcmp(buf_data(&bytes), "one\na\0b", 7) == 0);
    buf_clear(&bytes);
    EXPECT_INT(input_of("{\"data\":\"!\"}", &bytes), HF_E_bad_value);
    EXPECT_INT(input_of("{\"data\":\"x\",\"encoding\":\"rot13\"}", &bytes), HF_E_bad_value);
    EXPECT_INT(input_of("{\"data\":7}", &bytes), HF_E_bad_type);
    EXPECT_INT(input_of("{}", &bytes), HF_E_missing_field);
    EXPECT_INT(input_of("{\"data\":\"12345678901234567\",\"encoding\":\"text\"}", &bytes),
               HF_E_body_too_large);
    buf_fini(&bytes);
}

static enum hf_code frame_of(const char *text, struct agent_frame *f)
{
    struct hf_error err = {0};

    (void)agent_decode_frame(f, text, strlen(text), config.max_input, &err);
    return err.code;
}

TEST(frames_are_input_as_text_sizes_and_the_close)
{
    struct agent_frame f;

    EXPECT_INT(frame_of("{\"type\":\"input\",\"data\":\"ls\"}", &f), HF_OK);
    EXPECT(f.kind == AGENT_FRAME_INPUT && f.bytes.len == 2);
    buf_fini(&f.bytes);
    EXPECT_INT(frame_of("{\"type\":\"resize\",\"cols\":120,\"rows\":40}", &f), HF_OK);
    EXPECT(f.kind == AGENT_FRAME_RESIZE && f.cols == 120 && f.rows == 40);
    EXPECT_INT(frame_of("{\"type\":\"close\"}", &f), HF_OK);
    EXPECT_INT(f.kind, AGENT_FRAME_CLOSE);
    EXPECT_INT(frame_of("{\"type\":\"resize\",\"cols\":65536,\"rows\":1}", &f), HF_E_bad_type);
    EXPECT_INT(frame_of("{\"type\":\"dance\"}", &f), HF_E_bad_value);
    EXPECT_INT(frame_of("[]", &f), HF_E_bad_value);
    EXPECT_INT(frame_of("{", &f), HF_E_bad_json);
}
