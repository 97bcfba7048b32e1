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

#include "base/clock.h"
#include "base/mem.h"
#include "dialects/common/session_follow.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_event_feed.h"
#include "dialects/opensandbox/osb_prelude.h"

/* At a timeout TERM is only a courtesy: bash prints less about it than about KILL. */
#define RUN_GRACE_MS 100

struct srun {
    struct call call;
    struct osb_feed feed;
    struct session_follow *run; /* NULL: not queued, or done */
    struct prelude_wait cd;     /* runs before it, if it has a directory */
    bool begun;
    char *id;
};

/* A command that has not begun never will; a running one is terminated, or continues without us. */
static void srun_leave(struct srun *r, bool end)
{
    osb_session_prelude_leave(&r->cd);
    if (r->run != NULL)
        session_follow_leave(r->run, end || !r->begun);
    r->run = NULL;
}

static void srun_release(struct call *c)
{
    struct srun *r = (struct srun *)c;

    srun_leave(r, false);
    osb_feed_fini(&r->feed);
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

static void srun_room(struct call *c)
{
    struct srun *r = (struct srun *)c;

    if (r->run != NULL)
        session_follow_pump(r->run);
}

static const struct call_kind srun_kind = {
    .release = srun_release,
    .disconnected = srun_disconnected,
    .drain = srun_drain,
    .room = srun_room,
};

/* --- output ------------------------------------------------------------------------- */

static void srun_started(void *arg, const struct session_begin *b)
{
    struct srun *r = arg;

    r->begun = true;
    r->feed.at = b->from;
}

static bool srun_ready(void *arg)
{
    const struct srun *r = arg;

    return r->call.out != NULL && http_stream_ready(r->call.out);
}

static void srun_bytes(void *arg, const struct slice *s)
{
    osb_feed_bytes(&((struct srun *)arg)->feed, s);
}

static void srun_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)from;
    osb_feed_gap(&((struct srun *)arg)->feed, to);
}

/* --- the end ---------------------------------------------------------------------------- */

/* A client that has its 200 gets the failure as the command's own: the shell's message, and a
 * status. */
static void srun_fail(struct srun *r, const struct hf_error *err)
{
    const struct exit_record failed = {.kind = EXIT_EXITED, .exit_code = 1, .code = 1};

    if (r->call.rq != NULL) {
        call_fail(&r->call, err);
        return;
    }
    if (err->code == HF_E_bad_value) {
        osb_feed_say(&r->feed, err->detail);
        osb_feed_end(&r->feed, &failed);
    } else {
        osb_feed_fail(&r->feed, err->detail);
    }
    call_stream_end(&r->call);
}

static void srun_failed(void *arg, const struct hf_error *err)
{
    struct srun *r = arg;

    r->run = NULL;
    srun_fail(r, err);
}

/* The next shell restores at once what the previous one has saved. */
static void srun_result(void *arg, const struct session_result *x)
{
    struct srun *r = arg;
    struct session *s = session_find(r->call.base->engine, r->id, NULL);

    if (x->shell_replaced && s != NULL && osb_prelude_is_due(session_commands(s)))
        (void)osb_session_run_prelude(s, true, PRELUDE_STAY, NULL, NULL, NULL);
}

static void srun_done(void *arg, const struct session_followed *f)
{
    struct exit_record x = f->exit;
    struct srun *r = arg;

    r->run = NULL;
    if (x.kind == EXIT_TIMED_OUT || x.kind == EXIT_KILLED) {
        /* by the shell's timeout; how the shell ended the command does not matter */
        x.code = -1;
        x.signum = SIGKILL;
    }
    osb_feed_end(&r->feed, &x);
    call_stream_end(&r->call);
}

static const struct session_follow_ops follow_ops = {
    .started = srun_started,
    .ready = srun_ready,
    .bytes = srun_bytes,
    .gap = srun_gap,
    .result = srun_result,
    .failed = srun_failed,
    .done = srun_done,
    .slice_bytes = OSB_FEED_SLICE_BYTES,
    .heavy = true,
};

/* --- setup -------------------------------------------------------------------------------- */

static void srun_on_cd(void *arg, const struct hf_error *err)
{
    struct srun *r = arg;

    if (err != NULL) {
        srun_leave(r, true);
        srun_fail(r, err);
    } else if (r->call.rq != NULL) {
        osb_feed_stream(&r->feed, &r->call, r->id);
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
    };
    struct buf text = {0};
    int rc;

    osb_prelude_wrap(&text, a->command);
    spec.command = buf_cstr(&text);
    rc = session_follow_start(r->call.base->engine, s, &spec, &follow_ops, r, &r->run, err);
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
    struct srun *r = call_begin(rq, &srun_kind, sizeof *r);
    struct hf_error err;

    osb_feed_init(&r->feed, rq, clock_mono_ms());
    r->id = hf_xstrdup(http_param(rq, "id"));
    r->feed.merged = true;
    if (srun_queue(r, s, a, &err) < 0) {
        srun_leave(r, true);
        osb_call_refuse(&r->call, 500, "RUNTIME_ERROR", err.detail);
    } else if (a->cwd == NULL || !known_soon) {
        osb_feed_stream(&r->feed, &r->call, r->id);
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
