/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_session_run.c - POST /session/{id}/run: a command in the session's shell, its output streamed
 *
 * Unlike a /command, such a run ends when its client disconnects. The output is read from the
 * shell's journal: from where the session's log records the start of the command to where its
 * result records the end. A separate command directly before it changes the directory; if that
 * fails, the command is never started. Layer: dialects.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_event_feed.h"
#include "dialects/opensandbox/osb_prelude_run.h"

/* At a timeout TERM is only a courtesy: bash prints less about it than about KILL. */
#define RUN_GRACE_MS 100

struct srun {
    struct osb_feed feed;
    struct session_run *run; /* NULL: not queued, or done */
    struct prelude_wait cd;  /* runs before it, if it has a directory */
    char *id;
    bool done; /* exit has its result */
    struct exit_record exit;
};

/* A command that has not begun never will; a running one is terminated, or continues without us. */
static void srun_leave(struct srun *r, bool end)
{
    osb_session_prelude_leave(&r->cd);
    if (r->run != NULL)
        session_run_leave(r->run, end || session_run_number(r->run) == 0);
    r->run = NULL;
}

static void srun_release(struct call *c)
{
    struct srun *r = (struct srun *)c;

    srun_leave(r, false);
    osb_feed_release(c);
    free(r->id);
}

static void srun_disconnected(struct call *c)
{
    srun_leave((struct srun *)c, true);
}

/* A command that has begun keeps running under the next worker. */
static void srun_drain(struct call *c)
{
    if (c->out != NULL)
        call_stream_abort(c);
    else
        osb_call_refuse(c, 503, "RUNTIME_ERROR",
                        "the daemon is shutting down; the command was not run");
}

static const struct call_kind srun_kind = {
    .release = srun_release,
    .disconnected = srun_disconnected,
    .drain = srun_drain,
    .room = osb_feed_room,
};

/* --- output ------------------------------------------------------------------------- */

/* The shell's own exit does not matter: the session reports the result of the command. */
static void srun_over(struct osb_feed *f, const struct exit_record *x)
{
    struct srun *r = (struct srun *)f;

    (void)x;
    if (r->done)
        osb_feed_end(f, &r->exit);
}

static void srun_attach(struct srun *r, const char *process_id, uint64_t from)
{
    struct process *p = engine_find(r->feed.call.base->engine, process_id, NULL);

    if (p != NULL && r->feed.process == NULL)
        (void)osb_feed_attach(&r->feed, p, from, NULL);
}

static void srun_on_began(void *arg, const struct session_begin *b)
{
    srun_attach(arg, b->process_id, b->from);
}

/* --- the end ---------------------------------------------------------------------------- */

/* A client that has its 200 gets the failure as the command's own: the shell's message, and a
 * status. */
static void srun_fail(struct srun *r, const struct hf_error *err)
{
    const struct exit_record failed = {.kind = EXIT_EXITED, .exit_code = 1, .code = 1};

    if (r->feed.call.rq != NULL) {
        call_fail(&r->feed.call, err);
    } else if (err->code == HF_E_bad_value) {
        osb_feed_say(&r->feed, err->detail);
        osb_feed_end(&r->feed, &failed);
    } else {
        osb_feed_fail(&r->feed, err->detail);
    }
}

/* The next shell restores at once what the previous one has saved. */
static void heal(struct srun *r)
{
    struct session *s = session_find(r->feed.call.base->engine, r->id, NULL);

    if (s != NULL && osb_prelude_is_due(session_commands(s)))
        (void)osb_session_run_prelude(s, true, PRELUDE_STAY, NULL, NULL, NULL);
}

static void srun_on_done(void *arg, const struct session_result *x, const struct hf_error *err)
{
    struct srun *r = arg;

    r->run = NULL;
    r->done = true;
    if (x == NULL) {
        srun_fail(r, err);
        return;
    }
    r->exit = x->exit;
    if (x->exit.kind == EXIT_TIMED_OUT || x->exit.kind == EXIT_KILLED) {
        /* by the shell's timeout; how the shell ended the command does not matter */
        r->exit.code = -1;
        r->exit.signum = SIGKILL;
    }
    srun_attach(r, x->process_id, x->from);
    if (x->shell_replaced)
        heal(r);
    if (r->feed.process != NULL)
        osb_feed_stop_at(&r->feed, x->to);
    else
        srun_over(&r->feed, NULL);
}

/* --- setup -------------------------------------------------------------------------------- */

static void srun_on_cd(void *arg, const struct hf_error *err)
{
    struct srun *r = arg;

    if (err != NULL) {
        srun_leave(r, true);
        srun_fail(r, err);
    } else if (r->feed.call.rq != NULL) {
        osb_feed_begin(&r->feed, r->id);
    }
}

static int srun_queue_command(struct srun *r, struct session *s,
                              const struct osb_session_request *a, struct hf_error *err)
{
    struct session_run_spec spec = {
        .source = SOURCE_AGENT,
        .timeout_ms = a->timeout,
        .grace_ms = RUN_GRACE_MS,
        .ahead = osb_prelude_ahead,
        .began = srun_on_began,
    };
    struct buf text = {0};
    int rc;

    osb_prelude_wrap(&text, a->command);
    spec.command = buf_cstr(&text);
    rc = session_run(s, &spec, srun_on_done, r, &r->run, err);
    buf_fini(&text);
    return rc;
}

/* Both are queued together, so that no other command gets between the directory change and the
 * command. */
static int srun_queue(struct srun *r, struct session *s, const struct osb_session_request *a,
                      struct hf_error *err)
{
    int rc = 0;

    r->cd = (struct prelude_wait){.done = srun_on_cd, .arg = r};
    if (a->cwd != NULL)
        rc = osb_session_run_prelude(s, false, PRELUDE_CD, a->cwd, &r->cd, err);
    if (rc == 0)
        rc = srun_queue_command(r, s, a, err);
    return rc;
}

/* A directory that cannot be entered is refused if that is known at once. Behind other commands it
 * is not, and clients do not wait that long for the head of a reply. */
static void srun_begin(struct http_request *rq, struct session *s,
                       const struct osb_session_request *a)
{
    bool known_soon = !session_is_busy(s);
    struct srun *r = osb_feed_new(rq, &srun_kind, sizeof *r, srun_over);
    struct hf_error err;

    r->id = hf_xstrdup(http_param(rq, "id"));
    r->feed.merged = true;
    if (srun_queue(r, s, a, &err) < 0) {
        srun_leave(r, true);
        osb_call_refuse(&r->feed.call, 500, "RUNTIME_ERROR", err.detail);
    } else if (a->cwd == NULL || !known_soon) {
        osb_feed_begin(&r->feed, r->id);
    }
}

void osb_session_run(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct osb_session_request a;
    struct session *s;
    struct hf_error err;

    if (body == NULL || !osb_is_open(rq))
        return;
    s = session_find(dialect_base_of(rq)->engine, http_param(rq, "id"), &err);
    if (s == NULL) {
        osb_refuse(rq, 500, "RUNTIME_ERROR", err.detail);
        return;
    }
    if (osb_session_request_decode(&a, body, true, &err) < 0)
        osb_error(rq, &err);
    else
        srun_begin(rq, s, &a);
    osb_session_request_fini(&a);
}
