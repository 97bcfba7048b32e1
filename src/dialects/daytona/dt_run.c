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

    if (dt->draining)
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
    if (n > 0 || engine_note(dt->engine, NOTE, &n) != NULL)
        (void)engine_note_set(dt->engine, NOTE, buf_data(&text), text.len > 2 ? text.len : 0);
    buf_fini(&text);
}

/* --- life cycle ------------------------------------------------------------------------------- */

static void run_free(struct dt_run *r)
{
    list_remove(&r->link);
    pending_fini(&r->pending);
    free(r->session);
    free(r->command);
    free(r);
}

static void run_on_free(struct pending *p)
{
    struct dt_run *r = list_entry(p, struct dt_run, pending);

    session_run_leave(r->run, false);
    run_free(r);
}

/* A started command keeps running under the next worker, which also starts the promised ones. */
static void run_drain(struct pending *p)
{
    struct dt_run *r = list_entry(p, struct dt_run, pending);

    if (r->rq != NULL) {
        http_set_user(r->rq, NULL, NULL);
        dt_fail(r->rq, 503, "SERVICE_UNAVAILABLE",
                r->begun ? "the daemon is being replaced; command %s keeps running"
                         : "the daemon is being replaced; command %s was not started",
                r->id);
    }
    session_run_leave(r->run, !r->begun);
    run_free(r);
}

static const struct pending_kind run_kind = {.drain = run_drain, .free = run_on_free};

static void run_on_disconnect(void *user)
{
    ((struct dt_run *)user)->rq = NULL;
}

static struct http_request *run_take_request(struct dt_run *r)
{
    struct http_request *rq = r->rq;

    if (rq != NULL)
        http_set_user(rq, NULL, NULL);
    r->rq = NULL;
    return rq;
}

/* --- replies ---------------------------------------------------------------------------------- */

static void reply_begun(struct dt_run *r)
{
    struct http_request *rq = run_take_request(r);
    struct json_out o = dt_reply(r->dt);

    json_kstr(&o, "cmdId", r->id);
    if (dt_split_of(rq) == DT_SPLIT) {
        json_knull(&o, "output");
        json_knull(&o, "stdout");
        json_knull(&o, "stderr");
        json_knull(&o, "exitCode");
    }
    dt_send(rq, 202, &o);
}

static void reply_result(struct dt_run *r, const struct session_result *x)
{
    struct http_request *rq = run_take_request(r);
    struct session_command c = {
        .begin = {.from = x->from}, .ended = true, .end = {.to = x->to, .exit = x->exit}};
    struct json_out o = dt_reply(r->dt);

    snprintf(c.begin.process_id, sizeof c.begin.process_id, "%s", x->process_id);
    json_kstr(&o, "cmdId", r->id);
    dt_output_write(&o, r->dt, &c, dt_split_of(rq));
    json_kint(&o, "exitCode", x->exit.exit_code);
    dt_send(rq, 200, &o);
}

static void reply_never(struct dt_run *r, const struct hf_error *err)
{
    struct http_request *rq = run_take_request(r);

    if (err->code == HF_E_no_such_session)
        dt_fail(rq, 410, "SESSION_ENDED", "session %.100s was deleted before the command started",
                r->session);
    else
        dt_error(rq, err);
}

/* --- engine callbacks ------------------------------------------------------------------------- */

static void run_on_began(void *arg, const struct session_begin *b)
{
    struct dt_run *r = arg;

    (void)b;
    r->begun = true;
    if (r->promised)
        queue_save(r->dt);
    if (r->async && r->rq != NULL)
        reply_begun(r);
}

static void run_on_done(void *arg, const struct session_result *x, const struct hf_error *err)
{
    struct dt_run *r = arg;
    struct dt *dt = r->dt;

    if (r->rq != NULL && x != NULL)
        reply_result(r, x);
    else if (r->rq != NULL)
        reply_never(r, err);
    run_free(r);
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
    int rc = session_run(s, &spec, run_on_done, r, &r->run, err);

    if (rc == 0)
        pending_init(&r->pending, &r->dt->pending, &run_kind);
    return rc;
}

static struct dt_run *run_new(struct dt *dt, const char *session, const struct dt_exec_request *a)
{
    struct dt_run *r = hf_xalloc(sizeof *r);

    r->dt = dt;
    r->session = hf_xstrdup(session);
    r->command = hf_xstrdup(a->command);
    r->async = a->async;
    r->echo = a->async && a->echo;
    list_init(&r->pending.link);
    list_append(&dt->runs, &r->link);
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

static void run_request(struct http_request *rq, struct session *s, const struct dt_exec_request *a)
{
    bool busy = session_is_busy(s);
    struct dt_run *r = run_new(dt_of(rq), session_id(s), a);
    struct hf_error err = {0};

    make_id(r->id);
    if (run_begin(r, s, &err) < 0) {
        run_free(r);
        dt_error(rq, &err);
        return;
    }
    r->rq = rq;
    http_set_user(rq, r, run_on_disconnect);
    if (a->async && busy) {
        r->promised = true;
        queue_save(r->dt);
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
    json_auto_t *body = s != NULL ? dt_body(rq) : NULL;
    struct hf_error err = {0};
    struct dt_exec_request a;

    if (body == NULL)
        return;
    if (dt_decode_exec(&a, body, &err) < 0)
        dt_error(rq, &err);
    else if (dt_of(rq)->draining)
        dt_fail(rq, 503, "SERVICE_UNAVAILABLE", "the daemon is being replaced; try again");
    else if (is_alive(rq, s))
        run_request(rq, s, &a);
}

/* --- after a worker was replaced -------------------------------------------------------------- */

/* A command that the last worker has started is already in the log. */
static void run_recall(struct dt *dt, const json_t *v)
{
    const char *session = json_string_value(json_object_get(v, "session"));
    const char *id = json_string_value(json_object_get(v, "id"));
    const struct dt_exec_request a = {json_string_value(json_object_get(v, "command")), true,
                                      json_is_true(json_object_get(v, "echo"))};
    struct session_command c;
    struct session *s;
    struct dt_run *r;

    if (session == NULL || id == NULL || a.command == NULL || strlen(id) > SESSION_NAME_MAX)
        return;
    s = session_find(dt->engine, session, NULL);
    if (s == NULL || session_log_find(session_commands(s), id, &c))
        return;
    r = run_new(dt, session, &a);
    memcpy(r->id, id, strlen(id) + 1);
    r->promised = true;
    if (run_begin(r, s, NULL) < 0)
        run_free(r);
}

void dt_runs_recall(struct dt *dt)
{
    size_t len = 0, i;
    const char *text = engine_note(dt->engine, NOTE, &len);
    json_auto_t *all = text != NULL ? json_parse(text, len, NULL) : NULL;
    const json_t *v;

    json_array_foreach (all, i, v) {
        run_recall(dt, v);
    }
}
