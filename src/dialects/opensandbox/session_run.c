/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_run.c - POST /session/{id}/run: a command in the session's shell, its output as it comes
 *
 * Unlike that of /command, such a run ends when its client goes. The output is read off the
 * shell's journal: from where the session's log says the command began to where
 * its result says it ended. Layer: dialects.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/opensandbox/ask.h"
#include "dialects/opensandbox/feed.h"
#include "dialects/opensandbox/session_told.h"
#include "engine/events.h"

/* A time-out is a time-out: TERM is only a courtesy, of which bash makes fewer words than of KILL. */
#define RUN_GRACE_MS 100

struct srun {
    struct pending pending;
    struct feed feed;
    struct http_request *rq; /* until the stream begins */
    struct session_run *run; /* NULL: not queued yet, or done */
    struct event_subscriber events;
    struct told told;
    char *id, *command;
    int64_t timeout_ms;
    bool waits; /* for a prelude, which will call back */
    bool done;  /* exit is what came of it */
    struct exit_record exit;
};

static void srun_free(struct pending *p)
{
    struct srun *r = list_entry(p, struct srun, pending);

    events_unsubscribe(&r->events);
    osb_feed_fini(&r->feed);
    pending_fini(p);
    free(r->id);
    free(r->command);
    free(r);
}

static void srun_on_free(struct pending *p)
{
    struct srun *r = list_entry(p, struct srun, pending);

    if (r->run != NULL)
        session_run_leave(r->run, false);
    srun_free(p);
}

/* A command that has begun goes on under the next worker. */
static void srun_drain(struct pending *p)
{
    struct srun *r = list_entry(p, struct srun, pending);

    if (r->waits)
        return;
    if (r->run != NULL)
        session_run_leave(r->run, session_run_number(r->run) == 0);
    srun_free(p);
}

static const struct pending_kind srun_kind = {.drain = srun_drain, .free = srun_on_free};

static struct session *srun_session(const struct srun *r, struct hf_error *err)
{
    return session_find(r->feed.osb->engine, r->id, err);
}

/* --- output ------------------------------------------------------------------------- */

static struct srun *srun_of(struct feed *f)
{
    return list_entry(f, struct srun, feed);
}

static void srun_gone(struct feed *f)
{
    struct srun *r = srun_of(f);

    if (r->run != NULL)
        session_run_leave(r->run, true);
    srun_free(&r->pending);
}

/* The shell's own exit is not what is waited for: the session says what came of the command. */
static void srun_over(struct feed *f, const struct exit_record *x)
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

/* The next shell takes over at once what the one before has saved. */
static void heal(struct srun *r)
{
    struct session *s = srun_session(r, NULL);

    if (s != NULL && osb_prelude_is_due(session_commands(s)))
        (void)osb_session_tell_prelude(s, true, PRELUDE_STAY, NULL, NULL, NULL);
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
        r->exit.code = -1; /* as the shell was told; how it ended the command is its own affair */
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

/* --- the beginning ------------------------------------------------------------------------ */

static void srun_start(struct srun *r)
{
    struct session_run_spec spec = {
        .source = SOURCE_AGENT,
        .timeout_ms = r->timeout_ms,
        .grace_ms = RUN_GRACE_MS,
    };
    struct http_request *rq = r->rq;
    struct buf text = {0};
    struct hf_error err;
    struct session *s = srun_session(r, &err);
    int rc = -1;

    osb_prelude_wrap(&text, r->command);
    spec.command = buf_cstr(&text);
    if (s != NULL)
        rc = session_run(s, &spec, srun_on_done, r, &r->run, &err);
    buf_fini(&text);
    r->rq = NULL;
    if (rc < 0) {
        osb_runtime_error(rq, &err);
        srun_free(&r->pending);
        return;
    }
    osb_feed_begin(&r->feed, rq, r->id);
    events_subscribe(engine_events(r->feed.osb->engine), &r->events);
}

static void srun_on_told(void *arg, const struct hf_error *err)
{
    struct srun *r = arg;

    r->waits = false;
    if (r->rq == NULL) {
        srun_free(&r->pending);
        return;
    }
    http_set_user(r->rq, NULL, NULL);
    if (err == NULL) {
        srun_start(r);
        return;
    }
    osb_error(r->rq, err);
    srun_free(&r->pending);
}

static void srun_on_gone(void *user)
{
    struct srun *r = user;

    r->rq = NULL;
}

static struct srun *srun_new(struct http_request *rq, const struct session_ask *a)
{
    struct osb *o = osb_of(rq);
    struct srun *r = hf_xalloc(sizeof *r);

    r->rq = rq;
    r->id = hf_xstrdup(http_param(rq, "id"));
    r->command = hf_xstrdup(a->command);
    r->timeout_ms = a->timeout;
    osb_feed_init(&r->feed, o, &srun_feed);
    r->feed.merged = true;
    r->events = (struct event_subscriber){.fn = srun_on_event, .arg = r};
    list_init(&r->events.link);
    pending_init(&r->pending, &o->pending, &srun_kind);
    return r;
}

static void srun_begin(struct http_request *rq, struct session *s, const struct session_ask *a)
{
    bool due = osb_prelude_is_due(session_commands(s));
    struct srun *r = srun_new(rq, a);
    struct hf_error err;

    if (!due && a->cwd == NULL) {
        srun_start(r);
        return;
    }
    r->waits = true;
    http_set_user(rq, r, srun_on_gone);
    r->told = (struct told){srun_on_told, r};
    if (osb_session_tell_prelude(s, due, a->cwd != NULL ? PRELUDE_CD : PRELUDE_STAY, a->cwd,
                                 &r->told, &err) < 0)
        srun_on_told(r, &err);
}

void osb_session_run(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct session_ask a;
    struct session *s;
    struct hf_error err;

    if (body == NULL || !osb_is_open(rq))
        return;
    s = session_find(osb_of(rq)->engine, http_param(rq, "id"), &err);
    if (s == NULL) {
        osb_runtime_error(rq, &err);
        return;
    }
    if (osb_session_ask_decode(&a, body, true, &err) < 0)
        osb_error(rq, &err);
    else
        srun_begin(rq, s, &a);
    osb_session_ask_fini(&a);
}
