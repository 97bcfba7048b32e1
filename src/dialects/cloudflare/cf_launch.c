/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_launch.c - starts a process with the variables and directory of its session's shell.
 * Layer: dialects.
 */
#include "dialects/cloudflare/cf_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"

#define CAPTURE_TIMEOUT_MS 10000
#define CAPTURE_MAX_BYTES 4096 /* a path */
#define DETACH_MS 500          /* not immediately: replacing the worker detaches every client */

/*
 * Arguments: the file, the names of the variables that must keep this process's values, and the
 * program. The marker by which the daemon recognizes its processes is one of those names.
 */
static const char boot[] =
    "for __hf_n in $2; do "
    "eval \"__hf_had_$__hf_n=\\${$__hf_n+1} __hf_was_$__hf_n=\\${$__hf_n-}\"; done; "
    ". \"$1\"; command -p rm -f -- \"$1\"; "
    "for __hf_n in $2; do "
    "eval \"if [ -n \\\"\\$__hf_had_$__hf_n\\\" ]; then "
    "export $__hf_n=\\\"\\$__hf_was_$__hf_n\\\"; else unset $__hf_n; fi; "
    "unset __hf_had_$__hf_n __hf_was_$__hf_n\"; done; unset __hf_n; "
    "shift 2; exec \"$@\"";

struct cf_launch {
    struct call call; /* unattended: the caller has its own */
    struct cf *cf;
    cf_launch_fn *fn; /* NULL: no caller is waiting */
    bool end;         /* and the process is not wanted */
    void *arg;
    struct cf_launch_request request; /* its strings and values are owned */
    struct cf_want want;
    struct session_run *capture;
    char *file;        /* with the shell's variables; NULL: none */
    const char *shell; /* static: the fallback for bash */
    bool nowhere;      /* the workspace does not exist */
};

/* The strings of a request, which is copied because its session may have to be created first. */
static const size_t texts[] = {
    offsetof(struct cf_launch_request, session),  offsetof(struct cf_launch_request, group),
    offsetof(struct cf_launch_request, command),  offsetof(struct cf_launch_request, shell),
    offsetof(struct cf_launch_request, cwd),      offsetof(struct cf_launch_request, tag),
    offsetof(struct cf_launch_request, metadata),
};

static char **text_at(struct cf_launch_request *a, size_t i)
{
    return (char **)(void *)((char *)a + texts[i]);
}

static void request_copy(struct cf_launch_request *a)
{
    for (size_t i = 0; i < CF_COUNT(texts); i++)
        *text_at(a, i) = hf_xstrdup(*text_at(a, i));
    json_incref((json_t *)(uintptr_t)a->argv);
    json_incref((json_t *)(uintptr_t)a->env);
}

static void launch_release(struct call *c)
{
    struct cf_launch *l = list_entry(c, struct cf_launch, call);

    if (l->capture != NULL)
        session_run_leave(l->capture, false);
    cf_want_cancel(&l->want);
    for (size_t i = 0; i < CF_COUNT(texts); i++)
        free(*text_at(&l->request, i));
    json_decref((json_t *)(uintptr_t)l->request.argv);
    json_decref((json_t *)(uintptr_t)l->request.env);
    free(l->file);
}

static const struct call_kind launch_kind = {.release = launch_release, .stays = true};

static void launch_over(struct cf_launch *l, struct process *p, const struct hf_error *err)
{
    if (l->fn != NULL)
        l->fn(l->arg, p, err);
    else if (p != NULL && l->end)
        process_terminate(p, -1, "detach", NULL, NULL);
    call_end(&l->call);
}

/* --- the process ---------------------------------------------------------------------------- */

struct cf_launch_plan {
    struct spawn_spec spec;
    const char **args;
    size_t arg_count;
    struct spec_env *env;
    struct buf names, cwd;
};

static void plan_fini(struct cf_launch_plan *p)
{
    free((void *)p->args);
    free(p->env);
    buf_fini(&p->names);
    buf_fini(&p->cwd);
}

static void put_arg(struct cf_launch_plan *p, const char *arg)
{
    p->args[p->arg_count++] = arg;
}

static const char *shell_name(const struct cf_launch *l, const struct session *s)
{
    struct process_view v;

    if (l->shell != NULL || s == NULL || session_shell(s) == NULL)
        return l->shell != NULL ? l->shell : "bash";
    process_view(session_shell(s), &v);
    return v.command;
}

/* The program itself, after any prefix: argv, a line for a shell, or a terminal's shell. */
static void put_program(struct cf_launch_plan *p, const struct cf_launch_request *a,
                        const char *shell)
{
    if (a->argv != NULL) {
        for (size_t i = 0; i < json_array_size(a->argv); i++)
            put_arg(p, json_string_value(json_array_get(a->argv, i)));
        return;
    }
    put_arg(p, a->command == NULL && a->shell != NULL ? a->shell : shell);
    if (a->command != NULL) {
        put_arg(p, "-c");
        put_arg(p, a->command);
    }
}

static void plan_program(struct cf_launch_plan *p, const struct cf_launch *l, const char *shell)
{
    const char *prefix[] = {shell, "-c", boot, shell, l->file, buf_cstr(&p->names)};

    p->args = hf_xalloc((json_array_size(l->request.argv) + 10) * sizeof *p->args);
    for (size_t i = 0; l->file != NULL && i < CF_COUNT(prefix); i++)
        put_arg(p, prefix[i]);
    put_program(p, &l->request, shell);
    p->spec.command = p->args[0];
    p->spec.args = p->args + 1;
    p->spec.arg_count = p->arg_count - 1;
}

/* The terminal's, the session's unless they come with the file, and the request's own. */
static int plan_env(struct cf_launch_plan *p, const struct cf_launch *l, const struct session *s,
                    struct hf_error *err)
{
    const struct session_spec *d = s != NULL && l->file == NULL ? session_definition(s) : NULL;
    size_t defined = d != NULL ? d->env_count : 0, more = defined + l->request.pty, own;
    int rc = cf_env(l->request.env, more, &p->env, &own, err);

    if (rc < 0)
        return rc;
    memmove(p->env + more, p->env, own * sizeof *p->env);
    if (l->request.pty)
        p->env[0] = (struct spec_env){"TERM", "xterm-256color"};
    for (size_t i = 0; i < defined; i++)
        p->env[l->request.pty + i] = d->env[i];
    p->spec.env = p->env;
    p->spec.env_count = more + own;
    buf_puts(&p->names, "HOLDFAST_PROCESS_ID");
    for (size_t i = 0; i < p->spec.env_count; i++)
        buf_printf(&p->names, " %s", p->env[i].name);
    return 0;
}

static void plan_cwd(struct cf_launch_plan *p, const struct cf_launch *l, const struct session *s)
{
    const char *base = s != NULL ? session_cwd(s) : l->nowhere ? NULL : CF_WORKSPACE;

    p->spec.cwd = base;
    if (l->request.cwd == NULL)
        return;
    if (l->request.cwd[0] != '/' && base != NULL)
        buf_printf(&p->cwd, "%s/", base);
    buf_puts(&p->cwd, l->request.cwd);
    p->spec.cwd = buf_cstr(&p->cwd);
}

static int plan_make(struct cf_launch_plan *p, const struct cf_launch *l, struct hf_error *err)
{
    const struct cf_launch_request *a = &l->request;
    const struct session *s = NULL;
    int rc;

    spec_init(&p->spec);
    if (a->session != NULL && (s = session_find(l->cf->base.engine, a->session, err)) == NULL)
        return -1;
    rc = plan_env(p, l, s, err);
    if (rc < 0)
        return rc;
    plan_cwd(p, l, s);
    plan_program(p, l, shell_name(l, s));
    p->spec.session_id = a->session != NULL ? a->session : a->group;
    p->spec.helper = a->helper;
    p->spec.tag = a->tag;
    p->spec.metadata_json = a->metadata;
    p->spec.timeout_ms = a->timeout_ms;
    p->spec.pty = a->pty;
    p->spec.source = a->pty ? SOURCE_USER : SOURCE_AGENT;
    p->spec.rows = a->rows;
    p->spec.cols = a->cols;
    p->spec.history_bytes = a->history_bytes;
    p->spec.on_detach = a->kill_on_detach ? DETACH_KILL_AFTER : DETACH_KEEP;
    p->spec.detach_ms = DETACH_MS;
    p->spec.stdin_mode = a->pty ? STDIN_DEFAULT : a->stdin_pipe ? STDIN_PIPE : STDIN_NULL;
    return 0;
}

/* No process has read the file. */
static void drop_file(struct cf_launch *l)
{
    struct session *s = l->request.session != NULL
                            ? session_find(l->cf->base.engine, l->request.session, NULL)
                            : NULL;
    struct session_run_spec spec = {.source = SOURCE_SYSTEM, .grace_ms = -1};
    struct buf line = {0};
    struct session_run *run;

    if (l->file == NULL || s == NULL)
        return;
    buf_puts(&line, "command -p rm -f -- ");
    buf_put_quoted(&line, l->file);
    spec.command = buf_cstr(&line);
    if (session_run(s, &spec, NULL, NULL, &run, NULL) == 0)
        session_run_leave(run, false);
    buf_fini(&line);
}

static void launch_spawn(struct cf_launch *l);

/* Without a workspace or bash, try once more with what exists. */
static bool launch_again(struct cf_launch *l, const struct hf_error *why)
{
    bool here = l->request.session == NULL && l->request.cwd == NULL && !l->nowhere &&
                strcmp(why->path, CF_WORKSPACE) == 0;
    bool shell = l->shell == NULL && l->request.argv == NULL && strcmp(why->path, "bash") == 0 &&
                 (l->request.command != NULL || l->request.shell == NULL);

    l->nowhere |= here;
    if (shell)
        l->shell = "sh";
    return here || shell;
}

static void launch_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct cf_launch *l = arg;

    if (p == NULL && launch_again(l, err)) {
        launch_spawn(l);
        return;
    }
    if (p == NULL)
        drop_file(l);
    launch_over(l, p, err);
}

static void launch_spawn(struct cf_launch *l)
{
    struct cf_launch_plan p = {0};
    struct hf_error err = {0};
    int rc = plan_make(&p, l, &err);

    if (rc == 0)
        rc = engine_spawn(l->cf->base.engine, &p.spec, launch_on_spawned, l, &err);
    plan_fini(&p);
    if (rc < 0)
        launch_on_spawned(l, NULL, &err);
}

/* --- the shell's variables -------------------------------------------------------------------- */

static void capture_on_done(void *arg, const struct session_result *r, const struct hf_error *err)
{
    struct cf_launch *l = arg;
    struct headtail_view v;

    (void)err;
    l->capture = NULL;
    if (r != NULL && r->exit.kind == EXIT_EXITED && r->exit.code == 0) {
        headtail_peek(r->out, &v);
        if (v.head_len > 0 && v.tail_len == 0 && memchr(v.head, '\0', v.head_len) == NULL)
            l->file = hf_xstrndup(v.head, v.head_len);
    }
    launch_spawn(l);
}

/* A shell returns more than a small result in its tail only; the path is short. */
static bool capture_begin(struct cf_launch *l, struct session *s)
{
    struct session_run_spec spec = {
        .source = SOURCE_SYSTEM,
        .timeout_ms = CAPTURE_TIMEOUT_MS,
        .grace_ms = -1,
        .max_output_bytes = 2 * CAPTURE_MAX_BYTES,
    };
    uint8_t raw[12];
    char name[24], line[256];

    crypto_random(raw, sizeof raw);
    base32_encode(name, raw, sizeof raw);
    snprintf(line, sizeof line,
             "( umask 077; set -C; __hf_f=${TMPDIR:-/tmp}/.holdfast-env-%s; "
             "export -p >\"$__hf_f\" && command printf %%s \"$__hf_f\" )",
             name);
    spec.command = line;
    return session_run(s, &spec, capture_on_done, l, &l->capture, NULL) == 0;
}

static bool is_busy(const struct session *s)
{
    struct session_command c;

    return session_log_last(session_commands(s), &c) && !c.ended;
}

/* A shell that has run nothing has only the variables that the session was created with. */
static void launch_on_session(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_launch *l = arg;

    if (s == NULL) {
        launch_over(l, NULL, err);
        return;
    }
    if (session_log_next_number(session_commands(s)) > 1 && !(l->request.impatient && is_busy(s)) &&
        capture_begin(l, s))
        return;
    launch_spawn(l);
}

/* --- requests --------------------------------------------------------------------------------- */

void cf_launch(struct cf *cf, const struct cf_launch_request *request, cf_launch_fn *fn, void *arg,
               struct cf_launch **out)
{
    struct cf_launch *l = hf_xalloc(sizeof *l);

    l->cf = cf;
    l->fn = fn;
    l->arg = arg;
    l->request = *request;
    request_copy(&l->request);
    l->want = (struct cf_want){.fn = launch_on_session, .arg = l};
    call_adopt_unattended(&l->call, &cf->base, &launch_kind);
    *out = l;
    if (request->session != NULL)
        cf_session_want(cf, request->session, &l->want);
    else
        launch_spawn(l);
}

void cf_launch_leave(struct cf_launch *l, bool end)
{
    l->fn = NULL;
    l->end = end;
}

/* --- reporting -------------------------------------------------------------------------------- */

void cf_write_command(struct json_out *o, const char *key, const struct process_view *v)
{
    struct buf line = {0};
    size_t skip = 0;

    /* bash -c BOOT bash FILE NAMES bash -c LINE */
    if (v->arg_count > 5 && strcmp(v->args[0], "-c") == 0 && strcmp(v->args[1], boot) == 0)
        skip = 6;
    if (v->arg_count == skip + 2 && strcmp(v->args[skip], "-c") == 0) {
        json_kstr(o, key, v->args[skip + 1]);
        return;
    }
    buf_puts(&line, skip > 0 ? v->args[skip - 1] : v->command);
    for (size_t i = skip; i < v->arg_count; i++)
        buf_printf(&line, " %s", v->args[i]);
    json_kstr(o, key, buf_cstr(&line));
    buf_fini(&line);
}
