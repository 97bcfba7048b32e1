/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_start.c - POST …/cmd: a command begins
 *
 * Clients would repeat the request on any answer that says "later", so what cannot be executed is no
 * error: a substitute runs in its place that says why, and ends with 127 or 126 as in a shell. The
 * command stays when its client goes: it was asked for, and can be found again. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/file_op.h"
#include "dialects/vercel/vercel.h"

struct vc_start {
    struct pending pending;
    struct vercel *vercel;
    struct http_request *rq; /* NULL: the client has gone */
    json_t *body;            /* what `command` borrows from */
    struct vc_command command;
    char session[BOX_SESSION_BYTES + 1];
    bool substitute; /* it is that which is being started */
};

static void start_free(struct pending *p)
{
    struct vc_start *s = list_entry(p, struct vc_start, pending);

    vc_command_fini(&s->command);
    json_decref(s->body);
    pending_fini(p);
    free(s);
}

/* The keeper's answer comes soon, so a drain need not hurry it. */
static const struct pending_kind start_kind = {.drain = NULL, .free = start_free};

static void start_on_gone(void *user)
{
    ((struct vc_start *)user)->rq = NULL;
}

static void start_fail(struct vc_start *s, const struct hf_error *err)
{
    if (s->rq != NULL) {
        http_set_user(s->rq, NULL, NULL);
        vc_error(s->rq, err);
    }
    start_free(&s->pending);
}

/*
 * Its logs are asked for later, all of them, so its ring is a large one; but not if running
 * processes together would then leave others without.
 */
static int64_t history_for(struct engine *e)
{
    const struct engine_options *o = engine_options(e);
    uint64_t all = o->history_dir != NULL ? o->history_disk_bytes : o->journal_memory_bytes;
    struct engine_stats stats;

    engine_stats(e, &stats);
    if (o->journal_bytes >= LIMIT_VERCEL_HISTORY_BYTES ||
        (stats.running + 1) * (uint64_t)LIMIT_VERCEL_HISTORY_BYTES > all / 2)
        return 0;
    return LIMIT_VERCEL_HISTORY_BYTES;
}

/* --- it runs --------------------------------------------------------------------------------- */

/* Whoever stopped the session meanwhile could not end what was not there yet. */
static bool is_stopped(const struct vc_start *s)
{
    const struct vc_sandbox *b = vc_sandbox_of_session(&s->vercel->boxes, s->session);

    return b == NULL || b->stopped;
}

static void start_answer(struct vc_start *s, struct process *p)
{
    const struct vc_stream_options o = {.run = true, .logs = s->command.logs};
    struct http_request *rq = s->rq;
    bool wait = s->command.wait, stopped = is_stopped(s);

    if (rq != NULL)
        http_set_user(rq, NULL, NULL);
    start_free(&s->pending);
    if (stopped)
        process_end(p, 0, "api", NULL, NULL);
    if (rq != NULL && stopped)
        vc_refuse(rq, 409, "conflict", "the session was stopped while the command began");
    else if (rq != NULL && wait)
        vc_stream_begin(rq, p, &o);
    else if (rq != NULL)
        vc_reply_command(rq, p);
}

static void start_on_spawned(void *arg, struct process *p, const struct hf_error *err);

static void start_substitute(struct vc_start *s, const struct hf_error *why)
{
    bool missing = why->errno_name != NULL && strcmp(why->errno_name, "ENOENT") == 0;
    const char *args[FILE_OP_ARGS];
    hf_autofree char *metadata = vc_substitute_metadata(&s->command.spec);
    struct spawn_spec spec;
    struct hf_error err = {0};

    file_op_spec(&spec, args, NULL, "fail", why->detail, missing ? "127" : "126");
    spec.source = SOURCE_AGENT; /* not the daemon's own affair: it is to be seen, and to stay */
    spec.helper = false;
    spec.label = NULL;
    spec.cwd = NULL;
    spec.session_id = s->session;
    spec.metadata_json = metadata;
    s->substitute = true;
    if (engine_spawn(s->vercel->engine, &spec, start_on_spawned, s, &err) < 0)
        start_fail(s, &err);
}

static void start_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct vc_start *s = arg;

    if (p != NULL)
        start_answer(s, p);
    else if (s->rq != NULL && !s->substitute && err->code == HF_E_spawn_failed)
        start_substitute(s, err);
    else
        start_fail(s, err);
}

/* --- it is asked for ------------------------------------------------------------------------ */

/* The daemon's own user is whom plain commands run as; it is root itself, or it cannot become it. */
static bool may_be_root(struct http_request *rq, const struct vc_command *c)
{
    if (!c->sudo || vc_of(rq)->own_uid == 0)
        return true;
    vc_refuse(rq, 403, "forbidden",
              "\"sudo\" needs a daemon that runs as root; this one cannot become root");
    return false;
}

static void start_begin(struct http_request *rq, struct vc_start *s)
{
    struct hf_error err = {0};

    s->command.spec.session_id = s->session;
    s->command.spec.history_bytes = history_for(s->vercel->engine);
    http_set_user(rq, s, start_on_gone);
    if (engine_spawn(s->vercel->engine, &s->command.spec, start_on_spawned, s, &err) < 0)
        start_fail(s, &err);
}

void vc_run(struct http_request *rq)
{
    struct vc_sandbox *b = vc_session(rq);
    json_t *body = b == NULL ? NULL : vc_body(rq);
    struct hf_error err = {0};
    struct vc_start *s;

    if (body == NULL)
        return;
    s = hf_xalloc(sizeof *s);
    s->vercel = vc_of(rq);
    s->rq = rq;
    s->body = body;
    memcpy(s->session, b->session, sizeof s->session);
    pending_init(&s->pending, &s->vercel->pending, &start_kind);
    if (vc_ask_command(&s->command, body, b->env, &err) < 0)
        start_fail(s, &err);
    else if (!may_be_root(rq, &s->command))
        start_free(&s->pending);
    else
        start_begin(rq, s);
}
