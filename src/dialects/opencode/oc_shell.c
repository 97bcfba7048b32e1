/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_shell.c - POST /session/{id}/shell and …/command, and …/abort
 *
 * Each command is a process of the session with its own shell, as in the original: changes to its
 * environment do not persist. The reply is sent when it has ended. /command runs a program in PATH
 * here: there is no model to write a prompt for. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/opencode/oc_body_decode.h"
#include "dialects/opencode/oc_message.h"
#include "dialects/opencode/opencode_limits.h"

struct oc_shell_run {
    struct call call;
    struct list link; /* in oc.runs */
    char *session;
    struct process *process; /* referenced; NULL until it was started */
    struct exit_waiter waiter;
    bool aborted; /* before it was started */
};

static void run_release(struct call *c)
{
    struct oc_shell_run *r = list_entry(c, struct oc_shell_run, call);

    exit_waiter_cancel(&r->waiter);
    process_unref(r->process);
    list_remove(&r->link);
    free(r->session);
}

/* The command keeps running without us; the next worker has its messages. */
static void run_drain(struct call *c)
{
    struct oc_shell_run *r = list_entry(c, struct oc_shell_run, call);
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down, "the daemon is shutting down; the command keeps running");
    if (r->process != NULL) {
        call_fail(c, &err);
    } else if (c->rq != NULL) { /* run_on_spawned() ends it */
        http_reply_error(c->rq, &err);
        c->rq = NULL;
    }
}

static const struct call_kind run_kind = {
    .release = run_release,
    .stays = true,
    .drain = run_drain,
};

/* A run with a waiting client, even if it is only about to be started. */
static struct oc_shell_run *run_of(const struct oc *oc, const struct session *s)
{
    for (struct list *l = oc->runs.next; l != &oc->runs; l = l->next) {
        struct oc_shell_run *r = list_entry(l, struct oc_shell_run, link);

        if (strcmp(r->session, session_id(s)) == 0)
            return r;
    }
    return NULL;
}

/* --- the end ---------------------------------------------------------------------------- */

static void run_reply(struct oc_shell_run *r, struct http_request *rq)
{
    struct oc *oc = oc_of_call(&r->call);
    struct hf_error err;
    struct session *s = session_find(oc->base.engine, r->session, &err);
    struct oc_command c;
    struct json_out o;

    if (s == NULL) {
        http_reply_error(rq, &err);
        return;
    }
    oc_command_of_process(&c, oc, s, r->process, OC_REPLY_BYTES);
    o = oc_reply_open(rq);
    oc_write_message(&o, &c, false);
    oc_send(rq, &o);
    oc_command_fini(&c);
}

static void run_on_exit(void *arg, struct process *p)
{
    struct oc_shell_run *r = arg;

    (void)p;
    if (r->call.rq != NULL)
        run_reply(r, r->call.rq);
    r->call.rq = NULL;
    call_end(&r->call);
}

static void run_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct oc_shell_run *r = arg;

    if (p != NULL && (r->aborted || session_find(r->call.base->engine, r->session, NULL) == NULL))
        process_terminate(p, OC_ABORT_GRACE_MS, "api", NULL, NULL);
    if (p != NULL && r->call.rq != NULL) {
        r->process = process_ref(p);
        process_wait_exit(p, &r->waiter);
    } else if (p != NULL) {
        call_end(&r->call);
    } else {
        call_fail(&r->call, err);
    }
}

/* --- the start ---------------------------------------------------------------------------- */

/*
 * Both streams are one, so that their order is preserved. The shell reads the user's startup files
 * as for a terminal, since aliases and PATH are often set there.
 */
static const char script[] = "exec 2>&1\n"
                             "[ -z \"$BASH_VERSION\" ] || { shopt -s expand_aliases\n"
                             "[ ! -f ~/.bashrc ] || . ~/.bashrc >/dev/null 2>&1 || :; }\n"
                             "[ -z \"$ZSH_VERSION\" ] || [ ! -f \"${ZDOTDIR:-$HOME}/.zshrc\" ] ||\n"
                             ". \"${ZDOTDIR:-$HOME}/.zshrc\" >/dev/null 2>&1 || :\n"
                             "eval \"$1\"";

static const char *put_metadata(struct buf *out, const struct oc_order *w, const char *directory)
{
    struct json_out o = oc_meta_open(out);

    json_kstr(&o, "directory", directory);
    json_kstr(&o, "agent", w->agent);
    if (w->message_id != NULL)
        json_kstr(&o, "messageID", w->message_id);
    if (w->provider != NULL && w->model != NULL) {
        json_kstr(&o, "providerID", w->provider);
        json_kstr(&o, "modelID", w->model);
    }
    if (w->arguments != NULL)
        json_kstr(&o, "name", w->command);
    return oc_meta_close(&o);
}

/* text: what the shell runs, its last argument, where oc_message.c finds it. */
static int spawn(struct oc_shell_run *r, struct session *s, const struct oc_order *w,
                 const char *text, struct hf_error *err)
{
    static const struct spec_env env[] = {{"TERM", "dumb"}};
    char shell[PATH_MAX];
    bool fish = oc_is_fish(oc_shell(shell)); /* which does not read the script */
    const char *const args[] = {"-l", "-c", script, "opencode", text};
    const char *const plain[] = {"-l", "-c", text};
    struct buf metadata = {0};
    struct spawn_spec spec;
    int rc;

    spec_init(&spec);
    spec.command = shell;
    spec.args = fish ? plain : args;
    spec.arg_count = fish ? 3 : 5;
    spec.cwd = oc_session_directory(oc_of_call(&r->call), s);
    spec.env = env;
    spec.env_count = 1;
    spec.stdin_mode = STDIN_NULL;
    spec.session_id = session_id(s);
    spec.source = SOURCE_USER_SHELL;
    spec.grace_ms = OC_ABORT_GRACE_MS;
    spec.metadata_json = put_metadata(&metadata, w, spec.cwd);
    rc = engine_spawn(r->call.base->engine, &spec, run_on_spawned, r, err);
    buf_fini(&metadata);
    return rc;
}

static void run_begin(struct http_request *rq, struct session *s, const struct oc_order *w,
                      const char *text)
{
    struct oc_shell_run *r = call_begin(rq, &run_kind, sizeof *r);
    struct hf_error err;

    r->session = hf_xstrdup(session_id(s));
    list_append(&oc_of_call(&r->call)->runs, &r->link);
    list_init(&r->waiter.link);
    r->waiter.fn = run_on_exit;
    r->waiter.arg = r;
    if (spawn(r, s, w, text, &err) < 0)
        call_fail(&r->call, &err);
}

/* --- decoding requests ---------------------------------------------------------------------- */

static bool refuse_busy(struct http_request *rq, struct session *s)
{
    char message[200];

    if (run_of(oc_of(rq), s) == NULL && !oc_session_is_busy(oc_of(rq), s))
        return false;
    snprintf(message, sizeof message, "Session is busy: %.100s", session_id(s));
    oc_tagged(rq, 409, "SessionBusyError", "sessionID", session_id(s), message);
    return true;
}

/* An unknown command is reported to the caller and to all listeners. */
static bool fail(struct http_request *rq, struct session *s, const char *what, const char *name)
{
    char message[200];

    snprintf(message, sizeof message, "%s not found: \"%.100s\"", what, name);
    oc_publish_failure(oc_of(rq), s, message);
    oc_named(rq, 500, "UnknownError", message, NULL);
    return false;
}

static bool check_agent(struct http_request *rq, struct session *s, const char *agent)
{
    static const char *const known[] = {"build", "plan", "general"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(agent, known[i]) == 0)
            return true;
    return fail(rq, s, "Agent", agent);
}

/* /command names a program; running a shell line would be more than was requested. */
static bool check_name(struct http_request *rq, struct session *s, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    char path[PATH_MAX];

    if (strspn(name, letters) == strlen(name) && oc_find_program(name, path))
        return true;
    return fail(rq, s, "Command", name);
}

static void handle(struct http_request *rq, bool shell)
{
    struct session *s = oc_session(rq);
    json_auto_t *body = s == NULL ? NULL : oc_body(rq, false);
    struct buf text = {0};
    struct oc_order w;
    struct hf_error err;

    if (body == NULL)
        return;
    if (oc_order_decode(&w, body, shell, &err) < 0) {
        http_reply_error(rq, &err);
        return;
    }
    if (!check_agent(rq, s, w.agent) || (!shell && !check_name(rq, s, w.command)) ||
        refuse_busy(rq, s))
        return;
    buf_puts(&text, w.command);
    if (!shell)
        buf_printf(&text, " %s", w.arguments);
    run_begin(rq, s, &w, buf_cstr(&text));
    buf_fini(&text);
}

void oc_session_shell(struct http_request *rq)
{
    handle(rq, true);
}

void oc_session_command(struct http_request *rq)
{
    handle(rq, false);
}

/* --- abort ---------------------------------------------------------------------------------- */

void oc_session_abort(struct http_request *rq)
{
    struct session *s = oc_session(rq);
    struct process *p = NULL;
    struct oc_shell_run *r;

    if (s == NULL)
        return;
    r = run_of(oc_of(rq), s);
    if (r != NULL)
        r->aborted = true;
    while ((p = engine_next(oc_of(rq)->base.engine, p)) != NULL)
        if (process_is_running(p) && session_has_process(s, p))
            process_terminate(p, OC_ABORT_GRACE_MS, "api", NULL, NULL);
    oc_send_json(rq, "true");
}
