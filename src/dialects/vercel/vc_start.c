/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_start.c - POST …/cmd: starts a command
 *
 * Clients would repeat the request on any reply that means "later", so a program that cannot be
 * executed is not an error: a substitute runs in its place, prints why, and exits with 127 or 126
 * as in a shell. The command keeps running when its client disconnects: it can be found again.
 * Layer: dialects.
 */
#include <string.h>

#include "base/mem.h"
#include "dialects/common/file_op.h"
#include "dialects/vercel/vercel.h"
#include "dialects/vercel/vercel_limits.h"

struct vc_start {
    struct call call;
    json_t *body; /* what `command` borrows from */
    struct vc_command command;
    char session[BOX_SESSION_BYTES + 1];
    bool substitute; /* the substitute is being started */
};

static void start_release(struct call *c)
{
    struct vc_start *s = (struct vc_start *)c;

    vc_command_fini(&s->command);
    json_decref(s->body);
}

/* The keeper replies soon, so a drain need not cut this short. */
static const struct call_kind start_kind = {.release = start_release, .stays = true};

/*
 * Clients request all of its logs later, so it gets a large ring; but not if all running processes
 * together would then leave too little for others.
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

/* --- started -------------------------------------------------------------------------------- */

/* A client that stopped the session in between could not terminate what did not exist yet. */
static bool is_stopped(const struct vc_start *s)
{
    struct vercel *v = (struct vercel *)s->call.base;
    const struct vc_sandbox *b = vc_sandbox_of_session(&v->boxes, s->session);

    return b == NULL || b->stopped;
}

static void start_reply(struct vc_start *s, struct process *p)
{
    const struct vc_stream_options o = {.run = true, .logs = s->command.logs};
    bool wait = s->command.wait, stopped = is_stopped(s);
    struct http_request *rq = call_end(&s->call);

    if (stopped)
        process_terminate(p, 0, "api", NULL, NULL);
    if (rq != NULL && stopped)
        vc_refuse(rq, 409, "conflict",
                  "the session was stopped while the command was being started");
    else if (rq != NULL && wait)
        vc_stream_begin(rq, p, &o);
    else if (rq != NULL)
        vc_reply_command(rq, p);
}

static void start_on_spawned(void *arg, struct process *p, const struct hf_error *err);

static void start_substitute(struct vc_start *s, const struct hf_error *why)
{
    bool missing = why->errno_name != NULL && strcmp(why->errno_name, "ENOENT") == 0;
    hf_autofree char *metadata = vc_substitute_metadata(&s->command.body.spec);
    struct spawn_spec spec;
    struct file_op op;
    struct hf_error err = {0};

    file_op_init(&op, NULL, "fail", why->detail);
    file_op_arg(&op, missing ? "127" : "126");
    file_op_spec(&spec, &op);
    spec.history_bytes = 0;
    spec.source = SOURCE_AGENT; /* not an internal process: it is listed, and kept */
    spec.helper = false;
    spec.label = NULL;
    spec.cwd = NULL;
    spec.session_id = s->session;
    spec.metadata_json = metadata;
    s->substitute = true;
    if (engine_spawn(s->call.base->engine, &spec, start_on_spawned, s, &err) < 0)
        call_fail(&s->call, &err);
    file_op_fini(&op);
}

static void start_on_spawned(void *arg, struct process *p, const struct hf_error *err)
{
    struct vc_start *s = arg;

    if (p != NULL)
        start_reply(s, p);
    else if (s->call.rq != NULL && !s->substitute && err->code == HF_E_spawn_failed)
        start_substitute(s, err);
    else
        call_fail(&s->call, err);
}

/* --- decoding requests ---------------------------------------------------------------------- */

static void start_begin(struct vc_start *s)
{
    struct engine *e = s->call.base->engine;
    struct hf_error err = {0};

    s->command.body.spec.session_id = s->session;
    s->command.body.spec.history_bytes = history_for(e);
    if (engine_spawn(e, &s->command.body.spec, start_on_spawned, s, &err) < 0)
        call_fail(&s->call, &err);
}

void vc_run(struct http_request *rq)
{
    struct vc_sandbox *b = vc_session(rq);
    json_t *body = b == NULL ? NULL : dialect_object(rq);
    struct hf_error err = {0};
    struct vc_start *s;

    if (body == NULL)
        return;
    s = call_begin(rq, &start_kind, sizeof *s);
    s->body = body;
    memcpy(s->session, b->session, sizeof s->session);
    if (vc_decode_command(&s->command, body, b->env, &err) < 0)
        call_fail(&s->call, &err);
    else if (s->command.sudo && s->call.base->host.own_uid != 0)
        /* Plain commands run as the daemon's own user: if that is not root, it cannot become it. */
        vc_refuse(call_end(&s->call), 403, "forbidden",
                  "\"sudo\" needs a daemon that runs as root; this one cannot become root");
    else
        start_begin(s);
}
