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
#include "engine/events.h"

/* At a timeout TERM is only a courtesy: bash prints less about it than about KILL. */
#define RUN_GRACE_MS 100

struct srun {
    struct pending pending;
    struct osb_feed feed;
    struct http_request *rq; /* until the stream begins */
    struct session_run *run; /* NULL: not queued, or done */
    struct prelude_wait cd;  /* runs before it, if it has a directory */
    struct event_subscriber events;
    char *id;
    bool done; /* exit has its result */
    struct exit_record exit;
};

static void srun_free(struct pending *p)
{
    struct srun *r = list_entry(p, struct srun, pending);

    events_unsubscribe(&r->events);
    osb_feed_fini(&r->feed);
    pending_fini(p);
    free(r->id);
    free(r);
}

/* A command that has not begun never will; a running one is terminated, or continues without us. */
static void srun_leave(struct srun *r, bool end)
{
    osb_session_prelude_leave(&r->cd);
    if (r->run != NULL)
        session_run_leave(r->run, end || session_run_number(r->run) == 0);
    r->run = NULL;
}

static void srun_on_free(struct pending *p)
{
    srun_leave(list_entry(p, struct srun, pending), false);
    srun_free(p);
}

/* A command that has begun keeps running under the next worker. */
static void srun_drain(struct pending *p)
{
    struct srun *r = list_entry(p, struct srun, pending);

    srun_leave(r, false);
    if (r->rq != NULL) {
        http_set_user(r->rq, NULL, NULL);
        osb_refuse(r->rq, 503, "RUNTIME_ERROR",
                   "the daemon is shutting down; the command was not run");
    }
    srun_free(p);
}

static const struct pending_kind srun_kind = {.drain = srun_drain, .free = srun_on_free};

static struct session *srun_session(const struct srun *r, struct hf_error *err)
{
    return session_find(r->feed.osb->engine, r->id, err);
}

/* --- output ------------------------------------------------------------------------- */

static struct srun *srun_of(struct osb_feed *f)
{
    return list_entry(f, struct srun, feed);
}

static void srun_gone(struct osb_feed *f)
{
    struct srun *r = srun_of(f);

    srun_leave(r, true);
    srun_free(&r->pending);
}

/* The shell's own exit does not matter: the session reports the result of the command. */
static void srun_over(struct osb_feed *f, const struct exit_record *x)
{
    struct srun *r = srun_of(f);

    (void)x;
    if (!r->done)
        return;
    osb_feed_end(f, &r->exit);
    srun_free(&r->pending);
}

static const struct feed_ops srun_feed = {.gone = srun_gone, .over = srun_over};

static void srun_attach(struct srun *r, const char *process_id, uint64_t from)
{
    struct process *p = engine_find(r->feed.osb->engine, process_id, NULL);

    if (p != NULL && r->feed.process == NULL)
        (void)osb_feed_attach(&r->feed, p, from, NULL);
}

/* Has it begun? Then the log's last entry is about it. */
static void srun_on_event(void *arg)
{
    struct srun *r = arg;
    struct session *s = srun_session(r, NULL);
    struct session_command c;
    uint64_t number = r->run != NULL ? session_run_number(r->run) : 0;

    if (s == NULL || number == 0 || r->feed.process != NULL)
        return;
    if (session_log_last(session_commands(s), &c) && c.begin.number == number)
        srun_attach(r, c.begin.process_id, c.begin.from);
}

/* --- the end ---------------------------------------------------------------------------- */

/* The next shell restores at once what the previous one has saved. */
static void heal(struct srun *r)
{
    struct session *s = srun_session(r, NULL);

    if (s != NULL && osb_prelude_is_due(session_commands(s)))
        (void)osb_session_run_prelude(s, true, PRELUDE_STAY, NULL, NULL, NULL);
}

static void srun_on_done(void *arg, const struct session_result *x, const struct hf_error *err)
{
    struct srun *r = arg;

    r->run = NULL;
    r->done = true;
    if (x == NULL) {
        osb_feed_fail(&r->feed, err->detail);
        srun_free(&r->pending);
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

static void srun_stream(struct srun *r)
{
    struct http_request *rq = r->rq;

    r->rq = NULL;
    osb_feed_begin(&r->feed, rq, r->id);
    events_subscribe(engine_events(r->feed.osb->engine), &r->events);
}

/* A client that has its 200 gets the failure as the command's own: the shell's message, and a
 * status. */
static void srun_fail_cd(struct srun *r, const struct hf_error *err)
{
    const struct exit_record failed = {.kind = EXIT_EXITED, .exit_code = 1, .code = 1};

    if (r->rq != NULL) {
        http_set_user(r->rq, NULL, NULL);
        osb_error(r->rq, err);
    } else if (err->code == HF_E_bad_value) {
        osb_feed_say(&r->feed, err->detail);
        osb_feed_end(&r->feed, &failed);
    } else {
        osb_feed_fail(&r->feed, err->detail);
    }
}

static void srun_on_cd(void *arg, const struct hf_error *err)
{
    struct srun *r = arg;

    if (err != NULL) {
        srun_leave(r, true);
        srun_fail_cd(r, err);
        srun_free(&r->pending);
    } else if (r->rq != NULL) {
        http_set_user(r->rq, NULL, NULL);
        srun_stream(r);
    }
}

static void srun_on_disconnect(void *user)
{
    struct srun *r = user;

    srun_leave(r, true);
    srun_free(&r->pending);
}

static struct srun *srun_new(struct http_request *rq)
{
    struct osb *o = osb_of(rq);
    struct srun *r = hf_xalloc(sizeof *r);

    r->rq = rq;
    r->id = hf_xstrdup(http_param(rq, "id"));
    osb_feed_init(&r->feed, o, &srun_feed);
    r->feed.merged = true;
    r->events = (struct event_subscriber){.fn = srun_on_event, .arg = r};
    list_init(&r->events.link);
    pending_init(&r->pending, &o->pending, &srun_kind);
    return r;
}

static int srun_queue_command(struct srun *r, struct session *s,
                              const struct osb_session_request *a, struct hf_error *err)
{
    struct session_run_spec spec = {
        .source = SOURCE_AGENT,
        .timeout_ms = a->timeout,
        .grace_ms = RUN_GRACE_MS,
        .ahead = osb_prelude_ahead,
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
    struct srun *r = srun_new(rq);
    struct hf_error err;

    if (srun_queue(r, s, a, &err) < 0) {
        srun_leave(r, true);
        osb_runtime_error(rq, &err);
        srun_free(&r->pending);
    } else if (a->cwd != NULL && known_soon) {
        http_set_user(rq, r, srun_on_disconnect);
    } else {
        srun_stream(r);
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
    s = session_find(osb_of(rq)->engine, http_param(rq, "id"), &err);
    if (s == NULL) {
        osb_runtime_error(rq, &err);
        return;
    }
    if (osb_session_request_decode(&a, body, true, &err) < 0)
        osb_error(rq, &err);
    else
        srun_begin(rq, s, &a);
    osb_session_request_fini(&a);
}
