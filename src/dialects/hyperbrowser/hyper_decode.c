/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_decode.c - decodes bodies and frames of Hyperbrowser's clients. Layer: dialects.
 */
#include "dialects/hyperbrowser/hyper_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/braces.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/input_decode.h"
#include "dialects/common/request_checks.h"
#include "dialects/common/spawn_decode.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define GRACE_MS 1000 /* a timeout, or a kill, completes well within the 5 s that clients wait */

/* --- what to start ----------------------------------------------------------------------- */

struct hyper_decode_body {
    const char *command, *cwd, *user;
    json_t *args, *env, *timeout_ms, *timeout_sec;
    bool shell;
    int64_t rows, cols;
};

#define FIELD(n, k, m, ...)                                                                        \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(struct hyper_decode_body, m),         \
           .nullable = true, __VA_ARGS__)
#define FIELDS_OF_BOTH                                                                             \
    FIELD("command", STR, command, .required = true, .min = 1), FIELD("cwd", STR, cwd, .min = 1),  \
        FIELD("runAs", STR, user, .min = 1), FIELD("args", ARRAY, args),                           \
        FIELD("env", OBJECT, env), FIELD("timeoutMs", ANY, timeout_ms),                            \
        FIELD("timeout_sec", ANY, timeout_sec)

static const struct json_field process_fields[] = {FIELDS_OF_BOTH};
static const struct json_field terminal_fields[] = {
    FIELDS_OF_BOTH,
    FIELD("useShell", BOOL, shell),
    FIELD("rows", INT, rows, .min = 1, .max = TERMINAL_SIZE_MAX),
    FIELD("cols", INT, cols, .min = 1, .max = TERMINAL_SIZE_MAX),
};

/* Clients send whole numbers, or fractions of a second. */
static int decode_duration(const json_t *v, const char *field, double unit_ms, int64_t *out,
                           struct hf_error *err)
{
    double ms = json_number_value(v) * unit_ms;
    int64_t whole;

    if (v == NULL || json_is_null(v))
        return 0;
    if (!json_is_number(v))
        return hf_fail_field(err, HF_E_bad_type, field, "\"%s\" must be a number", field);
    if (!(ms >= 0 && ms <= (double)LIMIT_DURATION_MS))
        return hf_fail_field(err, HF_E_bad_value, field,
                             "\"%s\" must not be negative, nor longer than a year", field);
    whole = (int64_t)ms;
    *out = (double)whole < ms ? whole + 1 : whole;
    return 0;
}

/* Milliseconds win if both are present. */
static int decode_timeout(const json_t *ms, const json_t *sec, int64_t *out, struct hf_error *err)
{
    int rc = decode_duration(sec, "timeout_sec", 1000, out, err);

    return rc < 0 ? rc : decode_duration(ms, "timeoutMs", 1, out, err);
}

/* A program with arguments, as a shell line with the same meaning. */
static void make_line(struct hyper_request *a)
{
    if (a->spec.arg_count > 0) {
        buf_put_quoted(&a->line, a->spec.command);
        for (size_t i = 0; i < a->spec.arg_count; i++) {
            buf_putc(&a->line, ' ');
            buf_put_quoted(&a->line, a->args[i]);
        }
        a->spec.command = buf_cstr(&a->line);
        a->spec.arg_count = 0;
    }
    a->spec.shell = true;
}

static int decode_start(struct hyper_request *a, const struct hyper_decode_body *b,
                        struct hf_error *err)
{
    struct spawn_spec *s = &a->spec;
    int rc = spawn_request_args(b->args, &a->args, &s->arg_count, err);

    if (rc < 0 || (rc = decode_timeout(b->timeout_ms, b->timeout_sec, &s->timeout_ms, err)) < 0)
        return rc;
    if ((rc = spawn_request_env(b->env, &a->env, &s->env_count, err)) < 0)
        return rc;
    s->args = a->args;
    s->env = a->env;
    s->command = b->command;
    s->cwd = b->cwd;
    s->user = b->user;
    s->grace_ms = GRACE_MS;
    s->source = SOURCE_AGENT;
    s->metadata_json = "{\"via\":\"hyperbrowser\"}";
    return 0;
}

int hyper_decode_process(struct hyper_request *a, const json_t *body, struct hf_error *err)
{
    struct hyper_decode_body b = {0};
    int rc;

    *a = (struct hyper_request){0};
    spec_init(&a->spec);
    rc = json_decode_known(body, process_fields, COUNT(process_fields), &b, err);
    if (rc < 0 || (rc = decode_start(a, &b, err)) < 0)
        return rc;
    make_line(a);
    return 0;
}

int hyper_decode_terminal(struct hyper_request *a, const json_t *body, struct hf_error *err)
{
    struct hyper_decode_body b = {0};
    int rc;

    *a = (struct hyper_request){0};
    spec_init(&a->spec);
    rc = json_decode_known(body, terminal_fields, COUNT(terminal_fields), &b, err);
    if (rc < 0 || (rc = decode_start(a, &b, err)) < 0)
        return rc;
    a->spec.pty = true;
    a->spec.rows = b.rows != 0 ? b.rows : 24; /* either may be absent */
    a->spec.cols = b.cols != 0 ? b.cols : 80;
    if (b.shell)
        make_line(a);
    return 0;
}

void hyper_request_fini(struct hyper_request *a)
{
    free(a->args);
    free(a->env);
    buf_fini(&a->line);
}

/* --- operations on it ------------------------------------------------------------------------ */

int hyper_decode_wait(struct hyper_wait_request *a, const json_t *body, struct hf_error *err)
{
    const json_t *output = json_object_get(body, "includeOutput");

    *a = (struct hyper_wait_request){.timeout_ms = -1};
    if (output != NULL && !json_is_boolean(output) && !json_is_null(output))
        return hf_fail_field(err, HF_E_bad_type, "includeOutput",
                             "\"includeOutput\" must be true or false");
    a->include_output = json_is_true(output);
    return decode_timeout(json_object_get(body, "timeoutMs"), json_object_get(body, "timeout_sec"),
                          &a->timeout_ms, err);
}

int hyper_decode_signal(const json_t *body, int *signum, struct hf_error *err)
{
    const json_t *signal = json_object_get(body, "signal");
    enum signal_target unused;

    *signum = 0;
    if (signal == NULL || json_is_null(signal))
        return 0;
    return check_signal_decode(signal, NULL, signum, &unused, err);
}

int hyper_decode_size(const json_t *body, int64_t *rows, int64_t *cols, struct hf_error *err)
{
    const json_t *r = json_object_get(body, "rows"), *c = json_object_get(body, "cols");

    if (!json_is_integer(r) || !json_is_integer(c))
        return hf_fail_field(err, HF_E_bad_type, json_is_integer(r) ? "cols" : "rows",
                             "\"rows\" and \"cols\" must be whole numbers");
    *rows = json_integer_value(r);
    *cols = json_integer_value(c);
    return check_size(*rows, *cols, err);
}

static int decode_data(const json_t *body, struct buf *bytes, struct hf_error *err)
{
    static const char *const names[] = {"utf8", "base64", NULL};

    return input_data_decode(body, "utf8", names, bytes, err);
}

int hyper_decode_stdin(const json_t *body, struct buf *bytes, bool *eof, struct hf_error *err)
{
    const json_t *end = json_object_get(body, "eof");

    if (end != NULL && !json_is_boolean(end) && !json_is_null(end))
        return hf_fail_field(err, HF_E_bad_type, "eof", "\"eof\" must be true or false");
    *eof = json_is_true(end);
    return decode_data(body, bytes, err);
}

int hyper_decode_frame(struct hyper_frame *f, const char *text, size_t len, struct hf_error *err)
{
    json_auto_t *frame = json_parse(text, len, err);
    const char *type = json_string_value(json_object_get(frame, "type"));

    *f = (struct hyper_frame){0};
    if (frame == NULL)
        return -1;
    if (type != NULL && strcmp(type, "input") == 0)
        return decode_data(frame, &f->bytes, err);
    if (type == NULL || strcmp(type, "resize") != 0)
        return hf_fail_field(err, HF_E_bad_value, "type", "a frame's type must be input or resize");
    f->resize = true;
    return hyper_decode_size(frame, &f->rows, &f->cols, err);
}
