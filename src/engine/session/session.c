/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - the table of sessions, how they describe themselves, and their deletion
 *
 * Every change of a session calls session_step_later(); session_step() then runs at the end of the
 * turn and does what is due. Layer: engine.
 */
#include "engine/session/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/session/session_own.h"

/* --- description and events --------------------------------------------------------- */

static void write_run(const struct session_run *r, struct json_out *o)
{
    json_open(o, '{');
    json_ku64(o, "number", r->begin.number);
    json_key(o, "command");
    json_strn(o, r->command, strnlen(r->command, SESSION_LOG_COMMAND_BYTES));
    json_kstr(o, "source", source_name(r->source));
    json_ktime(o, "started_at", r->begin.started_wall_ms);
    json_key(o, "exit_code");
    if ((r->reported || r->exited) && r->exit.exit_code >= 0)
        json_int(o, r->exit.exit_code);
    else
        json_nil(o);
    json_close(o, '}');
}

void session_write_json(struct session *s, struct json_out *o)
{
    const struct process *p = s->shell;

    json_open(o, '{');
    json_kstr(o, "id", s->id);
    json_kstr(o, "status", s->current != NULL ? "running" : "idle");
    json_kstr(o, "shell", s->shell_name);
    json_kstr(o, "process_id", p != NULL ? p->rec.head->id : NULL);
    json_key(o, "pid");
    if (p != NULL && shell_is_alive(s))
        json_int(o, p->pid);
    else
        json_nil(o);
    json_kstr(o, "cwd", session_cwd(s));
    json_ku64(o, "commands", p != NULL ? session_log_next_number(shell_log(p)) - 1 : 0);
    json_ku64(o, "queued", s->queued);
    json_key(o, "running");
    if (s->current != NULL)
        write_run(s->current, o);
    else
        json_nil(o);
    json_ktime(o, "created_at", s->created_wall_ms);
    json_close(o, '}');
}

void session_notify(struct session *s, const char *type, const struct session_run *r)
{
    struct buf text = {0};
    struct json_out o;

    json_out_init(&o, &text);
    json_open(&o, '{');
    json_kstr(&o, "type", type);
    json_ktime(&o, "time", clock_wall_ms());
    json_key(&o, "session");
    session_write_json(s, &o);
    if (r != NULL) {
        json_key(&o, "command");
        write_run(r, &o);
    }
    json_close(&o, '}');
    events_append_text(&s->engine->events, type, buf_data(&text), text.len);
    buf_fini(&text);
}

/* --- life ------------------------------------------------------------------------------ */

static void session_free(struct session *s)
{
    while (!list_is_empty(&s->queue))
        run_free(list_entry(s->queue.next, struct session_run, link));
    if (s->current != NULL)
        run_free(s->current);
    list_remove(&s->link);
    s->engine->session_count--;
    task_cancel(&s->step);
    timer_close(s->pause);
    if (s->shell != NULL) { /* the daemon exits: the next worker needs it unchanged */
        watch_close(s->side);
        exit_waiter_cancel(&s->exit_waiter);
        s->shell->session = NULL;
        process_unref(s->shell);
    }
    for (size_t i = 0; i < s->spec.env_count; i++) {
        free((char *)s->env[i].name);
        free((char *)s->env[i].value);
    }
    free(s->env);
    free((char *)s->spec.cwd);
    free((char *)s->spec.shell);
    free((char *)s->spec.metadata);
    free(s->shell_name);
    free(s->cwd);
    free(s->id);
    free(s);
}

void sessions_free(struct engine *e)
{
    while (!list_is_empty(&e->sessions))
        session_free(list_entry(e->sessions.next, struct session, link));
}

static void end_step(struct session *s);

static void queue_step(struct session *s)
{
    struct hf_error err;

    if (s->current != NULL || list_is_empty(&s->queue) || s->starting || s->signals_open > 0 ||
        timer_is_active(s->pause))
        return;
    if (shell_is_alive(s)) {
        run_put_ahead(s);
        run_start(s);
        return;
    }
    if (process_is_running(s->shell)) /* its last output is being read */
        return;
    if (shell_start(s, &err) < 0)
        while (!list_is_empty(&s->queue))
            run_refuse(list_entry(s->queue.next, struct session_run, link), &err);
}

static void session_step(void *arg)
{
    struct session *s = arg;

    if (s->current != NULL && run_is_over(s->current))
        run_finish(s->current);
    if (s->created != NULL && s->shell != NULL) {
        session_done_fn *fn = s->created;

        s->created = NULL;
        s->listed = true;
        session_notify(s, "session.created", NULL);
        fn(s->created_arg, s, NULL);
    }
    if (s->deleting)
        end_step(s);
    else
        queue_step(s);
}

void session_step_later(struct session *s)
{
    loop_defer(s->engine->loop, &s->step);
}

static void session_on_pause(struct timer *t, void *arg)
{
    (void)t;
    session_step_later(arg);
}

struct session *session_new(struct engine *e, const char *id)
{
    struct session *s = hf_xalloc(sizeof *s);

    s->engine = e;
    s->id = hf_xstrdup(id);
    s->created_wall_ms = clock_wall_ms();
    list_init(&s->queue);
    s->step = (struct task){.fn = session_step, .arg = s};
    s->pause = timer_new(e->loop, session_on_pause, s);
    list_prepend(&e->sessions, &s->link);
    e->session_count++;
    return s;
}

/* --- creation ---------------------------------------------------------------------------- */

static void make_id(char out[32])
{
    uint8_t raw[12];
    char text[24];

    crypto_random(raw, sizeof raw);
    base32_encode(text, raw, sizeof raw);
    memcpy(out, "sess_", 5);
    memcpy(out + 5, text, 20);
    out[25] = '\0';
}

static int check_id(const char *id, struct hf_error *err)
{
    size_t len = strlen(id);
    bool dots = strspn(id, ".") == len;

    if (len >= 1 && len <= LIMIT_TAG_BYTES && !dots &&
        strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len)
        return 0;
    return hf_fail_field(err, HF_E_bad_value, "id",
                         "an id must be 1 to %d letters, digits, dots, dashes and underscores",
                         LIMIT_TAG_BYTES);
}

/* Only shells whose language the script is written in. */
static int check_shell(const char *shell, struct hf_error *err)
{
    static const char *const names[] = {"bash", "sh", "dash", "ash"};
    const char *slash = shell != NULL ? strrchr(shell, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : shell;

    if (shell == NULL)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 0;
    return hf_fail_field(err, HF_E_bad_value, "shell",
                         "shell must be bash, sh, dash or ash, or a path to one of them");
}

struct session *session_lookup(struct engine *e, const char *id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->sessions) {
        struct session *s = list_entry(it, struct session, link);
        if (strcmp(s->id, id) == 0)
            return s;
    }
    return NULL;
}

static int check_spec(struct engine *e, const struct session_spec *spec, struct hf_error *err)
{
    int rc = spec->id != NULL ? check_id(spec->id, err) : 0;

    if (rc == 0)
        rc = check_shell(spec->shell, err);
    if (rc < 0)
        return rc;
    if (spec->id != NULL && session_lookup(e, spec->id) != NULL)
        return hf_fail_field(err, HF_E_session_exists, "id",
                             "session '%.64s' already exists; use it or delete it first", spec->id);
    if (spec->metadata != NULL && strlen(spec->metadata) > LIMIT_METADATA_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "metadata", "metadata is longer than %d bytes",
                             LIMIT_METADATA_BYTES);
    if (e->session_count < LIMIT_SESSIONS)
        return 0;
    rc = hf_fail(err, HF_E_too_many_sessions,
                 "the limit of %d sessions is reached; delete one first", LIMIT_SESSIONS);
    if (err != NULL)
        err->limit = "sessions";
    return rc;
}

void session_set_env(struct session *s, const struct spec_env *env, size_t count)
{
    s->env = hf_xalloc((count + 1) * sizeof *s->env);
    for (size_t i = 0; i < count; i++)
        s->env[i] = (struct spec_env){hf_xstrdup(env[i].name), hf_xstrdup(env[i].value)};
    s->spec.env = s->env;
    s->spec.env_count = count;
}

int session_create(struct engine *e, const struct session_spec *spec, session_done_fn *done,
                   void *arg, struct hf_error *err)
{
    struct session *s;
    char id[32];
    int rc = check_spec(e, spec, err);

    if (rc < 0)
        return rc;
    make_id(id);
    s = session_new(e, spec->id != NULL ? spec->id : id);
    s->spec.cwd = hf_xstrdup(spec->cwd);
    s->spec.shell = hf_xstrdup(spec->shell);
    s->spec.metadata = hf_xstrdup(spec->metadata);
    s->spec.history_bytes = spec->history_bytes;
    s->shell_name = hf_xstrdup(spec->shell != NULL ? spec->shell : "bash");
    session_set_env(s, spec->env, spec->env_count);
    s->created = done;
    s->created_arg = arg;
    rc = shell_start(s, err);
    if (rc < 0)
        session_free(s);
    return rc;
}

/* --- lookup ----------------------------------------------------------------------------- */

struct session *session_find(struct engine *e, const char *id, struct hf_error *err)
{
    struct session *s = session_lookup(e, id);

    if (s != NULL && s->listed && !s->deleting)
        return s;
    hf_fail(err, HF_E_no_such_session,
            "no session '%.64s'; GET /v1/sessions lists the known sessions", id);
    return NULL;
}

struct session *session_find_deleted(struct engine *e, const char *id)
{
    struct session *s = session_lookup(e, id);

    return s != NULL && s->deleting ? s : NULL;
}

struct session *session_next(struct engine *e, const struct session *after)
{
    const struct list *l = after == NULL ? e->sessions.next : after->link.next;

    for (; l != &e->sessions; l = l->next) {
        struct session *s = list_entry(l, struct session, link);
        if (s->listed && !s->deleting)
            return s;
    }
    return NULL;
}

const char *session_id(const struct session *s)
{
    return s->id;
}

const struct session_spec *session_definition(const struct session *s)
{
    return &s->spec;
}

const char *session_cwd(const struct session *s)
{
    if (s->cwd != NULL)
        return s->cwd;
    return s->shell != NULL ? s->shell->meta.cwd : s->spec.cwd;
}

struct process *session_shell(const struct session *s)
{
    return s->shell;
}

int64_t session_created_ms(const struct session *s)
{
    return s->created_wall_ms;
}

bool session_is_busy(const struct session *s)
{
    return s->current != NULL || s->queued > 0;
}

const char *session_metadata(const struct session *s)
{
    return s->spec.metadata != NULL ? s->spec.metadata : "";
}

int session_set_metadata(struct session *s, const char *json, struct hf_error *err)
{
    if (strlen(json) > LIMIT_METADATA_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "metadata", "metadata is longer than %d bytes",
                             LIMIT_METADATA_BYTES);
    free((char *)s->spec.metadata);
    s->spec.metadata = hf_xstrdup(json);
    return shell_redefine(s, err);
}

const struct session_log *session_commands(const struct session *s)
{
    return shell_log(s->shell);
}

/* A shell of the session, current or earlier, does not count as one of its processes. */
bool session_has_process(const struct session *s, struct process *p)
{
    return p->meta.session_id != NULL && strcmp(p->meta.session_id, s->id) == 0 &&
           p->rec.extra == NULL;
}

/* --- deletion ---------------------------------------------------------------------------- */

static void end_on_one(void *arg, struct process *p, const struct survivors *v)
{
    struct session *s = arg;

    (void)p;
    for (size_t i = 0; i < v->count && s->survivors.count < SURVIVORS_MAX; i++)
        s->survivors.list[s->survivors.count++] = v->list[i];
    s->survivors.total += v->total;
    s->ends_open--;
    session_step_later(s);
}

static void end_finish(struct session *s)
{
    session_end_fn *fn = s->deleted;
    struct process *p = s->shell;

    if (p != NULL) {
        p->rec.head->deleting = DELETING_SESSION;
        shell_detach(s); /* and forgets it */
    }
    s->deleted = NULL;
    if (fn != NULL)
        fn(s->deleted_arg, &s->survivors, s->ended);
    session_free(s);
}

/* Terminates what started after the first round, such as a shell that was just starting. */
static void end_step(struct session *s)
{
    if (s->ends_open > 0 || s->starting || s->signals_open > 0 || s->current != NULL)
        return;
    if (s->shell != NULL && process_is_running(s->shell)) {
        s->ends_open++;
        process_terminate(s->shell, 0, "api", end_on_one, s);
        return;
    }
    if (s->listed) { /* subscribers read the event before the next step */
        s->listed = false;
        session_notify(s, "session.deleted", NULL);
        session_step_later(s);
        return;
    }
    end_finish(s);
}

static void refuse_queued(struct session *s)
{
    struct hf_error err;

    hf_fail(&err, HF_E_no_such_session, "the session was deleted before the command began");
    while (!list_is_empty(&s->queue))
        run_refuse(list_entry(s->queue.next, struct session_run, link), &err);
}

void session_delete(struct session *s, int64_t grace_ms, session_end_fn *done, void *arg)
{
    struct list *it, *tmp;

    s->deleting = true;
    s->deleted = done;
    s->deleted_arg = arg;
    if (s->shell != NULL)
        s->shell->rec.head->deleting = DELETING_SESSION;
    refuse_queued(s);
    list_for_each (it, tmp, &s->engine->processes) {
        struct process *p = list_entry(it, struct process, link);
        if (p->entry == 0 || p->meta.session_id == NULL || strcmp(p->meta.session_id, s->id) != 0)
            continue;
        s->ends_open++;
        s->ended += process_is_running(p);
        process_terminate(p, grace_ms, "api", end_on_one, s);
    }
    session_step_later(s);
}

void session_delete_leave(struct session *s, void *arg)
{
    if (s->deleted_arg == arg)
        s->deleted = NULL;
}
