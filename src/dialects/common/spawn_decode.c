/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_decode.c - decodes a create or run body into a spawn_spec. Layer: dialects.
 */
#include "dialects/common/spawn_decode.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/request_checks.h"

/* The body as in the JSON, before fields that have several forms are decoded. */
struct spawn_decode_body {
    const char *command, *cwd, *user, *stdin, *input_encoding, *tag, *label, *session_id, *source,
        *delivery, *size_policy, *output_encoding;
    json_t *args, *env, *pty, *input, *metadata, *on_detach, *limits;
    bool shell, shell_integration, clear_env;
    int64_t timeout_ms, grace_ms, idle_timeout_ms, retain_ms, history_bytes, hold_ms,
        max_output_bytes;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct spawn_decode_body, member, __VA_ARGS__)
#define CREATE_FIELDS 1 /* the first ones are not for run */
#define RUN_FIELDS 2    /* the last ones are for run only */
static const struct json_field body_fields[] = {
    F(INT, hold_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(STR, command, .min = 1, .required = true),
    F(ARRAY, args),
    F(BOOL, shell),
    F(STR, cwd, .min = 1),
    F(OBJECT, env),
    F(BOOL, clear_env),
    F(STR, user, .min = 1),
    F(ANY, pty),
    F(BOOL, shell_integration),
    F(STR, stdin),
    F(ANY, input),
    F(STR, input_encoding),
    F(STR, tag, .min = 1, .max = LIMIT_TAG_BYTES),
    F(STR, label, .max = LIMIT_LABEL_BYTES),
    F(OBJECT, metadata),
    F(STR, session_id, .min = 1, .max = LIMIT_TAG_BYTES),
    F(STR, source),
    F(INT, timeout_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(INT, grace_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(INT, idle_timeout_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(INT, retain_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(INT, history_bytes, .min = LIMIT_JOURNAL_MIN_BYTES, .max = LIMIT_HISTORY_MAX_BYTES),
    F(ANY, on_detach),
    F(STR, delivery),
    F(STR, size_policy),
    F(OBJECT, limits),
    F(INT, max_output_bytes, .min = 0, .max = LIMIT_RUN_OUTPUT_MAX_BYTES),
    F(STR, output_encoding),
};
#undef F
#define BODY_FIELDS (sizeof body_fields / sizeof *body_fields)

#define LIMIT_FIELD(member, lo, hi)                                                                \
    JSON_FIELD(INT, struct spawn_spec, member, .min = (lo), .max = (hi))
static const struct json_field limit_fields[] = {
    LIMIT_FIELD(cpu_s, 1, INT32_MAX),        LIMIT_FIELD(memory_bytes, 1, INT64_MAX),
    LIMIT_FIELD(processes, 0, INT32_MAX),    LIMIT_FIELD(open_files, 0, INT32_MAX),
    LIMIT_FIELD(file_bytes, 0, INT64_MAX),   LIMIT_FIELD(nice, -20, 19),
    LIMIT_FIELD(oom_score_adj, -1000, 1000),
};

static int bad_choice(struct hf_error *err, const char *field, const char *choices)
{
    return hf_fail_field(err, HF_E_bad_value, field, "\"%s\" must be %s", field, choices);
}

int spawn_request_encoding(const char *name, const char *field, bool *base64, struct hf_error *err)
{
    static const char *const names[] = {"utf8", "base64", NULL};
    int i = name != NULL ? check_word(name, field, names, err) : 0;

    *base64 = i == 1;
    return i < 0 ? i : 0;
}

int spawn_request_args(const json_t *args, const char ***out, size_t *count, struct hf_error *err)
{
    size_t i, n = json_array_size(args);
    json_t *v;

    if (n > LIMIT_ARGS)
        return hf_fail_field(err, HF_E_bad_value, "args", "\"args\" has more than %d entries",
                             LIMIT_ARGS);
    if (n == 0)
        return 0;
    *out = hf_xalloc(n * sizeof **out);
    json_array_foreach ((json_t *)args, i, v) {
        (*out)[i] = json_text(v, "args", err);
        if ((*out)[i] == NULL)
            return -1;
    }
    *count = n;
    return 0;
}

static int decode_args(struct spawn_request *a, const json_t *args, struct hf_error *err)
{
    int rc = spawn_request_args(args, &a->args, &a->spec.arg_count, err);

    a->spec.args = a->args;
    return rc;
}

static int decode_variable(struct spec_env *var, const char *name, const json_t *v,
                           struct hf_error *err)
{
    if (name[0] == '\0' || strchr(name, '=') != NULL)
        return hf_fail_field(err, HF_E_bad_value, "env",
                             "a variable's name must not be empty and must not contain '='");
    var->name = name;
    if (json_is_null(v))
        return 0;
    var->value = json_text(v, "env", err);
    return var->value != NULL ? 0 : -1;
}

int spawn_request_env(const json_t *env, struct spec_env **out, size_t *count, struct hf_error *err)
{
    size_t n = json_object_size(env);
    const char *name;
    json_t *v;

    if (n > LIMIT_ENV)
        return hf_fail_field(err, HF_E_bad_value, "env", "\"env\" has more than %d variables",
                             LIMIT_ENV);
    if (n == 0)
        return 0;
    *out = hf_xalloc(n * sizeof **out);
    json_object_foreach ((json_t *)env, name, v) {
        if (decode_variable(&(*out)[(*count)++], name, v, err) < 0)
            return -1;
    }
    return 0;
}

static int decode_env(struct spawn_request *a, const json_t *env, struct hf_error *err)
{
    int rc = spawn_request_env(env, &a->env, &a->spec.env_count, err);

    a->spec.env = a->env;
    return rc;
}

static int decode_pty(struct spawn_spec *s, const json_t *pty, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD(INT, struct spawn_spec, rows, .min = INT64_MIN, .max = INT64_MAX),
        JSON_FIELD(INT, struct spawn_spec, cols, .min = INT64_MIN, .max = INT64_MAX),
    };

    if (json_is_boolean(pty)) {
        s->pty = json_is_true(pty);
        return 0;
    }
    if (!json_is_object(pty))
        return hf_fail_field(err, HF_E_bad_type, "pty",
                             "\"pty\" must be true, false or an object with rows and cols");
    s->pty = true;
    s->rows = 24;
    s->cols = 80;
    if (json_decode(pty, fields, 2, s, err) < 0)
        return -1;
    return check_size(s->rows, s->cols, err);
}

static int decode_stdin(struct spawn_spec *s, const char *mode, struct hf_error *err)
{
    if (mode == NULL)
        return 0;
    if (strcmp(mode, "inherit-pty") == 0 && s->pty)
        s->stdin_mode = STDIN_TTY;
    else if (strcmp(mode, "pipe") == 0 && !s->pty)
        s->stdin_mode = STDIN_PIPE;
    else if (strcmp(mode, "null") == 0 && !s->pty)
        s->stdin_mode = STDIN_NULL;
    else
        return bad_choice(err, "stdin",
                          s->pty ? "inherit-pty for a process with a terminal, or be left out"
                                 : "pipe or null for a process without a terminal");
    return 0;
}

int spawn_request_bytes(const json_t *v, const char *field, const char *encoding, struct buf *own,
                        const void **bytes, size_t *len, struct hf_error *err)
{
    char name[32];
    bool base64;

    snprintf(name, sizeof name, "%s_encoding", field);
    if (spawn_request_encoding(encoding, name, &base64, err) < 0)
        return -1;
    if (v == NULL)
        return 0;
    if (!json_is_string(v))
        return hf_fail_field(err, HF_E_bad_type, field, "\"%s\" must be a string", field);
    *bytes = json_string_value(v);
    *len = json_string_length(v);
    if (!base64)
        return 0;
    if (!base64_decode(own, json_string_value(v), *len))
        return hf_fail_field(err, HF_E_bad_value, field, "\"%s\" is not valid base64", field);
    *bytes = buf_data(own);
    *len = own->len;
    return 0;
}

static int decode_on_detach(struct spawn_request *a, const json_t *v, bool run,
                            struct hf_error *err)
{
    static const struct json_field fields[] = {
        {.name = "kill_after_ms",
         .kind = JSON_F_INT,
         .offset = offsetof(struct spawn_spec, detach_ms),
         .min = 0,
         .max = LIMIT_DURATION_MS,
         .required = true},
    };
    const char *name = json_string_value(v);

    if (v == NULL)
        return 0;
    if (name != NULL && strcmp(name, "keep") == 0) {
        a->keep = true;
    } else if (name != NULL && strcmp(name, "kill") == 0) {
        a->spec.on_detach = DETACH_KILL;
    } else if (json_is_object(v)) {
        a->spec.on_detach = DETACH_KILL_AFTER;
        if (json_decode(v, fields, 1, &a->spec, err) < 0)
            return -1;
        /* The caller of run is not a viewer, so there is no detach to count from. */
        return run ? bad_choice(err, "on_detach", "keep or kill in this call") : 0;
    } else if (name == NULL) {
        return hf_fail_field(err, HF_E_bad_type, "on_detach",
                             "\"on_detach\" must be a string or an object");
    } else {
        return bad_choice(err, "on_detach", "keep, kill or {\"kill_after_ms\":N}");
    }
    return 0;
}

static int decode_names(struct spawn_spec *s, const struct spawn_decode_body *b,
                        struct hf_error *err)
{
    static const char *const deliveries[] = {"live", "lossless", NULL};
    int i = 0;

    if ((b->source != NULL && check_source(b->source, HF_E_bad_value, &s->source, err) < 0) ||
        (b->size_policy != NULL && check_size_policy(b->size_policy, &s->size_policy, err) < 0))
        return -1;
    if (b->delivery != NULL) {
        i = check_word(b->delivery, "delivery", deliveries, err);
        s->delivery = i == 1 ? DELIVERY_LOSSLESS : DELIVERY_LIVE;
    }
    return i < 0 ? i : 0;
}

static int decode_limits(struct spawn_spec *s, const json_t *limits, struct hf_error *err)
{
    s->set_nice = json_object_get(limits, "nice") != NULL;
    s->set_oom = json_object_get(limits, "oom_score_adj") != NULL;
    return json_decode(limits, limit_fields, sizeof limit_fields / sizeof *limit_fields, s, err);
}

static int decode_metadata(struct spawn_request *a, const json_t *metadata, struct hf_error *err)
{
    a->metadata = json_dumps(metadata, JSON_COMPACT);
    if (a->metadata == NULL)
        return hf_fail(err, HF_E_no_memory, "out of memory for the metadata");
    a->spec.metadata_json = a->metadata;
    return 0;
}

static void copy_plain(struct spawn_request *a, const struct spawn_decode_body *b)
{
    struct spawn_spec *s = &a->spec;

    s->command = b->command;
    s->shell = b->shell;
    s->shell_integration = b->shell_integration;
    s->cwd = b->cwd;
    s->clear_env = b->clear_env;
    s->user = b->user;
    s->tag = b->tag;
    s->label = b->label;
    s->session_id = b->session_id;
    s->timeout_ms = b->timeout_ms;
    s->idle_timeout_ms = b->idle_timeout_ms;
    s->grace_ms = b->grace_ms;
    s->retain_ms = b->retain_ms;
    s->history_bytes = b->history_bytes;
    s->hold_ms = b->hold_ms;
    a->max_output_bytes = b->max_output_bytes;
}

int spawn_request_decode(struct spawn_request *a, const json_t *body, bool run,
                         struct hf_error *err)
{
    struct spawn_decode_body b = {
        .grace_ms = -1, .retain_ms = -1, .max_output_bytes = LIMIT_RUN_OUTPUT_BYTES};

    *a = (struct spawn_request){0};
    spec_init(&a->spec);
    if (json_decode(body, body_fields + (run ? CREATE_FIELDS : 0),
                    BODY_FIELDS - (run ? CREATE_FIELDS : RUN_FIELDS), &b, err) < 0)
        return -1;
    copy_plain(a, &b);
    if (b.args != NULL && decode_args(a, b.args, err) < 0)
        return -1;
    if (b.env != NULL && decode_env(a, b.env, err) < 0)
        return -1;
    if (b.pty != NULL && decode_pty(&a->spec, b.pty, err) < 0)
        return -1;
    if (b.limits != NULL && decode_limits(&a->spec, b.limits, err) < 0)
        return -1;
    if (b.metadata != NULL && decode_metadata(a, b.metadata, err) < 0)
        return -1;
    if (decode_stdin(&a->spec, b.stdin, err) < 0 ||
        spawn_request_bytes(b.input, "input", b.input_encoding, &a->input, &a->spec.input,
                            &a->spec.input_len, err) < 0 ||
        decode_names(&a->spec, &b, err) < 0 || decode_on_detach(a, b.on_detach, run, err) < 0)
        return -1;
    return spawn_request_encoding(b.output_encoding, "output_encoding", &a->base64, err);
}

void spawn_request_fini(struct spawn_request *a)
{
    free(a->args);
    free(a->env);
    free(a->metadata);
    buf_fini(&a->input);
}
