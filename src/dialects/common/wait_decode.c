/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_decode.c - decodes the body of POST …/wait. Layer: dialects.
 */
#include "dialects/common/wait_decode.h"

#include <string.h>

#include "base/limits.h"

struct wait_decode_body {
    json_t *until;
    int64_t from, timeout_ms;
};

static const struct json_field body_fields[] = {
    JSON_FIELD(ARRAY, struct wait_decode_body, until, .required = true),
    JSON_FIELD(INT, struct wait_decode_body, from, .min = 0, .max = INT64_MAX),
    JSON_FIELD(INT, struct wait_decode_body, timeout_ms, .min = 0, .max = LIMIT_DURATION_MS),
};

static const char *const kind_names[] = {
    [WAIT_TEXT] = "text",
    [WAIT_REGEX] = "regex",
    [WAIT_QUIET] = "quiet_ms",
    [WAIT_EXIT] = "exit",
    [WAIT_PROMPT] = "prompt",
    [WAIT_PORT] = "port",
    [WAIT_BLOCKED] = "blocked_on_tty",
    [WAIT_ECHO_OFF] = "echo_off",
};

const char *wait_kind_name(enum wait_kind kind)
{
    return kind_names[kind];
}

/* Text may contain any character, including NUL. */
static int decode_text(const json_t *v, struct wait_condition *c, size_t max, struct hf_error *err)
{
    const char *name = kind_names[c->kind];

    c->text = json_string_value(v);
    c->len = json_string_length(v);
    if (c->text == NULL)
        return hf_fail_field(err, HF_E_bad_type, name, "\"%s\" must be a string", name);
    if (c->len < 1 || c->len > max)
        return hf_fail_field(err, HF_E_bad_value, name, "\"%s\" must have 1 to %zu bytes", name,
                             max);
    return 0;
}

static int decode_quiet(const json_t *v, struct wait_condition *c, struct hf_error *err)
{
    c->quiet_ms = json_integer_value(v);
    if (!json_is_integer(v))
        return hf_fail_field(err, HF_E_bad_type, "quiet_ms", "\"quiet_ms\" must be an integer");
    if (c->quiet_ms < 1 || c->quiet_ms > LIMIT_DURATION_MS)
        return hf_fail_field(err, HF_E_bad_value, "quiet_ms", "\"quiet_ms\" must be from 1 to %lld",
                             (long long)LIMIT_DURATION_MS);
    return 0;
}

static int decode_true(const json_t *v, const char *name, struct hf_error *err)
{
    if (!json_is_boolean(v))
        return hf_fail_field(err, HF_E_bad_type, name, "\"%s\" must be true", name);
    if (!json_is_true(v))
        return hf_fail_field(err, HF_E_bad_value, name,
                             "\"%s\" must be true; leave the condition out otherwise", name);
    return 0;
}

static int decode_port(const json_t *v, struct wait_condition *c, struct hf_error *err)
{
    json_int_t port = json_integer_value(v);

    if (!json_is_integer(v))
        return hf_fail_field(err, HF_E_bad_type, "port", "\"port\" must be an integer");
    if (port < 1 || port > UINT16_MAX)
        return hf_fail_field(err, HF_E_bad_value, "port", "\"port\" must be from 1 to %d",
                             UINT16_MAX);
    c->port = (uint16_t)port;
    return 0;
}

static int decode_value(const json_t *v, struct wait_condition *c, struct hf_error *err)
{
    switch (c->kind) {
    case WAIT_TEXT: return decode_text(v, c, LIMIT_TEXT_BYTES, err);
    case WAIT_REGEX: return decode_text(v, c, LIMIT_REGEX_BYTES, err);
    case WAIT_QUIET: return decode_quiet(v, c, err);
    case WAIT_PORT: return decode_port(v, c, err);
    case WAIT_EXIT:
    case WAIT_PROMPT:
    case WAIT_BLOCKED:
    case WAIT_ECHO_OFF: break;
    }
    return decode_true(v, kind_names[c->kind], err);
}

/* -1: no condition has this name. */
static int kind_of(const char *name)
{
    for (int i = WAIT_TEXT; i <= WAIT_ECHO_OFF; i++) {
        if (strcmp(name, kind_names[i]) == 0)
            return i;
    }
    return -1;
}

/* The field that names the condition; "any" only modifies a port. */
static const char *name_of(const json_t *v, struct wait_condition *c, struct hf_error *err)
{
    const json_t *any = json_object_get(v, "any");
    const char *name = NULL, *key;
    json_t *value;

    if (any != NULL && !json_is_boolean(any)) {
        hf_fail_field(err, HF_E_bad_type, "any", "\"any\" must be true or false");
        return NULL;
    }
    c->any = json_is_true(any);
    json_object_foreach ((json_t *)v, key, value) {
        if (strcmp(key, "any") == 0 && json_object_get(v, "port") != NULL)
            continue;
        if (name != NULL) {
            hf_fail_field(err, HF_E_bad_value, "until",
                          "each condition has one field, such as {\"text\":\"ready\"}");
            return NULL;
        }
        name = key;
    }
    if (name == NULL)
        hf_fail_field(err, HF_E_bad_value, "until",
                      "each condition has one field, such as {\"text\":\"ready\"}");
    return name;
}

int wait_request_add(struct wait_request *a, const char *name, const json_t *value,
                     struct hf_error *err)
{
    struct wait_condition *c = &a->until[a->count];
    int kind = kind_of(name);

    if (a->count == WAIT_CONDITIONS_MAX)
        return hf_fail_field(err, HF_E_bad_value, "until", "\"until\" must have 1 to %d conditions",
                             WAIT_CONDITIONS_MAX);
    if (kind < 0)
        return hf_fail_field(
            err, HF_E_unknown_field, name,
            "\"%.40s\" is not a condition; use text, regex, quiet_ms, prompt, exit, "
            "port, blocked_on_tty or echo_off",
            name);
    c->kind = (enum wait_kind)kind;
    if (decode_value(value, c, err) < 0)
        return -1;
    a->count++;
    return 0;
}

static int decode_condition(const json_t *v, struct wait_request *a, struct hf_error *err)
{
    struct wait_condition *c = &a->until[a->count];
    const char *name;

    if (!json_is_object(v))
        return hf_fail_field(err, HF_E_bad_type, "until", "each condition must be an object");
    name = name_of(v, c, err);
    return name == NULL ? -1 : wait_request_add(a, name, json_object_get(v, name), err);
}

int wait_request_decode(const json_t *body, struct wait_request *out, struct hf_error *err)
{
    struct wait_decode_body b = {.from = -1, .timeout_ms = -1};
    size_t n;

    *out = (struct wait_request){0};
    if (json_decode(body, body_fields, sizeof body_fields / sizeof *body_fields, &b, err) < 0)
        return -1;
    n = json_array_size(b.until);
    if (n < 1 || n > WAIT_CONDITIONS_MAX)
        return hf_fail_field(err, HF_E_bad_value, "until", "\"until\" must have 1 to %d conditions",
                             WAIT_CONDITIONS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (decode_condition(json_array_get(b.until, i), out, err) < 0)
            return -1;
    }
    out->from = b.from;
    out->timeout_ms = b.timeout_ms;
    return 0;
}
