/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_sandbox_agent.c - every body and frame of sandbox-agent's clients
 *
 * The same bytes go through all decoders. Whatever is taken must be in range, and
 * whatever is refused must name a code and a reason.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/limits.h"
#include "dialects/sandbox-agent/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 64

static const struct agent_config config = {64, 30000, 300000, 1 << 20, 10 << 20, INPUT_MAX};

static void check(int ok)
{
    if (!ok)
        abort();
}

static void check_refusal(int rc, const struct hf_error *err)
{
    check(rc == 0 || (err->code != HF_OK && err->detail[0] != '\0'));
}

static void try_start(const json_t *tree, bool run)
{
    struct hf_error err = {0};
    struct agent_request a;
    int rc = run ? agent_decode_run(&a, tree, &config, &err) : agent_decode_create(&a, tree, &err);
    const struct spawn_spec *s = &a.body.spec;

    check_refusal(rc, &err);
    if (rc == 0) {
        check(s->command != NULL && s->command[0] != '\0');
        check(s->arg_count <= LIMIT_ARGS && s->env_count <= LIMIT_ENV);
        for (size_t i = 0; i < s->arg_count; i++)
            check(s->args[i] != NULL);
        for (size_t i = 0; i < s->env_count; i++)
            check(s->env[i].name != NULL && s->env[i].name[0] != '\0');
        check(!run || (s->timeout_ms > 0 && s->timeout_ms <= config.max_run_ms && !s->pty));
        check(!run || (a.max_output >= 0 && a.max_output <= config.max_output));
    }
    spec_body_fini(&a.body);
}

static void try_rest(const json_t *tree)
{
    struct agent_config c = {0};
    struct hf_error err = {0};
    struct buf bytes = {0};
    int64_t rows, cols;
    int rc = agent_decode_config(&c, tree, &err);

    check_refusal(rc, &err);
    check(rc < 0 || (c.max_concurrent > 0 && c.default_run_ms > 0 && c.max_run_ms > 0 &&
                     c.max_output > 0 && c.max_log > 0 && c.max_input > 0));
    check(rc < 0 ||
          (c.default_run_ms <= c.max_run_ms && c.max_run_ms <= LIMIT_DURATION_MS &&
           c.max_output <= LIMIT_RUN_OUTPUT_MAX_BYTES && c.max_log <= LIMIT_RUN_OUTPUT_MAX_BYTES));
    err = (struct hf_error){0};
    rc = agent_decode_input(tree, "base64", INPUT_MAX, &bytes, &err);
    check_refusal(rc, &err);
    check(rc < 0 || bytes.len <= INPUT_MAX);
    buf_fini(&bytes);
    err = (struct hf_error){0};
    rc = agent_decode_size(tree, &rows, &cols, &err);
    check_refusal(rc, &err);
    check(rc < 0 || (rows >= 0 && rows <= UINT16_MAX && cols >= 0 && cols <= UINT16_MAX));
}

static void try_frame(const char *text, size_t len)
{
    struct hf_error err = {0};
    struct agent_frame f;
    int rc = agent_decode_frame(&f, text, len, INPUT_MAX, &err);

    check_refusal(rc, &err);
    check(rc < 0 || f.bytes.len <= INPUT_MAX);
    check(rc < 0 || f.kind == AGENT_FRAME_INPUT || f.bytes.len == 0);
    buf_fini(&f.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    json_t *tree = json_parse(text, size, NULL);

    try_frame(text, size);
    if (tree != NULL) {
        try_start(tree, false);
        try_start(tree, true);
        try_rest(tree);
    }
    json_decref(tree);
    return 0;
}
