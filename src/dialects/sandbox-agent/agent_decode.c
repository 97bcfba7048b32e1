/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_decode.c - decodes the bodies and frames of sandbox-agent's clients. Layer: dialects.
 */
#include "dialects/sandbox-agent/agent_decode.h"

#include <string.h>

#include "base/limits.h"
#include "base/text.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define RUN_GRACE_MS 50 /* at a timeout TERM is only a courtesy */

/* --- limits -------------------------------------------------------------------------------- */

#define LIMIT_OF(n, m)                                                                             \
    BRACES(.name = n, .kind = JSON_F_INT, .offset = offsetof(struct agent_config, m), .min = 1,    \
           .max = INT64_MAX, .required = true)
const struct json_field agent_config_fields[AGENT_CONFIG_FIELDS] = {
    LIMIT_OF("maxConcurrentProcesses", max_concurrent),
    LIMIT_OF("defaultRunTimeoutMs", default_run_ms),
    LIMIT_OF("maxRunTimeoutMs", max_run_ms),
    LIMIT_OF("maxOutputBytes", max_output),
    LIMIT_OF("maxLogBytesPerProcess", max_log),
    LIMIT_OF("maxInputBytesPerRequest", max_input),
};

int64_t *agent_config_at(struct agent_config *c, size_t i)
{
    return (int64_t *)(void *)((char *)c + agent_config_fields[i].offset);
}

static void lower(int64_t *value, int64_t max)
{
    if (*value > max)
        *value = max;
}

/* A reply is built in memory, so there is a bound that no client can raise. */
int agent_decode_config(struct agent_config *c, const json_t *body, struct hf_error *err)
{
    int rc = json_decode_known(body, agent_config_fields, AGENT_CONFIG_FIELDS, c, err);

    if (rc < 0)
        return rc;
    lower(&c->max_run_ms, LIMIT_DURATION_MS);
    lower(&c->default_run_ms, c->max_run_ms);
    lower(&c->max_output, LIMIT_RUN_OUTPUT_MAX_BYTES);
    lower(&c->max_log, LIMIT_RUN_OUTPUT_MAX_BYTES);
    return 0;
}

/* --- commands ---------------------------------------------------------------------------- */

#define FIELDS_OF_BOTH                                                                             \
    SPEC_FIELD("command", STR, spec.command, .required = true, .min = 1),                          \
        SPEC_FIELD("cwd", STR, spec.cwd), SPEC_FIELD("args", ARRAY, args),                         \
        SPEC_FIELD("env", OBJECT, env)

static const struct json_field create_fields[] = {
    FIELDS_OF_BOTH,
    SPEC_FIELD("tty", BOOL, spec.pty),
    {.name = "interactive",
     .kind = JSON_F_BOOL,
     .offset = offsetof(struct agent_request, interactive),
     .nullable = true},
};
static const struct json_field run_fields[] = {
    FIELDS_OF_BOTH,
    SPEC_FIELD("timeoutMs", INT, spec.timeout_ms, .max = INT64_MAX),
    {.name = "maxOutputBytes",
     .kind = JSON_F_INT,
     .offset = offsetof(struct agent_request, max_output),
     .max = INT64_MAX,
     .nullable = true},
};

int agent_decode_create(struct agent_request *a, const json_t *body, struct hf_error *err)
{
    struct spawn_spec *s = &a->body.spec;
    int rc;

    *a = (struct agent_request){0};
    spec_body_init(&a->body);
    rc = spec_body_decode(&a->body, body, create_fields, COUNT(create_fields), err);
    if (rc < 0)
        return rc;
    s->source = SOURCE_AGENT;
    s->stdin_mode = s->pty ? STDIN_DEFAULT : STDIN_PIPE;
    s->metadata_json = a->interactive ? "{\"interactive\":true}" : NULL;
    return 0;
}

int agent_decode_run(struct agent_request *a, const json_t *body, const struct agent_config *c,
                     struct hf_error *err)
{
    struct spawn_spec *s = &a->body.spec;
    int rc;

    *a = (struct agent_request){.max_output = c->max_output};
    spec_body_init(&a->body);
    s->timeout_ms = 0;
    rc = spec_body_decode(&a->body, body, run_fields, COUNT(run_fields), err);
    if (rc < 0)
        return rc;
    s->source = SOURCE_AGENT;
    if (s->timeout_ms == 0)
        s->timeout_ms = c->default_run_ms;
    lower(&s->timeout_ms, c->max_run_ms);
    s->grace_ms = RUN_GRACE_MS;
    s->stdin_mode = STDIN_NULL;
    lower(&a->max_output, c->max_output);
    return 0;
}

/* --- input and sizes ------------------------------------------------------------------------ */

static int decode(const json_t *data, const char *encoding, struct buf *out, struct hf_error *err)
{
    const char *text = json_string_value(data);
    size_t len = json_string_length(data);

    if (strcmp(encoding, "utf8") == 0 || strcmp(encoding, "text") == 0)
        buf_put(out, text, len);
    else if (strcmp(encoding, "base64") != 0)
        return hf_fail_field(err, HF_E_bad_value, "encoding",
                             "encoding must be base64, utf8 or text");
    else if (!base64_decode(out, text, len))
        return hf_fail_field(err, HF_E_bad_value, "data", "data is not valid base64");
    return 0;
}

static int decode_data(const json_t *body, const char *encoding, int64_t max, struct buf *bytes,
                       struct hf_error *err)
{
    const json_t *data = json_object_get(body, "data"), *name = json_object_get(body, "encoding");

    if (!json_is_string(data))
        return hf_fail_field(err, data == NULL ? HF_E_missing_field : HF_E_bad_type, "data",
                             data == NULL ? "missing field `data`" : "`data` must be a string");
    if (name != NULL && !json_is_null(name) &&
        (encoding = json_text(name, "encoding", err)) == NULL)
        return -1;
    if (decode(data, encoding, bytes, err) < 0)
        return -1;
    if (bytes->len > (size_t)max)
        return hf_fail_field(err, HF_E_body_too_large, "data",
                             "input payload exceeds maxInputBytesPerRequest (%lld)",
                             (long long)max);
    return 0;
}

int agent_decode_input(const json_t *body, int64_t max, struct buf *bytes, struct hf_error *err)
{
    return decode_data(body, "base64", max, bytes, err);
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

/* --- frames of a terminal ------------------------------------------------------------------- */

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
        return decode_data(frame, "utf8", max, &f->bytes, err);
    }
    if (type == NULL || strcmp(type, "resize") != 0)
        return hf_fail_field(err, HF_E_bad_value, "type", "unknown type");
    f->kind = AGENT_FRAME_RESIZE;
    return agent_decode_size(frame, &f->rows, &f->cols, err);
}
