/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_shell.c - the shell of a session: start, replacement and reports
 *
 * Commands go through the input queue of its record, which survives a worker to the byte. A report
 * is peeked at, acted upon, and only then removed from the socket. A worker that is killed in
 * between leaves it to the next one, which recognises a report that was already acted upon by its
 * number. Layer: engine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/mem.h"
#include "engine/session/session_own.h"
#include "engine/session/session_script.h"

/* A number, a status, a pid and a path. Anything longer was not written by our script. */
#define REPORT_MAX 8192
_Static_assert(REPORT_MAX >= SESSION_CWD_MAX + 128, "a report is seen as a whole");

bool shell_is_alive(const struct session *s)
{
    return s->shell != NULL && process_is_running(s->shell) && !exit_is_reaped(s->shell);
}

/* --- reports -------------------------------------------------------------------- */

static void handle_report(struct session *s, const struct session_report *m)
{
    struct session_run *r = s->current;
    size_t len = m->job_len < sizeof s->job ? m->job_len : sizeof s->job - 1;

    if (r == NULL || r->begin.number != m->number || r->reported)
        return;
    /* A job was left running: the next command must start in a later tick, to be distinguished from
     * it by age. */
    if (strlen(s->job) != len || memcmp(s->job, m->job, len) != 0) {
        memcpy(s->job, m->job, len);
        s->job[len] = '\0';
        if (s->pause != NULL)
            timer_start(s->pause, SESSION_TICK_MS + 2);
    }
    run_report(r, m->status, m->cwd, m->cwd_len);
}

/*
 * Peeks at the next report: its bytes without the NUL (*len, at most REPORT_MAX) and whether the
 * NUL was among them. False: not complete yet, or closed.
 */
static bool peek_report(struct session *s, char text[REPORT_MAX], size_t *len, bool *whole)
{
    const char *nul;
    ssize_t n;

    do
        n = recv(s->shell->side_fd, text, REPORT_MAX, MSG_PEEK | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == 0 && s->side != NULL)
        watch_set(s->side, 0); /* closed: the exit will report the rest */
    if (n <= 0)
        return false;
    nul = memchr(text, '\0', (size_t)n);
    *whole = nul != NULL;
    *len = nul != NULL ? (size_t)(nul - text) : (size_t)n;
    return *whole || *len == REPORT_MAX || s->side_skip;
}

/* Removes the peeked bytes from the socket. The rest of a longer report follows. */
static void drop_report(struct session *s, size_t len, bool whole)
{
    char seen[REPORT_MAX + 1];

    (void)!recv(s->shell->side_fd, seen, len + whole, MSG_DONTWAIT);
    s->side_skip = !whole;
}

/*
 * Acts upon the reports. Text that another process wrote into the socket does not parse as one of
 * ours. An oversized report of ours is accepted with its path cut, because a command whose end is
 * not seen would never end.
 */
void shell_read(struct session *s)
{
    char text[REPORT_MAX];
    struct session_report m;
    size_t len;
    bool whole;

    while (s->shell != NULL && s->shell->side_fd >= 0 && peek_report(s, text, &len, &whole)) {
        if (!s->side_skip && session_report_parse(text, len, &m))
            handle_report(s, &m);
        if (s->current != NULL && s->current->reported) {
            if (s->side != NULL)
                watch_set(s->side, 0); /* until run_finish() */
            return;
        }
        drop_report(s, len, whole);
    }
}

/* Removes the report that was acted upon, and watches for the next. */
void shell_read_on(struct session *s)
{
    char text[REPORT_MAX];
    size_t len;
    bool whole;

    if (s->shell == NULL || s->shell->side_fd < 0)
        return;
    if (peek_report(s, text, &len, &whole))
        drop_report(s, len, whole);
    if (s->side != NULL && shell_is_alive(s))
        watch_set(s->side, LOOP_READ);
}

static void side_on_event(struct watch *w, int events, void *arg)
{
    (void)w, (void)events;
    shell_read(arg);
}

/* --- ownership -------------------------------------------------------------------- */

static void shell_on_exit(void *arg, struct process *p)
{
    struct session *s = arg;

    (void)p;
    if (s->current == NULL || s->current->reported)
        s->shell_lost = true;
    session_step_later(s);
}

void shell_detach(struct session *s)
{
    struct process *p = s->shell;

    if (p == NULL)
        return;
    watch_close(s->side);
    s->side = NULL;
    exit_waiter_cancel(&s->exit_waiter);
    s->shell = NULL;
    p->session = NULL;
    /* After a crash, a process with this would be taken for the session's shell. */
    meta_set_session(p, NULL);
    meta_store(p, NULL);
    if (!process_is_running(p) && p->rec.head->deleting)
        process_forget(p);
    else
        retention_change(p);
    process_unref(p);
}

static void copy_log(const struct process *from, struct process *to)
{
    size_t bytes = to->rec.head->extra_bytes;

    if (from != NULL && from->rec.head->extra_bytes == bytes &&
        session_log_is_valid(shell_log(from), bytes))
        memcpy(to->rec.extra, from->rec.extra, bytes);
    else if (!session_log_is_valid(shell_log(to), bytes))
        session_log_init(shell_log(to), bytes);
}

void shell_attach(struct session *s, struct process *p)
{
    struct process *old = s->shell;

    if (old != NULL) {
        copy_log(old, p);
        shell_detach(s);
    } else {
        copy_log(NULL, p);
    }
    s->shell = process_ref(p);
    p->session = s;
    s->job[0] = '\0';
    s->side_skip = false;
    s->exit_waiter = (struct exit_waiter){.fn = shell_on_exit, .arg = s};
    if (p->side_fd >= 0) {
        s->side = watch_new(s->engine->loop, p->side_fd, side_on_event, s);
        watch_set(s->side, LOOP_READ);
    }
    if (process_is_running(p))
        process_wait_exit(p, &s->exit_waiter);
}

/* --- start -------------------------------------------------------------------------- */

/* Writes the session's definition, for the worker that finds its shell. */
static void write_definition(const struct session *s, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "id", s->id);
    json_kint(&o, "number", s->shell_number);
    json_kint(&o, "script", s->script);
    json_kint(&o, "history_bytes", s->spec.history_bytes);
    json_kint(&o, "created_ms", s->created_wall_ms);
    json_kstr(&o, "cwd", s->spec.cwd);
    json_kstr(&o, "shell", s->spec.shell);
    json_kstr(&o, "name", s->shell_name);
    json_kstr(&o, "metadata", s->spec.metadata);
    json_key(&o, "env");
    json_open(&o, '{');
    for (size_t i = 0; i < s->spec.env_count; i++)
        json_kstr(&o, s->env[i].name, s->env[i].value);
    json_close(&o, '}');
    json_close(&o, '}');
    buf_putc(out, '\0');
}

int shell_redefine(struct session *s, struct hf_error *err)
{
    struct process *p = s->shell;
    struct buf definition = {0};

    if (p == NULL)
        return 0; /* the first shell will get it */
    write_definition(s, &definition);
    meta_set_session(p, buf_data(&definition));
    buf_wipe(&definition);
    return meta_store(p, err);
}

static void shell_failed(struct session *s, const struct hf_error *why)
{
    struct hf_error err = *why;
    struct session_run *r;

    s->starting = false;
    while (!list_is_empty(&s->queue)) {
        r = list_entry(s->queue.next, struct session_run, link);
        run_refuse(r, &err);
    }
    session_step_later(s);
}

static void shell_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct session *s = arg;
    struct hf_error again;

    if (p != NULL) {
        s->starting = false;
        shell_attach(s, p);
        session_step_later(s);
        return;
    }
    if (s->spec.shell == NULL && strcmp(s->shell_name, "bash") == 0 &&
        strcmp(err->path, "bash") == 0) {
        free(s->shell_name);
        s->shell_name = hf_xstrdup("sh");
        if (shell_start(s, &again) == 0)
            return;
        err = &again;
    }
    shell_failed(s, err);
    if (s->created != NULL) {
        session_done_fn *fn = s->created;

        s->created = NULL;
        s->deleting = true; /* nothing of it is left; its step frees it */
        fn(s->created_arg, NULL, err);
    }
}

int shell_start(struct session *s, struct hf_error *err)
{
    static const char *const args[] = {"-c", SESSION_SCRIPT_START};
    struct spec_env *env = hf_xalloc((s->spec.env_count + 2) * sizeof *env);
    struct spawn_spec spec;
    struct buf definition = {0};
    int rc;

    s->shell_number++;
    s->script = SESSION_SCRIPT_VERSION;
    write_definition(s, &definition);
    if (s->spec.env_count > 0)
        memcpy(env, s->env, s->spec.env_count * sizeof *env);
    env[s->spec.env_count] = (struct spec_env){"HOLDFAST_SESSION_ID", s->id};
    env[s->spec.env_count + 1] = (struct spec_env){SESSION_SCRIPT_VARIABLE, session_script};
    spec_init(&spec);
    spec.command = s->shell_name;
    spec.args = args;
    spec.arg_count = 2;
    spec.cwd = s->spec.cwd;
    spec.env = env;
    spec.env_count = s->spec.env_count + 2;
    spec.stdin_mode = STDIN_PIPE;
    spec.session_id = s->id;
    spec.history_bytes = s->spec.history_bytes;
    spec.session_json = buf_data(&definition);
    spec.source = SOURCE_SYSTEM;
    s->starting = true;
    rc = engine_spawn(s->engine, &spec, shell_on_spawned, s, err);
    if (rc < 0)
        s->starting = false;
    buf_wipe(&definition);
    free(env);
    return rc;
}
