/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_decode.c - decodes commands and session bodies into a spawn_spec. Layer: dialects.
 */
#include "dialects/opensandbox/osb_decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/request_checks.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_expand_path.h"

#define FIELD(kind, member, ...)                                                                   \
    JSON_FIELD(kind, struct command_request, member, .nullable = true, __VA_ARGS__)
#define ID_MAX ((int64_t)UINT32_MAX - 1) /* the largest value means "unchanged" to the system */

static const struct json_field command_fields[] = {
    FIELD(STR, command, ),
    FIELD(STR, cwd, ),
    FIELD(ARRAY, argv, ),
    FIELD(OBJECT, envs, ),
    FIELD(BOOL, background, ),
    FIELD(BOOL, tty, ),
    FIELD(INT, timeout, .max = LIMIT_DURATION_MS),
    FIELD(INT, uid, .max = ID_MAX),
    FIELD(INT, gid, .max = ID_MAX),
    FIELD(INT, cols, .min = 1, .max = TERMINAL_SIZE_MAX),
    FIELD(INT, rows, .min = 1, .max = TERMINAL_SIZE_MAX),
};

static const char *lookup(const char *name)
{
    return getenv(name);
}

/* NULL remains NULL. */
static int expand_cwd(const char **cwd, struct buf *path, struct hf_error *err)
{
    int rc;

    if (*cwd == NULL || **cwd == '\0') {
        *cwd = NULL;
        return 0;
    }
    rc = osb_expand(*cwd, lookup, path, err);
    if (rc == 0)
        *cwd = buf_cstr(path);
    return rc;
}

static int take_argv(struct command_request *a, struct hf_error *err)
{
    size_t n = json_array_size(a->argv), i;
    json_t *v;

    if (n == 0 || n > LIMIT_ARGS)
        return hf_fail_field(err, HF_E_bad_value, "argv", "argv must have 1 to %d strings",
                             LIMIT_ARGS);
    a->args = hf_xalloc(n * sizeof *a->args);
    json_array_foreach (a->argv, i, v) {
        a->args[i] = json_text(v, "argv", err);
        if (a->args[i] == NULL)
            return -1;
    }
    a->spec.command = a->args[0];
    a->spec.args = a->args + 1;
    a->spec.arg_count = n - 1;
    return a->args[0][0] != '\0'
               ? 0
               : hf_fail_field(err, HF_E_bad_value, "argv", "argv[0] must not be empty");
}

static int take_command(struct command_request *a, struct hf_error *err)
{
    bool given = a->command != NULL && a->command[0] != '\0';

    if (given == (a->argv != NULL))
        return hf_fail_field(err, HF_E_bad_value, "command",
                             given ? "use command or argv, not both"
                                   : "command is required and must not be empty");
    if (a->argv != NULL)
        return take_argv(a, err);
    a->args = hf_xalloc(2 * sizeof *a->args);
    a->args[0] = "-c";
    a->args[1] = a->command;
    a->spec.command = osb_shell();
    a->spec.args = a->args;
    a->spec.arg_count = 2;
    return 0;
}

static int take_user(struct command_request *a, struct hf_error *err)
{
    if (a->gid >= 0 && a->uid < 0)
        return hf_fail_field(err, HF_E_bad_value, "gid", "gid needs uid");
    if (a->uid >= 0 && a->gid >= 0)
        snprintf(a->user, sizeof a->user, "%lld:%lld", (long long)a->uid, (long long)a->gid);
    else if (a->uid >= 0)
        snprintf(a->user, sizeof a->user, "%lld", (long long)a->uid);
    a->spec.user = a->uid >= 0 ? a->user : NULL;
    return 0;
}

static void fill_spec(struct command_request *a)
{
    struct spawn_spec *s = &a->spec;

    s->cwd = a->cwd;
    s->env = a->env;
    s->timeout_ms = a->timeout;
    s->grace_ms = a->timeout > 0 ? 0 : -1; /* a timeout kills at once, as execd's does */
    s->pty = a->tty;
    s->rows = a->rows;
    s->cols = a->cols;
    s->stdin_mode = a->tty ? STDIN_DEFAULT : STDIN_NULL;
    s->source = SOURCE_AGENT;
    s->metadata_json =
        a->background ? "{\"opensandbox\":\"background\"}" : "{\"opensandbox\":\"foreground\"}";
    if (a->background)
        s->history_bytes = LIMIT_OSB_LOG_BYTES;
}

int osb_command_request_decode(struct command_request *a, const json_t *body, struct hf_error *err)
{
    int rc;

    *a = (struct command_request){.uid = -1, .gid = -1};
    spec_init(&a->spec);
    rc = json_decode_known(body, command_fields, sizeof command_fields / sizeof *command_fields, a,
                           err);
    if (rc < 0 || (rc = take_command(a, err)) < 0 || (rc = take_user(a, err)) < 0 ||
        (rc = expand_cwd(&a->cwd, &a->path, err)) < 0)
        return rc;
    if (a->envs != NULL && (rc = spawn_request_env(a->envs, &a->env, &a->spec.env_count, err)) < 0)
        return rc;
    fill_spec(a);
    return 0;
}

void osb_command_request_fini(struct command_request *a)
{
    free(a->args);
    free(a->env);
    buf_fini(&a->path);
}

/* --- sessions ------------------------------------------------------------------------ */

static const struct json_field session_fields[] = {
    JSON_FIELD(STR, struct osb_session_request, command, .nullable = true),
    JSON_FIELD(STR, struct osb_session_request, cwd, .nullable = true),
    JSON_FIELD(INT, struct osb_session_request, timeout, .nullable = true,
               .max = LIMIT_DURATION_MS),
};

int osb_session_request_decode(struct osb_session_request *a, const json_t *body, bool run,
                               struct hf_error *err)
{
    int rc;

    *a = (struct osb_session_request){0};
    rc = json_decode_known(body, session_fields, sizeof session_fields / sizeof *session_fields, a,
                           err);
    if (rc < 0)
        return rc;
    if (run && (a->command == NULL || a->command[0] == '\0'))
        return hf_fail_field(err, HF_E_missing_field, "command",
                             "command is required and must not be empty");
    return expand_cwd(&a->cwd, &a->path, err);
}

void osb_session_request_fini(struct osb_session_request *a)
{
    buf_fini(&a->path);
}
