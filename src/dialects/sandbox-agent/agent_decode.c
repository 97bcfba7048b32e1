/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_decode.c - decodes the bodies and frames of sandbox-agent's clients. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "dialects/common/input_decode.h"
#include "dialects/sandbox-agent/agent.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define RUN_GRACE_MS 50 /* at a timeout TERM is only a courtesy */

#define LIMIT_OF(n, m, most)                                                                       \
    JSON_FIELD_AS(n, INT, struct agent_config, m, .min = 1, .max = most, .clamp = true,            \
                  .required = true)
/* A reply is built in memory, so there is a bound that no client can raise. */
static const struct json_field config_fields[] = {
    LIMIT_OF("maxConcurrentProcesses", max_concurrent, INT64_MAX),
    LIMIT_OF("defaultRunTimeoutMs", default_run_ms, INT64_MAX),
    LIMIT_OF("maxRunTimeoutMs", max_run_ms, LIMIT_DURATION_MS),
    LIMIT_OF("maxOutputBytes", max_output, LIMIT_RUN_OUTPUT_MAX_BYTES),
    LIMIT_OF("maxLogBytesPerProcess", max_log, LIMIT_RUN_OUTPUT_MAX_BYTES),
    LIMIT_OF("maxInputBytesPerRequest", max_input, INT64_MAX),
};

json_t *agent_config_json(const struct agent_config *c)
{
    return json_encode(config_fields, COUNT(config_fields), c);
}

static void lower(int64_t *value, int64_t max)
{
    if (*value > max)
        *value = max;
}

int agent_decode_config(struct agent_config *c, const json_t *body, struct hf_error *err)
{
    int rc = json_decode_known(body, config_fields, COUNT(config_fields), c, err);

    lower(&c->default_run_ms, c->max_run_ms);
    return rc;
}

#define AGENT_FIELD(n, k, m, ...) JSON_FIELD_AS(n, k, struct agent_request, m, __VA_ARGS__)

/* A create has all fields but the last two, a run all but the first two. Null means "not given" for
 * the last three of a run and `cwd` only. */
static const struct json_field request_fields[] = {
    AGENT_FIELD("tty", BOOL, body.spec.pty, .nullable = false),
    AGENT_FIELD("interactive", BOOL, interactive, .nullable = false),
    AGENT_FIELD("command", STR, body.spec.command, .required = true),
    AGENT_FIELD("args", ARRAY, body.args, .nullable = false),
    AGENT_FIELD("env", OBJECT, body.env, .nullable = false),
    AGENT_FIELD("cwd", STR, body.spec.cwd, .nullable = true),
    AGENT_FIELD("timeoutMs", INT, body.spec.timeout_ms, .max = INT64_MAX, .nullable = true),
    AGENT_FIELD("maxOutputBytes", INT, max_output, .max = INT64_MAX, .nullable = true),
};
#define REQUEST_FIELDS (COUNT(request_fields) - 2)

/* Of the rules that the table cannot express, which status each has is the original's. */
static int check_types(const json_t *body, struct hf_error *err)
{
    static const char *const unsigned_[] = {"timeoutMs", "maxOutputBytes"};
    const char *name;
    json_t *value;

    json_object_foreach (json_object_get(body, "env"), name, value)
        if (!json_is_string(value))
            return hf_fail_field(err, HF_E_bad_type, "env",
                                 "the values of \"env\" must be strings");
    for (size_t i = 0; i < COUNT(unsigned_); i++)
        if (json_integer_value(json_object_get(body, unsigned_[i])) < 0)
            return hf_fail_field(err, HF_E_bad_type, unsigned_[i], "\"%s\" must not be negative",
                                 unsigned_[i]);
    return 0;
}

static int check_values(const struct spawn_spec *s, struct hf_error *err)
{
    if (s->command[strspn(s->command, " \t\n\v\f\r")] == '\0')
        return hf_fail_field(err, HF_E_bad_value, "command", "command must not be empty");
    if (s->cwd != NULL && s->cwd[0] == '\0')
        return hf_fail_field(err, HF_E_spawn_failed, "cwd",
                             "No such file or directory: \"cwd\" is empty");
    return 0;
}

static int decode_spec(struct agent_request *a, const json_t *body, const struct json_field *fields,
                       struct hf_error *err)
{
    int rc = check_types(body, err);

    spec_body_init(&a->body);
    if (rc == 0)
        rc = spec_body_decode(&a->body, body, fields, REQUEST_FIELDS, err);
    return rc < 0 ? rc : check_values(&a->body.spec, err);
}

int agent_decode_create(struct agent_request *a, const json_t *body, struct hf_error *err)
{
    struct spawn_spec *s = &a->body.spec;
    int rc;

    *a = (struct agent_request){0};
    rc = decode_spec(a, body, request_fields, err);
    s->source = SOURCE_AGENT;
    s->stdin_mode = s->pty ? STDIN_DEFAULT : STDIN_PIPE;
    s->metadata_json = a->interactive ? "{\"interactive\":true}" : NULL;
    return rc;
}

int agent_decode_run(struct agent_request *a, const json_t *body, const struct agent_config *c,
                     struct hf_error *err)
{
    struct spawn_spec *s = &a->body.spec;
    int rc;

    *a = (struct agent_request){.max_output = c->max_output};
    rc = decode_spec(a, body, request_fields + 2, err);
    s->source = SOURCE_AGENT;
    if (s->timeout_ms == 0)
        s->timeout_ms = c->default_run_ms;
    lower(&s->timeout_ms, c->max_run_ms);
    s->grace_ms = RUN_GRACE_MS;
    s->stdin_mode = STDIN_NULL;
    lower(&a->max_output, c->max_output);
    return rc;
}

int agent_decode_input(const json_t *body, const char *encoding, int64_t max, struct buf *bytes,
                       struct hf_error *err)
{
    static const char *const names[] = {"base64", "utf8", "text", NULL};
    const json_t *data = json_object_get(body, "data");

    if (!json_is_string(data))
        return hf_fail_field(err, data == NULL ? HF_E_missing_field : HF_E_bad_type, "data",
                             data == NULL ? "missing field `data`" : "`data` must be a string");
    if (input_data_decode(body, encoding, names, bytes, err) < 0)
        return -1;
    if (bytes->len > (size_t)max)
        return hf_fail_field(err, HF_E_body_too_large, "data",
                             "input payload exceeds maxInputBytesPerRequest (%lld)",
                             (long long)max);
    return 0;
}

int agent_decode_size(const json_t *body, int64_t *rows, int64_t *cols, struct hf_error *err)
{
    const json_t *r = json_object_get(body, "rows"), *c = json_object_get(body, "cols");

    *rows = json_integer_value(r);
    *cols = json_integer_value(c);
    if (!json_is_integer(r) || !json_is_integer(c) || *rows < 0 || *rows > UINT16_MAX ||
        *cols < 0 || *cols > UINT16_MAX)
        return hf_fail(err, HF_E_bad_type, "cols and rows must be 16-bit numbers");
    return 0;
}

int agent_decode_frame(struct agent_frame *f, const char *text, size_t len, int64_t max,
                       struct hf_error *err)
{
    json_auto_t *frame = json_parse(text, len, err);
    const char *type = json_string_value(json_object_get(frame, "type"));

    *f = (struct agent_frame){.kind = AGENT_FRAME_CLOSE};
    if (frame == NULL)
        return -1;
    if (type != NULL && strcmp(type, "close") == 0)
        return 0;
    if (type != NULL && strcmp(type, "input") == 0) {
        f->kind = AGENT_FRAME_INPUT;
        return agent_decode_input(frame, "utf8", max, &f->bytes, err);
    }
    if (type == NULL || strcmp(type, "resize") != 0)
        return hf_fail_field(err, HF_E_bad_value, "type", "unknown type");
    f->kind = AGENT_FRAME_RESIZE;
    return agent_decode_size(frame, &f->rows, &f->cols, err);
}
