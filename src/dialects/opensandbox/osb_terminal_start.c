/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_terminal_start.c - three ways to a terminal: GET /pty/{id}/ws, GET /command and GET /terminal
 *
 * The last two start and attach in one step, and their binary frames are plain bytes. From
 * `connected` on, a client knows the process by its id, and can attach to it again through
 * /pty/{id}/ws, or /ws/session/{id}, which is the same. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_env.h"
#include "dialects/opensandbox/osb_terminal.h"
#include "engine/session/session.h"

/* False: replied. The gate does not check, because a plain request must first get the errors for
 * unknown ids and for sessions in use. */
static bool is_upgrade(struct http_request *rq)
{
    struct hf_error err = {.code = HF_E_upgrade_required};

    if (http_is_websocket(rq) && ws_version_is_ours(rq) && ws_key_is_valid(rq))
        return true;
    osb_error(rq, &err);
    return false;
}

static void on_disconnect(void *user)
{
    struct osb_terminal *t = user;

    t->rq = NULL;
}

/* A malformed number counts as 0: everything. */
static uint64_t decode_since(const struct http_request *rq)
{
    const char *text = http_query(rq, "since");
    uint64_t since = 0;

    if (text != NULL)
        (void)text_to_u64(text, INT64_MAX, &since);
    return since;
}

static bool may_start(struct http_request *rq)
{
    if (http_role(rq) >= ROLE_OWN)
        return osb_is_open(rq);
    osb_refuse(rq, 403, "FORBIDDEN", "this token may not start a terminal");
    return false;
}

/* --- /pty/{id}/ws ------------------------------------------------------------------- */

struct osb_terminal_start_attach {
    struct process *process;
    struct pty_plan plan;
    const char *key;
    bool session; /* one of ours: its shell is started if it does not run */
    bool viewer;
};

static void attach_launch(struct http_request *rq, struct osb_terminal *t, struct process *last)
{
    struct pty_start start = {.pipes = text_to_bool(http_query(rq, "pty")) == 0};
    struct hf_error err;

    http_set_user(rq, t, on_disconnect);
    if (osb_pty_launch(t->osb, last, &start, osb_terminal_on_spawned, t, &err) < 0)
        osb_terminal_on_spawned(t, NULL, &err);
}

static void attach_begin(struct http_request *rq, const struct osb_terminal_start_attach *a)
{
    bool start = a->session && !process_is_running(a->process);
    struct osb_terminal *t;

    if (!is_upgrade(rq) || (start && !may_start(rq)))
        return;
    t = osb_terminal_new(rq, a->key);
    t->id = hf_xstrdup(http_param(rq, "id"));
    t->viewer = a->viewer;
    t->since = decode_since(rq);
    t->base = a->plan.base;
    if (start)
        attach_launch(rq, t, a->process);
    else
        osb_terminal_open(t, a->process);
}

static void attach_hold(struct http_request *rq, const struct osb_terminal_start_attach *a)
{
    struct osb_terminal *holder = osb_terminal_holder(osb_of(rq), a->key);
    bool take = dialect_query_flag(rq, "takeover") && http_is_websocket(rq);

    if (holder != NULL && !take) {
        osb_refuse(rq, 409, "ALREADY_CONNECTED", "another client holds this session");
        return;
    }
    if (holder != NULL && holder->console == NULL) {
        osb_refuse(rq, 409, "ALREADY_CONNECTED", "another client is already starting this session");
        return;
    }
    if (holder != NULL && is_upgrade(rq))
        osb_terminal_take_over(holder);
    else if (holder != NULL)
        return;
    attach_begin(rq, a);
}

/* A bash session is only watched: its shell reads commands, into which no input may be mixed. */
static struct process *attach_find(struct http_request *rq, bool *viewer)
{
    const char *id = http_param(rq, "id");
    const struct session *s = session_find(osb_of(rq)->base.engine, id, NULL);

    if (s == NULL || session_shell(s) == NULL)
        return osb_process(rq);
    *viewer = true;
    return session_shell(s);
}

static void pty_ws(struct http_request *rq)
{
    const char *mode = http_query(rq, "mode");
    struct osb_terminal_start_attach a = {.viewer = http_role(rq) < ROLE_TYPE ||
                                                    (mode != NULL && strcmp(mode, "viewer") == 0)};
    struct process_view v;

    a.process = attach_find(rq, &a.viewer);
    if (a.process == NULL)
        return;
    process_view(a.process, &v);
    a.session = osb_pty_plan_read(a.process, &a.plan);
    a.key = a.session ? v.tag : v.id;
    if (!a.viewer)
        attach_hold(rq, &a);
    else if (a.session && !v.running)
        osb_refuse(rq, 409, "VIEWER_REQUIRES_RUNNING_SESSION", "the shell is not running yet");
    else
        attach_begin(rq, &a);
    osb_pty_plan_fini(&a.plan);
}

void osb_pty_ws(struct http_request *rq)
{
    osb_env_with(rq, pty_ws);
}

/* --- /command and /terminal -------------------------------------------------------------- */

static void start_spec(struct http_request *rq, struct spawn_spec *spec)
{
    struct spec_env *vars = osb_env_overlay(osb_of(rq), &spec->env, &spec->env_count);
    struct osb_terminal *t = osb_terminal_new(rq, NULL);
    struct hf_error err;

    t->end_unseen = true;
    t->plain = true;
    http_set_user(rq, t, on_disconnect);
    if (engine_spawn(t->osb->base.engine, spec, osb_terminal_on_spawned, t, &err) < 0)
        osb_terminal_on_spawned(t, NULL, &err);
    free(vars);
}

/* Names that a body has too; numbers and words are converted to what they would be there. */
static json_t *query_value(const char *name, const char *value)
{
    static const char *const numbers[] = {"timeout", "uid", "gid", "cols", "rows", NULL};
    int64_t n;

    for (size_t i = 0; numbers[i] != NULL; i++)
        if (strcmp(name, numbers[i]) == 0 && text_to_i64(value, INT64_MIN, INT64_MAX, &n))
            return json_integer(n);
    if (strcmp(name, "tty") == 0)
        return json_boolean(strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
    return json_string(value);
}

static void query_env(json_t *envs, const char *value)
{
    size_t len = strcspn(value, "=");
    char *name = hf_xstrndup(value, len);

    json_object_set_new(envs, name, json_string(value[len] == '=' ? value + len + 1 : ""));
    free(name);
}

static bool is_text(const char *value)
{
    return utf8_is_valid(value, strlen(value));
}

/* NULL: replied. The tree would silently omit what is not UTF-8. */
static json_t *query_body(struct http_request *rq)
{
    json_t *body = json_object(), *argv = json_array(), *envs = json_object();
    const char *name, *value;
    bool ok = true;
    size_t i = 0;

    while (ok && http_query_each(rq, &i, &name, &value)) {
        ok = is_text(name) && is_text(value);
        if (ok && strcmp(name, "argv") == 0)
            json_array_append_new(argv, json_string(value));
        else if (ok && strcmp(name, "env") == 0)
            query_env(envs, value);
        else if (ok)
            json_object_set_new(body, name, query_value(name, value));
    }
    if (json_array_size(argv) > 0)
        json_object_set(body, "argv", argv);
    json_object_set_new(body, "envs", envs);
    json_decref(argv);
    if (ok)
        return body;
    json_decref(body);
    osb_refuse(rq, 400, "INVALID_QUERY", "the query must be UTF-8");
    return NULL;
}

/* `body` may be NULL: replied. */
static void start_body(struct http_request *rq, const json_t *body, bool user_shell)
{
    struct command_request a;
    struct hf_error err;

    if (body == NULL)
        return;
    if (osb_command_request_decode(&a, body, &err) < 0) {
        osb_error(rq, &err);
    } else {
        if (!a.body.spec.pty)
            a.body.spec.stdin_mode = STDIN_PIPE;
        if (user_shell)
            a.body.spec.source = SOURCE_USER_SHELL;
        start_spec(rq, &a.body.spec);
    }
    osb_command_request_fini(&a);
}

static void terminal_command(struct http_request *rq)
{
    json_auto_t *body = is_upgrade(rq) && may_start(rq) ? query_body(rq) : NULL;

    json_object_del(body, "background"); /* a client watches it, but it keeps running without one */
    start_body(rq, body, false);
}

void osb_terminal_command(struct http_request *rq)
{
    osb_env_with(rq, terminal_command);
}

/* No command: the user's shell, with its startup files. */
static void terminal(struct http_request *rq)
{
    const char *command = http_query(rq, "command");
    json_auto_t *body = is_upgrade(rq) && may_start(rq) ? query_body(rq) : NULL;

    json_object_set_new(body, "tty", json_true());
    if ((command == NULL || command[0] == '\0') && json_object_get(body, "argv") == NULL) {
        json_object_del(body, "command");
        json_object_set_new(body, "argv", json_pack("[s]", osb_shell()));
    }
    start_body(rq, body, true);
}

void osb_terminal(struct http_request *rq)
{
    osb_env_with(rq, terminal);
}
