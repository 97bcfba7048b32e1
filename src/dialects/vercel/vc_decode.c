/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_decode.c - decodes the bodies and frames of Vercel Sandbox's clients. Layer: dialects.
 */
#include "dialects/vercel/vc_decode.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/braces.h"
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/request_checks.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/vercel/vercel_limits.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* --- commands ---------------------------------------------------------------------------- */

#define FIELD(n, k, m, ...)                                                                        \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(struct vc_command, m),                \
           .nullable = true, __VA_ARGS__)
#define FIELDS_OF_BOTH                                                                             \
    SPEC_FIELD("command", STR, spec.command, .required = true, .min = 1),                          \
        SPEC_FIELD("cwd", STR, spec.cwd), SPEC_FIELD("args", ARRAY, args)

static const struct json_field command_fields[] = {
    FIELDS_OF_BOTH,
    FIELD("env", OBJECT, given),
    FIELD("sudo", BOOL, sudo),
    FIELD("wait", BOOL, wait),
    FIELD("logs", BOOL, logs),
    FIELD("attachStdin", BOOL, attach),
    SPEC_FIELD("timeout", INT, spec.timeout_ms, .max = LIMIT_DURATION_MS),
};
/* A window whose size the client does not know has none. */
static const struct json_field start_fields[] = {
    FIELDS_OF_BOTH,
    FIELD("env", ARRAY, given),
    SPEC_FIELD("rows", INT, spec.rows, .max = TERMINAL_SIZE_MAX),
    SPEC_FIELD("cols", INT, spec.cols, .max = TERMINAL_SIZE_MAX),
};

static void command_init(struct vc_command *c, const json_t *own)
{
    *c = (struct vc_command){0};
    spec_body_init(&c->body);
    c->variables = own != NULL ? json_copy((json_t *)(uintptr_t)own) : json_object();
    c->body.env = c->variables;
}

static int command_decode(struct vc_command *c, const json_t *body, const struct json_field *fields,
                          size_t count, struct hf_error *err)
{
    struct spawn_spec *s = &c->body.spec;
    int rc = spec_body_decode(&c->body, body, fields, count, err);

    if (s->cwd != NULL && s->cwd[0] == '\0')
        s->cwd = NULL;
    return rc;
}

int vc_decode_command(struct vc_command *c, const json_t *body, const json_t *own,
                      struct hf_error *err)
{
    json_t *env = json_object_get(body, "env");
    int rc;

    command_init(c, own);
    if (json_is_object(env))
        json_object_update(c->variables, env);
    rc = command_decode(c, body, command_fields, COUNT(command_fields), err);
    c->body.spec.stdin_mode = c->attach ? STDIN_PIPE : STDIN_NULL;
    if (c->body.spec.timeout_ms > 0)
        c->body.spec.grace_ms = 0;
    c->body.spec.source = SOURCE_AGENT;
    return rc;
}

void vc_command_fini(struct vc_command *c)
{
    spec_body_fini(&c->body);
    json_decref(c->variables);
}

/* --- frames -------------------------------------------------------------------------------- */

/* "NAME=VALUE", as execve has them. */
static int add_variable(json_t *to, const json_t *v, struct hf_error *err)
{
    const char *text = json_text(v, "env", err), *equals;
    char *name;

    if (text == NULL)
        return -1;
    equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return hf_fail_field(err, HF_E_bad_value, "env", "\"env\" must be a list of NAME=VALUE");
    name = hf_xstrndup(text, (size_t)(equals - text));
    json_object_set_new(to, name, json_string(equals + 1));
    free(name);
    return 0;
}

static int add_variables(json_t *to, const json_t *list, struct hf_error *err)
{
    size_t i;
    json_t *v;

    json_array_foreach ((json_t *)(uintptr_t)list, i, v) {
        if (add_variable(to, v, err) < 0)
            return -1;
    }
    return 0;
}

static int decode_terminal(struct vc_command *c, const json_t *frame, const json_t *own,
                           struct hf_error *err)
{
    struct spawn_spec *s = &c->body.spec;
    int64_t rows, cols;
    int rc;

    command_init(c, own);
    rows = s->rows;
    cols = s->cols;
    rc = add_variables(c->variables, json_object_get(frame, "env"), err);
    if (rc < 0 || (rc = command_decode(c, frame, start_fields, COUNT(start_fields), err)) < 0)
        return rc;
    s->pty = true;
    if (s->rows <= 0 || s->cols <= 0) {
        s->rows = rows;
        s->cols = cols;
    }
    s->source = SOURCE_USER_SHELL;
    return 0;
}

static int decode_size(struct vc_frame *f, struct hf_error *err)
{
    const json_t *r = json_object_get(f->tree, "rows"), *c = json_object_get(f->tree, "cols");

    if (!json_is_integer(r) || !json_is_integer(c))
        return hf_fail_field(err, HF_E_bad_type, json_is_integer(r) ? "cols" : "rows",
                             "\"rows\" and \"cols\" must be integers");
    f->rows = json_integer_value(r);
    f->cols = json_integer_value(c);
    return check_size(f->rows, f->cols, err);
}

int vc_decode_frame(struct vc_frame *f, const char *text, size_t len, const json_t *own,
                    struct hf_error *err)
{
    const char *type;

    *f = (struct vc_frame){.tree = json_parse(text, len, err)};
    if (f->tree == NULL)
        return -1;
    type = json_string_value(json_object_get(f->tree, "type"));
    if (type != NULL && strcmp(type, "resize") == 0) {
        f->kind = VC_FRAME_RESIZE;
        return decode_size(f, err);
    }
    if (type == NULL || strcmp(type, "start") != 0)
        return hf_fail_field(err, HF_E_bad_value, "type",
                             "the type of a frame must be start or resize");
    return decode_terminal(&f->start, f->tree, own, err);
}

void vc_frame_fini(struct vc_frame *f)
{
    vc_command_fini(&f->start);
    json_decref(f->tree);
}

/* --- sandboxes -------------------------------------------------------------------------------- */

bool vc_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != len)
        return false;
    return len > 0 && len <= LIMIT_VERCEL_NAME_BYTES && name[0] != '.' &&
           strcmp(name, "sessions") != 0 && strcmp(name, "snapshots") != 0 &&
           strcmp(name, "drives") != 0;
}

static int check_variables(const json_t *env, struct hf_error *err)
{
    struct spec_env *list = NULL;
    size_t count = 0, bytes = 0;
    int rc = spawn_request_env(env, &list, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++)
        bytes += strlen(list[i].name) + (list[i].value != NULL ? strlen(list[i].value) : 0);
    free(list);
    if (rc == 0 && bytes > LIMIT_VERCEL_ENV_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "env", "the variables exceed %d bytes",
                             LIMIT_VERCEL_ENV_BYTES);
    return rc;
}

#define CREATE_FIELD(n, k, m, ...)                                                                 \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(struct vc_create, m),                 \
           .nullable = true, __VA_ARGS__)

static bool is_given(const json_t *v)
{
    return v != NULL && !json_is_null(v) && !(json_is_object(v) && json_object_size(v) == 0);
}

int vc_check_policy(const json_t *policy, struct hf_error *err)
{
    const char *mode = json_string_value(json_object_get(policy, "mode"));

    if (mode != NULL && strcmp(mode, "allow-all") == 0)
        return 0;
    return hf_fail_field(
        err, HF_E_bad_request, "networkPolicy",
        "the network cannot be restricted: only the policy allow-all is supported");
}

static int check_tags(const json_t *tags, struct hf_error *err)
{
    const char *name;
    json_t *value;
    size_t bytes = 0;

    json_object_foreach ((json_t *)(uintptr_t)tags, name, value) {
        if (!json_is_string(value))
            return hf_fail_field(err, HF_E_bad_type, "tags",
                                 "the values of \"tags\" must be strings");
        bytes += strlen(name) + json_string_length(value);
    }
    if (bytes > LIMIT_VERCEL_TAGS_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "tags", "the tags exceed %d bytes",
                             LIMIT_VERCEL_TAGS_BYTES);
    return 0;
}

/*
 * Refuse what would silently be missing: files that should exist, and a network that should be
 * closed. Sizes, images, regions, ports and similar settings are ignored.
 */
static int check_wishes(const json_t *body, struct hf_error *err)
{
    const json_t *policy = json_object_get(body, "networkPolicy");

    if (is_given(json_object_get(body, "source")))
        return hf_fail_field(err, HF_E_bad_request, "source",
                             "\"source\" is not supported; fetch the files with a command");
    if (is_given(json_object_get(body, "mounts")))
        return hf_fail_field(err, HF_E_bad_request, "mounts", "drives are not supported");
    return is_given(policy) ? vc_check_policy(policy, err) : 0;
}

int vc_decode_create(struct vc_create *c, const json_t *body, struct hf_error *err)
{
    static const struct json_field fields[] = {
        CREATE_FIELD("name", STR, name),
        CREATE_FIELD("timeout", INT, timeout_ms, .max = LIMIT_DURATION_MS),
        CREATE_FIELD("env", OBJECT, env),
        CREATE_FIELD("tags", OBJECT, tags),
    };
    int rc;

    *c = (struct vc_create){0};
    rc = json_decode_known(body, fields, COUNT(fields), c, err);
    if (rc < 0 || (rc = check_wishes(body, err)) < 0 || (rc = check_tags(c->tags, err)) < 0)
        return rc;
    if (c->name != NULL && !vc_name_is_valid(c->name))
        return hf_fail_field(
            err, HF_E_bad_value, "name",
            "a name can have letters, digits, '.', '_' and '-', at most %d characters",
            LIMIT_VERCEL_NAME_BYTES);
    return check_variables(c->env, err);
}

int vc_decode_update(struct vc_create *c, const json_t *body, struct hf_error *err)
{
    static const char *const snapshots[] = {"currentSnapshotId", "snapshotExpiration",
                                            "keepLastSnapshots"};

    for (size_t i = 0; i < COUNT(snapshots); i++)
        if (is_given(json_object_get(body, snapshots[i])))
            return hf_fail_field(err, HF_E_bad_request, snapshots[i],
                                 "snapshots are not supported");
    return vc_decode_create(c, body, err);
}

int vc_decode_duration(const json_t *body, int64_t *ms, struct hf_error *err)
{
    const json_t *v = json_object_get(body, "duration");

    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > LIMIT_DURATION_MS)
        return hf_fail_field(err, HF_E_bad_value, "duration",
                             "\"duration\" must be an integer number of milliseconds");
    *ms = json_integer_value(v);
    return 0;
}

/* --- other bodies --------------------------------------------------------------------------- */

int vc_decode_signal(const json_t *body, int *signum, struct hf_error *err)
{
    const json_t *signal = json_object_get(body, "signal");
    enum signal_target unused;

    *signum = SIGTERM;
    if (signal == NULL || json_is_null(signal))
        return 0;
    return check_signal_decode(signal, NULL, signum, &unused, err);
}

int vc_decode_path(const json_t *body, const char *cwd, char out[PATH_MAX], struct hf_error *err)
{
    const json_t *other = json_object_get(body, "cwd"), *given = json_object_get(body, "path");
    const char *path;
    int len;

    if (given == NULL)
        return hf_fail_field(err, HF_E_missing_field, "path", "\"path\" is required");
    if ((path = json_text(given, "path", err)) == NULL)
        return -1;
    if (other != NULL && !json_is_null(other) && (cwd = json_text(other, "cwd", err)) == NULL)
        return -1;
    if (path[0] == '/')
        len = snprintf(out, PATH_MAX, "%s", path);
    else
        len = snprintf(out, PATH_MAX, "%s/%s", cwd, path);
    if (path[0] == '\0' || len >= PATH_MAX || out[0] != '/')
        return hf_fail_field(
            err, HF_E_bad_value, "path",
            "\"path\" must be absolute or relative to an absolute directory, and within "
            "the length limit");
    return 0;
}
