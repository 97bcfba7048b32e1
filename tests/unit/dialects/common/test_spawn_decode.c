/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spawn_decode.c - The create and run bodies of the native protocol: what becomes of each field, and which are refused.
 */
#include "dialects/common/spawn_decode.h"
#include "test.h"

#include "base/limits.h"

struct decoded {
    json_t *tree;
    struct spawn_request ask;
    struct hf_error err;
    int rc;
};

static struct decoded decode(const char *text, bool run)
{
    struct decoded d = {0};

    d.tree = json_parse(text, strlen(text), &d.err);
    REQUIRE(d.tree != NULL);
    d.rc = spawn_request_decode(&d.ask, d.tree, run, &d.err);
    return d;
}

static void done(struct decoded *d)
{
    spawn_request_fini(&d->ask);
    json_decref(d->tree);
}

static void expect_refused_by(bool run, const char *text, enum hf_code code, const char *field)
{
    struct decoded d = decode(text, run);

    EXPECT(d.rc < 0);
    if (d.err.code != code)
        fprintf(stderr, "%s: %s, not %s\n", text, hf_code_name(d.err.code), hf_code_name(code));
    EXPECT_INT(d.err.code, code);
    EXPECT_STR(d.err.field, field);
    EXPECT(d.err.detail[0] != '\0');
    done(&d);
}

static void expect_refused(const char *text, enum hf_code code, const char *field)
{
    expect_refused_by(false, text, code, field);
    expect_refused_by(true, text, code, field);
}

TEST(spawn_takes_every_field_of_the_protocol)
{
    struct decoded d = decode(
        "{\"command\":\"make\",\"args\":[\"-j\",\"\"],\"shell\":false,\"cwd\":\"/w\",\"env\":{\"A\":\"1\","
        "\"B\":null},\"clear_env\":true,\"user\":\"nobody\",\"pty\":{\"rows\":40,\"cols\":100},"
        "\"stdin\":\"inherit-pty\",\"input\":\"a\\u0000b\",\"tag\":\"t\",\"label\":\"l\","
        "\"metadata\":{\"k\":[1]},\"session_id\":\"s\",\"source\":\"agent\",\"timeout_ms\":5,"
        "\"grace_ms\":6,\"idle_timeout_ms\":7,\"retain_ms\":8,\"history_bytes\":65536,"
        "\"on_detach\":{\"kill_after_ms\":9},\"delivery\":\"lossless\",\"size_policy\":\"owner\","
        "\"limits\":{\"cpu_s\":1,\"memory_bytes\":2,\"processes\":3,\"open_files\":4,"
        "\"file_bytes\":5,\"nice\":-6,\"oom_score_adj\":7}}",
        false);
    const struct spawn_spec *s = &d.ask.spec;

    EXPECT_INT(d.rc, 0);
    EXPECT_STR(s->command, "make");
    EXPECT_U64(s->arg_count, 2);
    EXPECT_STR(s->args[0], "-j");
    EXPECT_STR(s->args[1], "");
    EXPECT_STR(s->cwd, "/w");
    EXPECT_U64(s->env_count, 2);
    EXPECT(s->clear_env && s->pty && !s->shell);
    EXPECT_INT(s->rows, 40);
    EXPECT_INT(s->cols, 100);
    EXPECT_INT(s->stdin_mode, STDIN_TTY);
    EXPECT_BYTES(s->input, s->input_len, "a\0b");
    EXPECT_STR(s->metadata_json, "{\"k\":[1]}");
    EXPECT_INT(s->source, SOURCE_AGENT);
    EXPECT_INT(s->timeout_ms, 5);
    EXPECT_INT(s->grace_ms, 6);
    EXPECT_INT(s->idle_timeout_ms, 7);
    EXPECT_INT(s->retain_ms, 8);
    EXPECT_INT(s->history_bytes, 65536);
    EXPECT_INT(s->on_detach, DETACH_KILL_AFTER);
    EXPECT_INT(s->detach_ms, 9);
    EXPECT_INT(s->delivery, DELIVERY_LOSSLESS);
    EXPECT_INT(s->size_policy, SIZE_OWNER);
    EXPECT_INT(s->cpu_s, 1);
    EXPECT_INT(s->file_bytes, 5);
    EXPECT(s->set_nice && s->set_oom);
    EXPECT_INT(s->nice, -6);
    done(&d);
}

TEST(spawn_leaves_the_engine_s_defaults_where_nothing_is_said)
{
    struct decoded d = decode("{\"command\":\"true\"}", false);
    struct spawn_spec plain;

    spec_init(&plain);
    EXPECT_INT(d.rc, 0);
    EXPECT_INT(d.ask.spec.grace_ms, plain.grace_ms);
    EXPECT_INT(d.ask.spec.retain_ms, plain.retain_ms);
    EXPECT_INT(d.ask.spec.history_bytes, plain.history_bytes);
    EXPECT_INT(d.ask.spec.cpu_s, plain.cpu_s);
    EXPECT_INT(d.ask.spec.stdin_mode, STDIN_DEFAULT);
    EXPECT(!d.ask.spec.set_nice && !d.ask.spec.pty && !d.ask.keep);
    EXPECT_INT(d.ask.max_output_bytes, LIMIT_RUN_OUTPUT_BYTES);
    done(&d);
}

TEST(spawn_takes_a_terminal_of_the_usual_size)
{
    struct decoded d = decode("{\"command\":\"sh\",\"pty\":true}", false);

    EXPECT(d.ask.spec.pty);
    EXPECT_INT(d.ask.spec.rows, 0); /* the engine's default */
    done(&d);
    d = decode("{\"command\":\"sh\",\"pty\":{\"cols\":132}}", false);
    EXPECT(d.ask.spec.pty);
    EXPECT_INT(d.ask.spec.rows, 24);
    EXPECT_INT(d.ask.spec.cols, 132);
    done(&d);
    d = decode("{\"command\":\"sh\",\"pty\":false}", false);
    EXPECT(!d.ask.spec.pty);
    done(&d);
}

/* A typo in timeout_ms once would have meant "no time-out". */
TEST(spawn_refuses_fields_it_does_not_know)
{
    expect_refused("{\"command\":\"x\",\"timout_ms\":5}", HF_E_unknown_field, "timout_ms");
    expect_refused("{\"command\":\"x\",\"pty\":{\"row\":5}}", HF_E_unknown_field, "row");
    expect_refused("{\"command\":\"x\",\"limits\":{\"cpu\":5}}", HF_E_unknown_field, "cpu");
    expect_refused("{\"command\":\"x\",\"on_detach\":{\"kill\":5}}", HF_E_unknown_field, "kill");
    expect_refused_by(false, "{\"command\":\"x\",\"max_output_bytes\":5}", HF_E_unknown_field,
                      "max_output_bytes");
    expect_refused_by(false, "{\"command\":\"x\",\"output_encoding\":\"utf8\"}", HF_E_unknown_field,
                      "output_encoding");
}

TEST(spawn_refuses_wrong_types_and_values)
{
    expect_refused("{}", HF_E_missing_field, "command");
    expect_refused("[]", HF_E_bad_type, "");
    expect_refused("{\"command\":1}", HF_E_bad_type, "command");
    expect_refused("{\"command\":\"\"}", HF_E_bad_value, "command");
    expect_refused("{\"command\":\"a\\u0000b\"}", HF_E_bad_value, "command");
    expect_refused("{\"command\":\"x\",\"args\":[1]}", HF_E_bad_type, "args");
    expect_refused("{\"command\":\"x\",\"args\":[\"a\\u0000\"]}", HF_E_bad_value, "args");
    expect_refused("{\"command\":\"x\",\"env\":{\"\":\"v\"}}", HF_E_bad_value, "env");
    expect_refused("{\"command\":\"x\",\"env\":{\"A=B\":\"v\"}}", HF_E_bad_value, "env");
    expect_refused("{\"command\":\"x\",\"env\":{\"A\":\"\\u0000\"}}", HF_E_bad_value, "env");
    expect_refused("{\"command\":\"x\",\"env\":{\"A\":5}}", HF_E_bad_type, "env");
    expect_refused("{\"command\":\"x\",\"pty\":5}", HF_E_bad_type, "pty");
    expect_refused("{\"command\":\"x\",\"pty\":{\"rows\":0}}", HF_E_bad_size, "rows");
    expect_refused("{\"command\":\"x\",\"pty\":{\"cols\":4097}}", HF_E_bad_size, "cols");
    expect_refused("{\"command\":\"x\",\"stdin\":\"inherit-pty\"}", HF_E_bad_value, "stdin");
    expect_refused("{\"command\":\"x\",\"pty\":true,\"stdin\":\"pipe\"}", HF_E_bad_value, "stdin");
    expect_refused("{\"command\":\"x\",\"source\":\"robot\"}", HF_E_bad_value, "source");
    expect_refused("{\"command\":\"x\",\"delivery\":\"fast\"}", HF_E_bad_value, "delivery");
    expect_refused("{\"command\":\"x\",\"size_policy\":\"big\"}", HF_E_bad_value, "size_policy");
    expect_refused("{\"command\":\"x\",\"on_detach\":\"die\"}", HF_E_bad_value, "on_detach");
    expect_refused("{\"command\":\"x\",\"on_detach\":5}", HF_E_bad_type, "on_detach");
    expect_refused("{\"command\":\"x\",\"on_detach\":{}}", HF_E_missing_field, "kill_after_ms");
    expect_refused("{\"command\":\"x\",\"timeout_ms\":-1}", HF_E_bad_value, "timeout_ms");
    expect_refused("{\"command\":\"x\",\"input\":5}", HF_E_bad_type, "input");
    expect_refused("{\"command\":\"x\",\"input\":\"!\",\"input_encoding\":\"base64\"}",
                   HF_E_bad_value, "input");
    expect_refused("{\"command\":\"x\",\"input_encoding\":\"hex\"}", HF_E_bad_value,
                   "input_encoding");
    expect_refused("{\"command\":\"x\",\"limits\":{\"nice\":20}}", HF_E_bad_value, "nice");
    expect_refused_by(true, "{\"command\":\"x\",\"output_encoding\":\"hex\"}", HF_E_bad_value,
                      "output_encoding");
    /* Who waits in run is no viewer that could detach. */
    expect_refused_by(true, "{\"command\":\"x\",\"on_detach\":{\"kill_after_ms\":5}}",
                      HF_E_bad_value, "on_detach");
}

TEST(spawn_decodes_base64_input)
{
    struct decoded d =
        decode("{\"command\":\"x\",\"input\":\"AP8K\",\"input_encoding\":\"base64\"}", false);

    EXPECT_INT(d.rc, 0);
    EXPECT_BYTES(d.ask.spec.input, d.ask.spec.input_len, "\0\xff\n");
    done(&d);
}

TEST(run_takes_what_is_its_own)
{
    struct decoded d = decode("{\"command\":\"x\",\"max_output_bytes\":0,\"output_encoding\":"
                              "\"base64\",\"on_detach\":\"keep\"}",
                              true);

    EXPECT_INT(d.rc, 0);
    EXPECT_INT(d.ask.max_output_bytes, 0);
    EXPECT(d.ask.base64 && d.ask.keep);
    done(&d);
}
