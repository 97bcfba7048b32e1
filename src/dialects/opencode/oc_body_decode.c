/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_body_decode.c - decodes the bodies of PTY and session calls. Layer: dialects.
 */
#include "dialects/opencode/oc_body_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/request_checks.h"
#include "dialects/opencode/opencode.h"

/* --- members ------------------------------------------------------------------------ */

static int refuse(struct hf_error *err, const char *name, const char *what)
{
    return hf_fail_field(err, HF_E_bad_value, name, "%s\n  at [\"%s\"]", what, name);
}

/* What is passed to a process must be a C string. */
static const char *plain_text(const json_t *v)
{
    const char *text = json_string_value(v);

    return text != NULL && strlen(text) == json_string_length(v) ? text : NULL;
}

static int take_text(const json_t *body, const char *name, bool required, const char **out,
                     struct hf_error *err)
{
    const json_t *v = json_object_get(body, name);

    if (v == NULL)
        return required ? refuse(err, name, "Missing key") : 0;
    if (!json_is_string(v))
        return refuse(err, name, "Expected string");
    if (plain_text(v) == NULL)
        return refuse(err, name, "Expected a string without NUL");
    *out = plain_text(v);
    return 0;
}

/* --- terminals ---------------------------------------------------------------------- */

static int take_args(struct oc_pty_request *a, const json_t *args, struct hf_error *err)
{
    const json_t *v;
    size_t i;

    if (args != NULL && !json_is_array(args))
        return refuse(err, "args", "Expected array");
    a->spec.args = a->args = hf_xalloc((json_array_size(args) + 1) * sizeof *a->args);
    json_array_foreach (args, i, v) {
        if (plain_text(v) == NULL)
            return refuse(err, "args", "Expected strings without NUL");
        a->args[a->spec.arg_count++] = plain_text(v);
    }
    return 0;
}

/* The caller must not set the variables that identify the terminal and its owner. */
static int take_env(struct oc_pty_request *a, json_t *env, struct hf_error *err)
{
    const char *name;
    json_t *v;

    if (env != NULL && !json_is_object(env))
        return refuse(err, "env", "Expected object");
    a->spec.env = a->env = hf_xalloc((json_object_size(env) + 2) * sizeof *a->env);
    json_object_foreach (env, name, v) {
        if (plain_text(v) == NULL)
            return refuse(err, "env", "Expected strings without NUL");
        if (strcmp(name, "TERM") != 0 && strcmp(name, "OPENCODE_TERMINAL") != 0)
            a->env[a->spec.env_count++] = (struct spec_env){name, plain_text(v)};
    }
    a->env[a->spec.env_count++] = (struct spec_env){"TERM", "xterm-256color"};
    a->env[a->spec.env_count++] = (struct spec_env){"OPENCODE_TERMINAL", "1"};
    return 0;
}

int oc_pty_request_decode(struct oc_pty_request *a, const json_t *body, struct hf_error *err)
{
    int rc;

    *a = (struct oc_pty_request){0};
    spec_init(&a->spec);
    if ((rc = take_text(body, "command", false, &a->spec.command, err)) < 0 ||
        (rc = take_text(body, "cwd", false, &a->spec.cwd, err)) < 0 ||
        (rc = take_text(body, "title", false, &a->spec.label, err)) < 0 ||
        (rc = take_args(a, json_object_get(body, "args"), err)) < 0)
        return rc;
    return take_env(a, json_object_get(body, "env"), err);
}

void oc_pty_request_fini(struct oc_pty_request *a)
{
    free(a->args);
    free(a->env);
}

int oc_pty_change_decode(struct oc_pty_change *c, const json_t *body, struct hf_error *err)
{
    const json_t *size = json_object_get(body, "size"), *rows = json_object_get(size, "rows"),
                 *cols = json_object_get(size, "cols");
    int rc;

    *c = (struct oc_pty_change){.sized = size != NULL};
    rc = take_text(body, "title", false, &c->title, err);
    if (rc == 0 && c->title != NULL && strlen(c->title) > LIMIT_LABEL_BYTES)
        rc = refuse(err, "title", "Expected at most 1024 bytes"); /* before anything changes */
    if (rc < 0 || size == NULL)
        return rc;
    if (!json_is_integer(rows) || !json_is_integer(cols))
        return refuse(err, "size", "Expected whole numbers");
    c->rows = json_integer_value(rows);
    c->cols = json_integer_value(cols);
    return check_size(c->rows, c->cols, err);
}

/* --- sessions ------------------------------------------------------------------------- */

int oc_session_request_decode(struct oc_session_request *a, const json_t *body,
                              struct hf_error *err)
{
    const json_t *time = json_object_get(body, "time"), *v = json_object_get(time, "archived");
    int rc = take_text(body, "title", false, &a->title, err);

    if (rc < 0 || (rc = take_text(body, "parentID", false, &a->parent, err)) < 0)
        return rc;
    if (time != NULL && !json_is_object(time))
        return refuse(err, "time", "Expected object");
    if (v != NULL && !json_is_integer(v))
        return refuse(err, "time", "Expected a number for \"archived\"");
    if (v != NULL)
        a->archived_ms = json_integer_value(v);
    return 0;
}

static int take_message_id(struct oc_order *w, const json_t *body, struct hf_error *err)
{
    int rc = take_text(body, "messageID", false, &w->message_id, err);

    if (rc < 0 || w->message_id == NULL ||
        (strncmp(w->message_id, "msg", 3) == 0 && strlen(w->message_id) < OC_ID_BYTES))
        return rc;
    return refuse(err, "messageID", "Expected a string starting with \"msg\"");
}

static int take_model(struct oc_order *w, const json_t *model, struct hf_error *err)
{
    int rc = take_text(model, "providerID", true, &w->provider, err);

    return rc < 0 ? rc : take_text(model, "modelID", true, &w->model, err);
}

int oc_order_decode(struct oc_order *w, const json_t *body, bool shell, struct hf_error *err)
{
    const json_t *model = json_object_get(body, "model");
    int rc;

    *w = (struct oc_order){.agent = "build"};
    if ((rc = take_text(body, "agent", shell, &w->agent, err)) < 0 ||
        (rc = take_text(body, "command", true, &w->command, err)) < 0 ||
        (rc = take_message_id(w, body, err)) < 0)
        return rc;
    if (!shell) /* its model is a text, which we do not use */
        return take_text(body, "arguments", true, &w->arguments, err);
    return model == NULL ? 0 : take_model(w, model, err);
}
