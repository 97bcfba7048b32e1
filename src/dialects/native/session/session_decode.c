/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_decode.c - bodies of the session calls, decoded. Layer: dialects.
 */
#include "dialects/native/native_decode.h"

#include <stdlib.h>

#include "base/limits.h"
#include "dialects/common/spawn_decode.h"

struct create_body {
    const char *id, *cwd, *shell;
    json_t *env;
};

int session_request_decode(struct session_request *a, const json_t *body, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct create_body, id, .min = 1, .max = LIMIT_TAG_BYTES),
        JSON_FIELD(STR, struct create_body, cwd, .min = 1),
        JSON_FIELD(STR, struct create_body, shell, .min = 1),
        JSON_FIELD(OBJECT, struct create_body, env),
    };
    struct create_body b = {0};
    int rc;

    *a = (struct session_request){0};
    rc = json_decode(body, fields, sizeof fields / sizeof *fields, &b, err);
    if (rc < 0)
        return rc;
    a->spec = (struct session_spec){.id = b.id, .cwd = b.cwd, .shell = b.shell};
    rc = b.env != NULL ? spawn_request_env(b.env, &a->env, &a->spec.env_count, err) : 0;
    a->spec.env = a->env;
    return rc;
}

void session_request_fini(struct session_request *a)
{
    free(a->env);
}

struct run_body {
    const char *command, *source, *output_encoding, *stdin_encoding, *on_detach;
    json_t *stdin;
    int64_t timeout_ms, grace_ms, max_output_bytes;
};

static int decode_on_detach(struct session_run_request *a, const char *name, struct hf_error *err)
{
    static const char *const names[] = {"keep", "kill", NULL};
    int i = check_word(name, "on_detach", names, err);

    a->keep = i == 0;
    return i < 0 ? i : 0;
}

#define F(kind, member, ...) JSON_FIELD(kind, struct run_body, member, __VA_ARGS__)
int session_run_request_decode(struct session_run_request *a, const json_t *body,
                               struct hf_error *err)
{
    static const struct json_field fields[] = {
        F(STR, command, .min = 1, .max = LIMIT_SESSION_COMMAND_BYTES, .required = true),
        F(STR, source),
        F(INT, timeout_ms, .min = 0, .max = LIMIT_DURATION_MS),
        F(INT, grace_ms, .min = 0, .max = LIMIT_DURATION_MS),
        F(INT, max_output_bytes, .min = 0, .max = LIMIT_RUN_OUTPUT_MAX_BYTES),
        F(STR, output_encoding),
        F(ANY, stdin),
        F(STR, stdin_encoding),
        F(STR, on_detach),
    };
    struct run_body b = {.grace_ms = -1, .max_output_bytes = LIMIT_RUN_OUTPUT_BYTES};

    *a = (struct session_run_request){0};
    if (json_decode(body, fields, sizeof fields / sizeof *fields, &b, err) < 0)
        return -1;
    a->spec.command = b.command;
    a->spec.timeout_ms = b.timeout_ms;
    a->spec.grace_ms = b.grace_ms;
    a->spec.max_output_bytes = (uint64_t)b.max_output_bytes;
    if ((b.source != NULL && check_source(b.source, HF_E_bad_value, &a->spec.source, err) < 0) ||
        spawn_request_bytes(b.stdin, "stdin", b.stdin_encoding, &a->input, &a->spec.input,
                            &a->spec.input_len, err) < 0 ||
        (b.on_detach != NULL && decode_on_detach(a, b.on_detach, err) < 0))
        return -1;
    if (b.stdin != NULL && a->spec.input == NULL)
        a->spec.input = ""; /* empty, but present */
    return spawn_request_encoding(b.output_encoding, "output_encoding", &a->base64, err);
}
#undef F

void session_run_request_fini(struct session_run_request *a)
{
    buf_fini(&a->input);
}
