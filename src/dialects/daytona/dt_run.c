/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_run.c - POST …/exec: runs a command in a session's shell, and waits for it or not
 *
 * A client that waits gets the reply at the end; if it disconnects, the command keeps running. A
 * client that does not wait gets the reply when the command has started, or at once if others are
 * queued before it. Such a command is promised, so it is kept in a note until it has started: the
 * next worker runs what this one did not reach. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "dialects/daytona/daytona.h"
#include "engine/notes.h"

#define NOTE "daytona.queue"

/* --- queued commands, for the next worker ---------------------------------------------------- */

/* What does not fit is lost with this worker. A worker that drains leaves its note unchanged. */
static void queue_save(struct dt *dt)
{
    struct buf text = {0};
    struct list *it, *tmp;
    struct json_out o;
    size_t n = 0;

    if (dt->base.draining)
        return;
    json_out_init(&o, &text);
    json_open(&o, '[');
    list_for_each (it, tmp, &dt->runs) {
        const struct dt_run *r = list_entry(it, struct dt_run, link);

        if (!r->promised || r->begun)
            continue;
        n++;
        json_open(&o, '{');
        json_kstr(&o, "session", r->session);
        json_kstr(&o, "id", r->id);
        json_kstr(&o, "command", r->command);
        json_kbool(&o, "echo", r->echo);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    if (n > 0 || engine_note(dt->base.engine, NOTE, &n) != NULL)
        (void)engine_note_set(dt->base.engine, NOTE, buf_data(&text), text.len > 2 ? text.len : 0);
    buf_fini(&text);
}

/* --- life cycle ------------------------------------------------------------------------------- */

static struct dt *dt_of_run(const struct dt_run *r)
{
    return (struct dt *)r->call.base;
}

static void run_release(struct call *c)
{
    struct dt_run *r = list_entry(c, struct dt_run, call);

    if (r->run != NULL)
        session_run_leave(r->run, false);
    list_remove(&r->link);
    free(r->session);
    free(r->command);
}

/* A started command keeps running under the next worker, which also starts the promised ones. */
static void run_drain(struct call *c)
{
    struct dt_run *r = list_entry(c, struct dt_run, call);
    struct hf_error err = {0};

    hf_fail(&err, HF_E_shutting_down,
            r->begun ? "the daemon is shutting down; command %s keeps running"
                     : "the daemon is shutting down; command %s was not started",
            r->id);
    session_run_leave(r->run, !r->begun);
    r->run = NULL;
    call_fail(c, &err);
}

static const struct call_kind run_kind = {
    .release = run_release,
    .drain = run_drain,
    .stays = true,
};

/* --- replies ---------------------------------------------------------------------------------- */

static void reply_begun(struct dt_run *r)
{
    struct http_request *rq = call_detach(&r->call);
    struct json_out o = dialect_reply_open(r->call.base);

    json_kstr(&o, "cmdId", r->id);
    if (dt_split_of(rq) == DT_SPLIT) {
        json_knull(&o, "output");
        json_knull(&o, "stdout");
        json_knull(&o, "stderr");
        json_knull(&o, "exitCode");
    }
    dialect_reply_send(rq, 202, &o);
}

static void reply_result(struct dt_run *r, const struct session_result *x)
{
    struct session_command c = {
        .begin = {.from = x->from}, .ended = true, .end = {.to = x->to, .exit = x->exit}};
    struct json_out o = dialect_reply_open(r->call.base);

    snprintf(c.begin.process_id, sizeof c.begin.process_id, "%s", x->process_id);
    json_kstr(&o, "cmdId", r->id);
    dt_output_write(&o, dt_of_run(r), &c, dt_split_of(r->call.rq));
    json_kint(&o, "exitCode", x->exit.exit_code);
    call_send(&r->call, 200, &o);
}

static void reply_never(struct dt_run *r, const struct hf_error *err)
{
    if (err->code != HF_E_no_such_session) {
        call_fail(&r->call, err);
        return;
    }
    dt_fail(call_detach(&r->call), 410, "SESSION_ENDED",
            "session %.100s was deleted before the command started", r->session);
    call_end(&r->call);
}

/* --- engine callbacks ------------------------------------------------------------------------- */

static void run_on_began(void *arg, const struct session_begin *b)
{
    struct dt_run *r = arg;

    (void)b;
    r->begun = true;
    if (r->promised)
        queue_save(dt_of_run(r));
    if (r->async && r->call.rq != NULL)
        reply_begun(r);
}

static void run_on_done(void *arg, const struct session_result *x, const struct hf_error *err)
{
    struct dt_run *r = arg;
    struct dt *dt = dt_of_run(r);

    r->run = NULL;
    if (r->call.rq == NULL)
        call_end(&r->call);
    else if (x != NULL)
        reply_result(r, x);
    else
        reply_never(r, err);
    if (x == NULL)
        queue_save(dt);
}

/* --- start ------------------------------------------------------------------------------------ */

static int run_begin(struct dt_run *r, struct session *s, struct hf_error *err)
{
    const struct session_run_spec spec = {
        .command = r->command,
        .source = SOURCE_AGENT,
        .grace_ms = -1,
        .typed = r->async,
        .echo = r->echo,
        .name = r->id,
        .began = run_on_began,
    };

    return session_run(s, &spec, run_on_done, r, &r->run, err);
}

/* rq NULL: an earlier worker has replied. */
static struct dt_run *run_new(struct dt *dt, struct http_request *rq, const char *session,
                              const struct dt_request *a)
{
    struct dt_run *r = hf_xalloc(sizeof *r);

    r->session = hf_xstrdup(session);
    r->command = hf_xstrdup(a->command);
    r->async = a->async;
    r->echo = a->async && a->echo;
    list_append(&dt->runs, &r->link);
    if (rq != NULL)
        call_adopt(&r->call, rq, &run_kind);
    else
        call_adopt_unattended(&r->call, &dt->base, &run_kind);
    return r;
}

static void make_id(char out[SESSION_NAME_MAX + 1])
{
    uint8_t b[16];

    crypto_random(b, sizeof b);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(out, SESSION_NAME_MAX + 1,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

static void run_request(struct http_request *rq, struct session *s, const struct dt_request *a)
{
    bool busy = session_is_busy(s);
    struct dt_run *r = run_new(dt_of(rq), rq, session_id(s), a);
    struct hf_error err = {0};

    make_id(r->id);
    if (run_begin(r, s, &err) < 0) {
        call_fail(&r->call, &err);
        return;
    }
    if (a->async && busy) {
        r->promised = true;
        queue_save(dt_of(rq));
        reply_begun(r);
    }
}

/* The state of an ended shell is lost, so its session accepts no more commands. */
static bool is_alive(struct http_request *rq, struct session *s)
{
    const struct process *p = session_shell(s);

    if (p != NULL && process_is_running(p))
        return true;
    dt_fail(rq, 410, "SESSION_ENDED",
            "session %.100s has ended: a command made its shell exit; delete and recreate it",
            session_id(s));
    return false;
}

void dt_run(struct http_request *rq)
{
    struct session *s = dt_session(rq);
    struct dt_request a;

    if (s == NULL)
        return;
    if (dt_request(rq, DT_EXEC, &a)) {
        if (dialect_base_of(rq)->draining)
            dt_fail(rq, 503, NULL, "the daemon is shutting down; try again");
        else if (is_alive(rq, s))
            run_request(rq, s, &a);
    }
    dt_request_fini(&a);
}

/* --- after a worker was replaced -------------------------------------------------------------- */

/* A command that the last worker has started is already in the log. */
static void run_recall(struct dt *dt, const json_t *v)
{
    const char *session = json_string_value(json_object_get(v, "session"));
    const char *id = json_string_value(json_object_get(v, "id"));
    const struct dt_request a = {.command = json_string_value(json_object_get(v, "command")),
                                 .async = true,
                                 .echo = json_is_true(json_object_get(v, "echo"))};
    struct session_command c;
    struct session *s;
    struct dt_run *r;

    if (session == NULL || id == NULL || a.command == NULL || strlen(id) > SESSION_NAME_MAX)
        return;
    s = session_find(dt->base.engine, session, NULL);
    if (s == NULL || session_log_find(session_commands(s), id, &c))
        return;
    r = run_new(dt, NULL, session, &a);
    memcpy(r->id, id, strlen(id) + 1);
    r->promised = true;
    if (run_begin(r, s, NULL) < 0)
        call_end(&r->call);
}

void dt_runs_recall(struct dt *dt)
{
    json_auto_t *all = dialect_note(dt->base.engine, NOTE);
    const json_t *v;
    size_t i;

    json_array_foreach (all, i, v) {
        run_recall(dt, v);
    }
}
