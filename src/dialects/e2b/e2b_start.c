/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_start.c - Start and Connect: the two calls that reply with a stream. Layer: dialects.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/e2b/e2b_stream.h"

#define E2B_DEADLINE_GRACE_MS 50 /* a deadline is strict: TERM is only a courtesy */

/* A request as a spec, and what the spec borrows from. */
struct e2b_start_plan {
    struct spawn_spec spec;
    struct user user;
    const char **args;
    struct spec_env *env;
    char cwd[PATH_MAX];
};

static void plan_fini(struct e2b_start_plan *p)
{
    free(p->args);
    free(p->env);
}

static int has_nul(const json_t *v, const char *field, struct hf_error *err)
{
    if (v == NULL || strlen(json_string_value(v)) == json_string_length(v))
        return 0;
    return hf_fail_field(err, HF_E_bad_value, field, "%s must not contain NUL", field);
}

static int plan_args(struct e2b_start_plan *p, const json_t *config, struct hf_error *err)
{
    const json_t *args = json_object_get(config, "args"), *cmd = json_object_get(config, "cmd");
    size_t n = json_array_size(args);

    if (json_string_length(cmd) == 0)
        return hf_fail_field(err, HF_E_missing_field, "cmd", "process.cmd must name a program");
    if (has_nul(cmd, "cmd", err) < 0)
        return -1;
    p->spec.command = json_string_value(cmd);
    p->args = hf_xalloc((n + 1) * sizeof *p->args);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(args, i);

        if (has_nul(v, "args", err) < 0)
            return -1;
        p->args[i] = json_string_value(v);
    }
    p->spec.args = p->args;
    p->spec.arg_count = n;
    return 0;
}

/* --- variables ------------------------------------------------------------------------- */

static void env_add(struct e2b_start_plan *p, const json_t *own, const char *name,
                    const char *value)
{
    if (value != NULL && value[0] != '\0' && json_object_get(own, name) == NULL)
        p->env[p->spec.env_count++] = (struct spec_env){name, value};
}

/* The user's, then the sandbox's, then the request's: the last one counts. */
static int plan_env(struct e2b_start_plan *p, const struct e2b *e, json_t *own,
                    struct hf_error *err)
{
    static const char *const user[] = {"HOME", "USER", "LOGNAME"};
    json_t *value, *all = e->sandbox.env;
    const char *name;

    p->env = hf_xalloc((json_object_size(own) + json_object_size(all) + 6) * sizeof *p->env);
    json_object_foreach (own, name, value) {
        if (has_nul(value, "envs", err) < 0)
            return -1;
        p->env[p->spec.env_count++] = (struct spec_env){name, json_string_value(value)};
    }
    json_object_foreach (all, name, value) {
        env_add(p, own, name, json_string_value(value));
    }
    for (size_t i = 0; i < 3; i++)
        if (json_object_get(all, user[i]) == NULL)
            env_add(p, own, user[i], i == 0 ? p->user.home : p->user.name);
    p->spec.env = p->env;
    return 0;
}

/* --- the working directory -------------------------------------------------------------- */

static bool is_missing(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* The client did not request the home directory, so a missing one is no error. */
static int plan_cwd(struct e2b_start_plan *p, const struct e2b *e, const json_t *cwd,
                    struct hf_error *err)
{
    const char *requested = json_string_value(cwd);

    if (has_nul(cwd, "cwd", err) < 0)
        return -1;
    if (requested != NULL && requested[0] == '\0')
        requested = NULL;
    if (!e2b_path(&p->user,
                  requested != NULL            ? requested
                  : e->sandbox.workdir != NULL ? e->sandbox.workdir
                                               : "~",
                  p->cwd, sizeof p->cwd))
        return hf_fail_field(err, HF_E_bad_value, "cwd", "cwd is too long for a path");
    if (requested == NULL && is_missing(p->cwd))
        snprintf(p->cwd, sizeof p->cwd, "/");
    p->spec.cwd = p->cwd;
    return 0;
}

static int plan_terminal(struct e2b_start_plan *p, const json_t *message)
{
    const json_t *pty = json_object_get(message, "pty"), *size = json_object_get(pty, "size"),
                 *in = json_object_get(message, "stdin");

    p->spec.pty = pty != NULL;
    p->spec.rows = json_integer_value(json_object_get(size, "rows"));
    p->spec.cols = json_integer_value(json_object_get(size, "cols"));
    if (p->spec.rows == 0 || p->spec.cols == 0) { /* programs divide by it */
        p->spec.rows = p->spec.rows != 0 ? p->spec.rows : 24;
        p->spec.cols = p->spec.cols != 0 ? p->spec.cols : 80;
    }
    p->spec.stdin_mode = p->spec.pty ? STDIN_DEFAULT : json_is_false(in) ? STDIN_NULL : STDIN_PIPE;
    return 0;
}

static int plan_make(struct e2b_start_plan *p, struct http_request *rq, const json_t *message,
                     const struct e2b_stream_request *request, struct hf_error *err)
{
    const json_t *config = json_object_get(message, "process"),
                 *tag = json_object_get(message, "tag");
    struct e2b *e = e2b_of(rq);
    bool given = false;
    int rc;

    memset(p, 0, sizeof *p);
    spec_init(&p->spec);
    p->spec.source = SOURCE_AGENT;
    p->spec.quiet_start = true;
    if ((rc = e2b_user(rq, &p->user, &given, err)) < 0 || (rc = plan_args(p, config, err)) < 0 ||
        (rc = plan_env(p, e, json_object_get(config, "envs"), err)) < 0 ||
        (rc = plan_cwd(p, e, json_object_get(config, "cwd"), err)) < 0 ||
        (rc = plan_terminal(p, message)) < 0 || (rc = has_nul(tag, "tag", err)) < 0)
        return rc;
    p->spec.user = given ? p->user.name : NULL;
    p->spec.tag = json_string_length(tag) > 0 ? json_string_value(tag) : NULL;
    if (request->deadline_ms > 0 && !request->deadline_stream) {
        p->spec.timeout_ms = request->deadline_ms;
        p->spec.grace_ms = E2B_DEADLINE_GRACE_MS;
    }
    return 0;
}

/* --- Start --------------------------------------------------------------------------------- */

struct e2b_start_starting {
    struct call call;
    struct e2b_stream_request request;
    json_t *config;
    char cwd[PATH_MAX];
};

static void starting_release(struct call *c)
{
    json_decref(list_entry(c, struct e2b_start_starting, call)->config);
}

/* If the client disconnects, the process stays. */
static const struct call_kind starting_kind = {.stays = true, .release = starting_release};

static void starting_failed(const struct e2b_start_starting *s, struct http_request *rq,
                            const struct hf_error *err)
{
    char why[480];

    if (err->code != HF_E_spawn_failed) {
        e2b_rpc_error(rq, err);
        return;
    }
    if (strcmp(err->path, s->cwd) == 0 && err->errno_name != NULL &&
        strcmp(err->errno_name, "ENOENT") == 0)
        snprintf(why, sizeof why, "cwd '%.200s' does not exist", s->cwd);
    else
        snprintf(why, sizeof why, "error starting process '%.100s': %s",
                 json_string_value(json_object_get(s->config, "cmd")), err->detail);
    e2b_rpc_fail(rq, "invalid_argument", why);
}

static void starting_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    const struct viewer_options all = {.since = SINCE_OFFSET, .offset = 0};
    struct e2b_start_starting *s = arg;
    struct e2b *e = (struct e2b *)s->call.base;
    struct http_request *rq = call_detach(&s->call);

    if (p != NULL)
        e2b_note(e, p, json_object_get(s->config, "envs"),
                 json_string_value(json_object_get(s->config, "cwd")));
    if (rq != NULL && p != NULL)
        e2b_stream_begin(rq, p, &s->request, &all, true);
    else if (rq != NULL)
        starting_failed(s, rq, err);
    if (p != NULL && e->sandbox.killed) /* the kill came before it existed */
        process_terminate(p, 0, "api", NULL, NULL);
    call_end(&s->call);
}

static void start_spawn(struct http_request *rq, const struct e2b_start_plan *plan,
                        const struct e2b_stream_request *request, const json_t *message)
{
    struct e2b_start_starting *s = call_begin(rq, &starting_kind, sizeof *s);
    struct hf_error err;

    s->request = *request;
    s->config = json_incref(json_object_get(message, "process"));
    memcpy(s->cwd, plan->cwd, sizeof s->cwd);
    if (engine_spawn(s->call.base->engine, &plan->spec, starting_on_spawned, s, &err) < 0)
        e2b_rpc_error(call_end(&s->call), &err);
}

void e2b_start(struct http_request *rq)
{
    struct e2b_stream_request request = {0};
    json_auto_t *message = e2b_rpc_request(rq, &e2b_start_request, true, &request.codec);
    struct hf_error err = {0};
    struct e2b_start_plan *plan;

    if (message == NULL || !e2b_stream_decode(rq, &request))
        return;
    plan = hf_xalloc(sizeof *plan);
    if (plan_make(plan, rq, message, &request, &err) < 0)
        e2b_rpc_error(rq, &err);
    else
        start_spawn(rq, plan, &request, message);
    plan_fini(plan);
    free(plan);
}

/* --- Connect -------------------------------------------------------------------------------- */

/* The original replays nothing, so earlier output must be requested explicitly. */
static bool connect_from(struct http_request *rq, struct viewer_options *o)
{
    const char *since = http_header(rq, "Holdfast-Since");

    *o = (struct viewer_options){.since = SINCE_NOW};
    if (since == NULL)
        return true;
    o->since = SINCE_OFFSET;
    if (text_to_u64(since, UINT64_MAX, &o->offset))
        return true;
    e2b_rpc_fail(rq, "invalid_argument", "Holdfast-Since must be an offset in bytes");
    return false;
}

void e2b_connect(struct http_request *rq)
{
    struct e2b_stream_request request = {0};
    json_auto_t *message = e2b_rpc_request(rq, &e2b_select_request, true, &request.codec);
    struct viewer_options from;
    struct process *p;

    if (message == NULL || !e2b_stream_decode(rq, &request) || !connect_from(rq, &from))
        return;
    p = e2b_rpc_process(rq, message, false);
    if (p != NULL)
        e2b_stream_begin(rq, p, &request, &from, false);
}
