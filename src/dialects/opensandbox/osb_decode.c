/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_decode.c - decodes commands and session bodies into a spawn_spec. Layer: dialects.
 */
#include "dialects/opensandbox/osb_decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "dialects/opensandbox/osb.h"
#include "dialects/opensandbox/osb_expand_path.h"

#define FIELD(n, k, m, ...)                                                                        \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(struct command_request, m),           \
           .nullable = true, __VA_ARGS__)
#define ID_MAX ((int64_t)UINT32_MAX - 1) /* the largest value means "unchanged" to the system */

static const struct json_field command_fields[] = {
    FIELD("command", STR, line, ),
    FIELD("cwd", STR, body.spec.cwd, ),
    FIELD("argv", ARRAY, argv, ),
    FIELD("envs", OBJECT, body.env, ),
    FIELD("background", BOOL, background, ),
    FIELD("tty", BOOL, body.spec.pty, ),
    FIELD("timeout", INT, body.spec.timeout_ms, .max = LIMIT_DURATION_MS),
    FIELD("uid", INT, uid, .max = ID_MAX),
    FIELD("gid", INT, gid, .max = ID_MAX),
    FIELD("cols", INT, body.spec.cols, .min = 1, .max = TERMINAL_SIZE_MAX),
    FIELD("rows", INT, body.spec.rows, .min = 1, .max = TERMINAL_SIZE_MAX),
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
    const char **words;
    json_t *v;

    if (n == 0 || n > LIMIT_ARGS)
        return hf_fail_field(err, HF_E_bad_value, "argv", "argv must have 1 to %d strings",
                             LIMIT_ARGS);
    a->body.arg_words = words = hf_xalloc(n * sizeof *words);
    json_array_foreach (a->argv, i, v) {
        words[i] = json_text(v, "argv", err);
        if (words[i] == NULL)
            return -1;
    }
    a->body.spec.command = words[0];
    a->body.spec.args = words + 1;
    a->body.spec.arg_count = n - 1;
    return words[0][0] != '\0'
               ? 0
               : hf_fail_field(err, HF_E_bad_value, "argv", "argv[0] must not be empty");
}

static int take_command(struct command_request *a, struct hf_error *err)
{
    bool given = a->line != NULL && a->line[0] != '\0';

    if (given == (a->argv != NULL))
        return hf_fail_field(err, HF_E_bad_value, "command",
                             given ? "use command or argv, not both"
                                   : "command is required and must not be empty");
    if (a->argv != NULL)
        return take_argv(a, err);
    a->body.arg_words = hf_xalloc(2 * sizeof *a->body.arg_words);
    a->body.arg_words[0] = "-c";
    a->body.arg_words[1] = a->line;
    a->body.spec.command = osb_shell();
    a->body.spec.args = a->body.arg_words;
    a->body.spec.arg_count = 2;
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
    a->body.spec.user = a->uid >= 0 ? a->user : NULL;
    return 0;
}

static void fill_spec(struct command_request *a)
{
    struct spawn_spec *s = &a->body.spec;

    s->grace_ms = s->timeout_ms > 0 ? 0 : -1; /* a timeout kills at once, as execd's does */
    s->stdin_mode = s->pty ? STDIN_DEFAULT : STDIN_NULL;
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
    spec_body_init(&a->body);
    rc = spec_body_decode(&a->body, body, command_fields,
                          sizeof command_fields / sizeof *command_fields, err);
    if (rc < 0 || (rc = take_command(a, err)) < 0 || (rc = take_user(a, err)) < 0 ||
        (rc = expand_cwd(&a->body.spec.cwd, &a->path, err)) < 0)
        return rc;
    fill_spec(a);
    return 0;
}

void osb_command_request_fini(struct command_request *a)
{
    spec_body_fini(&a->body);
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
