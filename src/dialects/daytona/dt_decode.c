/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_decode.c - decodes what Daytona's clients send. Layer: dialects.
 */
#include "dialects/daytona/dt_decode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/braces.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/daytona/daytona_limits.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define FIELD(n, k, m, ...)                                                                        \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(struct dt_request, m),                \
           .nullable = true, __VA_ARGS__)

/* --- versions ---------------------------------------------------------------------------- */

/* Major and minor as one number; -1: not a version. */
static int64_t version_number(const char *text)
{
    char *end;
    long major = strtol(text, &end, 10), minor;

    if (end == text || *end != '.' || major < 0 || major > 1000)
        return -1;
    text = end + 1;
    minor = strtol(text, &end, 10);
    return end == text || minor < 0 || minor > 1000000 ? -1 : major * 10000000 + minor;
}

/* Clients from 0.27 on separate the streams themselves; from 0.167 on the server does it. */
enum dt_split dt_split_for(const char *version, const char *split)
{
    int64_t n = version != NULL ? version_number(version) : -1;

    if (version != NULL && (n >= 167 || strstr(version, "dev") != NULL))
        return DT_SPLIT;
    if (n >= 27 || text_to_bool(split) == 1)
        return DT_MARKED;
    return DT_STRIPPED;
}

/* --- variables ------------------------------------------------------------------------------- */

static bool is_name(const char *s)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

    if (*s == '\0' || strchr(first, *s) == NULL)
        return false;
    for (; *s != '\0'; s++)
        if (strchr(first, *s) == NULL && (*s < '0' || *s > '9'))
            return false;
    return true;
}

int dt_decode_env(const json_t *envs, struct spec_env **out, size_t *count, struct hf_error *err)
{
    const char *name;
    json_t *value;

    *count = 0;
    if (envs == NULL)
        return 0;
    if (!json_is_object(envs))
        return hf_fail_field(err, HF_E_bad_type, "envs", "envs must be an object of strings");
    json_object_foreach ((json_t *)(uintptr_t)envs, name, value)
        if (!is_name(name))
            return hf_fail_field(err, HF_E_bad_value, "envs",
                                 "'%.60s' is not a valid variable name", name);
    return spawn_request_env(envs, out, count, err);
}

/* The text after the prefix in the next list item that has it; NULL: none. */
static const char *offered_item(const char *offered, const char *prefix, size_t *len)
{
    size_t skip = strlen(prefix);

    while (*offered != '\0') {
        offered += strspn(offered, ", \t");
        *len = strcspn(offered, ", \t");
        if (*len > skip && strncmp(offered, prefix, skip) == 0) {
            *len -= skip;
            return offered + skip;
        }
        offered += *len;
    }
    return NULL;
}

int dt_decode_offered_env(const char *offered, json_t **tree, struct hf_error *err)
{
    size_t len;
    const char *text = offered_item(offered, DT_ENVS_PROTOCOL, &len);
    struct buf plain = {0};

    *tree = NULL;
    if (text == NULL)
        return 0;
    if (!base64_decode(&plain, text, len)) {
        buf_fini(&plain);
        return hf_fail_field(err, HF_E_bad_value, "envs", "the variables are not base64url");
    }
    *tree = json_parse(buf_data(&plain), plain.len, err);
    buf_wipe(&plain);
    return *tree != NULL ? 0 : hf_fail(err, HF_E_bad_json, "the variables are not JSON");
}

const char *dt_decode_offered_version(const char *offered, char out[DT_PROTOCOL_BYTES])
{
    size_t len;
    const char *text = offered_item(offered, DT_VERSION_PROTOCOL, &len);

    if (text == NULL || len >= DT_PROTOCOL_BYTES - sizeof DT_VERSION_PROTOCOL)
        return NULL;
    memcpy(out, text, len);
    out[len] = '\0';
    return out;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static const struct json_field execute_fields[] = {
    FIELD("command", STR, command, .required = true),
    FIELD("cwd", STR, cwd, ),
    FIELD("envs", ANY, envs, ),
    FIELD("timeout", ANY, timeout, ),
};
static const struct json_field code_fields[] = {
    FIELD("code", STR, code, .required = true),
    FIELD("language", STR, language, .required = true),
    FIELD("argv", ARRAY, argv, ),
    FIELD("envs", ANY, envs, ),
    FIELD("timeout", ANY, timeout, ),
};
static const struct json_field exec_fields[] = {
    FIELD("command", STR, command, .required = true),
    FIELD("runAsync", BOOL, run_async, ),
    FIELD("async", BOOL, async, ),
    FIELD("suppressInputEcho", BOOL, suppress, ),
};
static const struct json_field pty_fields[] = {
    FIELD("id", STR, id, .required = true),
    FIELD("cwd", STR, cwd, ),
    FIELD("envs", ANY, envs, ),
    FIELD("rows", INT, rows, .min = 0, .max = INT32_MAX),
    FIELD("cols", INT, cols, .min = 0, .max = INT32_MAX),
    FIELD("lazyStart", BOOL, lazy, ),
};
static const struct json_field size_fields[] = {
    FIELD("rows", INT, rows, .required = true, .min = 0, .max = INT32_MAX),
    FIELD("cols", INT, cols, .required = true, .min = 0, .max = INT32_MAX),
};

static int check_command(const struct dt_request *a, struct hf_error *err)
{
    if (a->command[strspn(a->command, " \t\r\n")] != '\0')
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "command", "command must not be empty");
}

static int check_language(const struct dt_request *a, struct hf_error *err)
{
    static const char *const known[] = {"python", "javascript", "typescript"};

    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(a->language, known[i]) == 0)
            return 0;
    return hf_fail_field(err, HF_E_bad_value, "language",
                         "language must be python, javascript or typescript");
}

static int check_side(int64_t n, const char *name, struct hf_error *err)
{
    if (n >= 0 && n <= LIMIT_DT_SIZE)
        return 0;
    return hf_fail_field(err, HF_E_bad_size, name, "%s must be at most %d", name, LIMIT_DT_SIZE);
}

static int check_sides(const struct dt_request *a, struct hf_error *err)
{
    int rc = check_side(a->rows, "rows", err);

    return rc == 0 ? check_side(a->cols, "cols", err) : rc;
}

int dt_decode_side(const char *text, const char *name, int64_t *out, struct hf_error *err)
{
    if (text == NULL || text[0] == '\0')
        return 0;
    if (!text_to_i64(text, 0, INT32_MAX, out))
        return hf_fail_field(err, HF_E_bad_size, name, "%s must be a whole number", name);
    return check_side(*out, name, err);
}

int dt_decode_pty_id(const char *id, struct hf_error *err)
{
    if (id != NULL && id[0] != '\0' && strlen(id) <= LIMIT_DT_PTY_ID_BYTES &&
        utf8_is_valid(id, strlen(id)))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "id", "id must have 1 to %d bytes",
                         LIMIT_DT_PTY_ID_BYTES);
}

static int check_pty(const struct dt_request *a, struct hf_error *err)
{
    int rc = dt_decode_pty_id(a->id, err);

    return rc == 0 ? check_sides(a, err) : rc;
}

static const struct {
    const struct json_field *fields;
    size_t count;
    int (*check)(const struct dt_request *a, struct hf_error *err);
} bodies[DT_BODIES] = {
    [DT_EXECUTE] = {execute_fields, COUNT(execute_fields), check_command},
    [DT_CODE] = {code_fields, COUNT(code_fields), check_language},
    [DT_EXEC] = {exec_fields, COUNT(exec_fields), check_command},
    [DT_PTY] = {pty_fields, COUNT(pty_fields), check_pty},
    [DT_SIZE] = {size_fields, COUNT(size_fields), check_sides},
};

static int decode_timeout(const json_t *v, int64_t *out, struct hf_error *err)
{
    if (v == NULL)
        return 0;
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT32_MAX)
        return hf_fail_field(err, HF_E_bad_value, "timeout",
                             "timeout must be a whole number of seconds, 0 for none");
    *out = json_integer_value(v);
    if (*out > LIMIT_DURATION_MS / 1000)
        *out = LIMIT_DURATION_MS / 1000;
    return 0;
}

int dt_decode(struct dt_request *a, enum dt_body kind, const json_t *body, struct hf_error *err)
{
    int rc = json_decode_known(body, bodies[kind].fields, bodies[kind].count, a, err);

    if (rc < 0 || (rc = bodies[kind].check(a, err)) < 0 ||
        (rc = decode_timeout(a->timeout, &a->timeout_s, err)) < 0 ||
        (rc = dt_decode_env(a->envs, &a->env, &a->env_count, err)) < 0)
        return rc;
    if (a->cwd != NULL && a->cwd[0] == '\0')
        a->cwd = NULL;
    a->async = a->async || a->run_async;
    a->echo = !a->suppress;
    return a->argv != NULL ? spawn_request_args(a->argv, &a->args, &a->arg_count, err) : 0;
}

void dt_request_fini(struct dt_request *a)
{
    free(a->args);
    free(a->env);
    json_decref(a->tree);
}

/* --- artifacts -------------------------------------------------------------------------------- */

#define ARTIFACT "dtn_artifact_k39fd2:"

/* {"type":"chart","value":{…}}. Anything else is dropped too, as in the original. */
static void take_chart(json_t *charts, const char *text, size_t len)
{
    json_auto_t *line = json_parse(text, len, NULL);
    json_t *value = json_object_get(line, "value");
    const char *type = json_string_value(json_object_get(line, "type"));

    if (type != NULL && strcmp(type, "chart") == 0 && json_is_object(value))
        json_array_append(charts, value);
}

json_t *dt_take_artifacts(struct buf *result)
{
    json_t *charts = json_array();
    struct buf rest = {0};
    const char *at = buf_cstr(result), *end = at + result->len;

    while (at < end) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        size_t len = nl != NULL ? (size_t)(nl - at) : (size_t)(end - at);
        size_t skip = sizeof ARTIFACT - 1;

        if (len >= skip && memcmp(at, ARTIFACT, skip) == 0)
            take_chart(charts, at + skip, len - skip);
        else
            buf_put(&rest, at, len + (nl != NULL));
        at += len + (nl != NULL);
    }
    buf_fini(result);
    *result = rest;
    return charts;
}

/* --- Socket.IO -------------------------------------------------------------------------------- */

/* Engine.IO's type, then Socket.IO's: 4 is a message, in which 0 is a connect. */
enum dt_packet dt_decode_packet(const char *text, size_t len, char **token)
{
    json_auto_t *body = NULL;
    const char *given;

    *token = NULL;
    if (len >= 1 && text[0] == '2')
        return DT_PACKET_PING;
    if (len >= 1 && text[0] == '1')
        return DT_PACKET_DISCONNECT;
    if (len >= 2 && text[0] == '4' && text[1] == '1')
        return DT_PACKET_DISCONNECT;
    if (len < 2 || text[0] != '4' || text[1] != '0')
        return DT_PACKET_OTHER;
    body = json_parse(text + 2, len - 2, NULL);
    given = json_string_value(json_object_get(body, "token"));
    *token = hf_xstrdup(given != NULL ? given : "");
    return DT_PACKET_CONNECT;
}
