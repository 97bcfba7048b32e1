/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_run.c - runs a command to its end, in a session's shell or as a separate process.
 * Layer: dialects.
 */
#include "dialects/cloudflare/cf_run.h"

#include <stdlib.h>

#include "dialects/cloudflare/cf_wire.h"

/* --- the call -------------------------------------------------------------------------------- */

static struct cf_run *run_of(struct call *c)
{
    return list_entry(c, struct cf_run, follow.call);
}

static struct cf_run *run_of_follow(struct follow *f)
{
    return list_entry(f, struct cf_run, follow);
}

/* No one follows the command any more. `end`: terminate what runs as well. */
static void run_leave(struct cf_run *r, bool end)
{
    if (r->launch != NULL)
        cf_launch_leave(r->launch, end);
    if (r->session != NULL)
        session_follow_leave(r->session, end);
    if (r->follow.process != NULL && end)
        process_terminate(r->follow.process, -1, "detach", NULL, NULL);
    r->launch = NULL;
    r->session = NULL;
}

static void run_release(struct call *c)
{
    struct cf_run *r = run_of(c);

    run_leave(r, false);
    cf_want_cancel(&r->want);
    follow_release(c);
    buf_fini(&r->line);
    if (r->ops->release != NULL)
        r->ops->release(r);
}

static void run_disconnected(struct call *c)
{
    run_leave(run_of(c), run_of(c)->ops->end_if_disconnected);
}

static void run_drain(struct call *c)
{
    run_leave(run_of(c), run_of(c)->ops->end_if_drained);
    run_of(c)->ops->drain(c);
}

static void run_room(struct call *c)
{
    struct cf_run *r = run_of(c);

    if (r->session != NULL)
        session_follow_pump(r->session);
    else
        follow_room(c);
}

const struct call_kind cf_run_kind = {
    .release = run_release,
    .disconnected = run_disconnected,
    .drain = run_drain,
    .room = run_room,
};

/* --- the output, of a session or of a process ------------------------------------------------- */

static void run_failed(void *arg, const struct hf_error *err)
{
    struct cf_run *r = arg;

    r->session = NULL;
    if (r->ops->failed != NULL)
        r->ops->failed(r, err);
    else
        call_fail(&r->follow.call, err);
}

static void run_started(void *arg, const struct session_begin *b)
{
    struct cf_run *r = arg;

    (void)b;
    if (r->ops->started != NULL)
        r->ops->started(r);
}

static bool run_ready(void *arg)
{
    const struct cf_run *r = arg;

    return !r->follow.call.streams || call_is_ready(&r->follow.call);
}

static void run_bytes(void *arg, const struct slice *s)
{
    struct cf_run *r = arg;

    r->ops->bytes(r, s);
}

static void run_gap(void *arg, uint64_t from, uint64_t to)
{
    struct cf_run *r = arg;

    if (r->ops->gap != NULL)
        r->ops->gap(r, from, to);
}

/* --- in a session ---------------------------------------------------------------------------- */

static void run_done(void *arg, const struct session_followed *f)
{
    struct cf_run *r = arg;

    r->session = NULL;
    r->ops->done(r, f);
}

static const struct session_follow_ops follow_ops = {
    .started = run_started,
    .ready = run_ready,
    .bytes = run_bytes,
    .gap = run_gap,
    .failed = run_failed,
    .done = run_done,
};

static void run_on_session(void *arg, struct session *s, const struct hf_error *err)
{
    struct cf_run *r = arg;
    struct session_run_spec spec = {
        .command = buf_cstr(&r->line),
        .source = SOURCE_AGENT,
        .grace_ms = 0, /* a time-out is a time-out */
    };
    struct hf_error why;

    if (s == NULL) {
        run_failed(r, err);
        return;
    }
    if (r->timeout_ms == 0)
        r->timeout_ms = cf_session_timeout(s);
    spec.timeout_ms = r->timeout_ms;
    if (session_follow_start(r->cf->base.engine, s, &spec, &follow_ops, r, &r->session, &why) < 0)
        run_failed(r, &why);
}

/* A program and its arguments become a line: the shell must run them, not interpret them. */
static void quote_argv(struct buf *out, const json_t *argv)
{
    for (size_t i = 0; i < json_array_size(argv); i++) {
        if (i > 0)
            buf_putc(out, ' ');
        buf_put_quoted(out, json_string_value(json_array_get(argv, i)));
    }
}

static void run_in_session(struct cf_run *r, const struct cf_launch_request *a)
{
    struct spec_env *env = NULL;
    struct buf plain = {0};
    struct hf_error err;
    size_t count;

    if (cf_env(a->env, 0, &env, &count, &err) < 0) {
        run_failed(r, &err);
        return;
    }
    free(env);
    if (a->argv != NULL)
        quote_argv(&plain, a->argv);
    cf_wrap_command(&r->line, a->argv != NULL ? buf_cstr(&plain) : a->command, a->cwd, a->env);
    buf_fini(&plain);
    cf_session_want(r->cf, a->session, &r->want);
}

/* --- as a process ----------------------------------------------------------------------------- */

static bool process_ahead(struct follow *f)
{
    return run_ready(run_of_follow(f));
}

static void process_bytes(struct follow *f, const struct slice *s)
{
    run_bytes(run_of_follow(f), s);
}

static void process_gap(struct follow *f, uint64_t from, uint64_t to)
{
    run_gap(run_of_follow(f), from, to);
}

/*
 * No client knows its id, so drop the record. A process of a session is kept: what it left behind
 * ends with the session.
 */
static bool process_exited(struct follow *f, const struct exit_record *x)
{
    struct cf_run *r = run_of_follow(f);
    struct session_followed ended = {.exit = *x};

    if (!r->grouped)
        process_forget(f->process);
    run_done(r, &ended);
    return false;
}

static const struct follow_ops process_ops = {
    .ahead = process_ahead,
    .bytes = process_bytes,
    .gap = process_gap,
    .exited = process_exited,
};

static void run_on_launched(void *arg, struct process *p, const struct hf_error *err)
{
    struct follow_open o = {.viewer = viewer_own_client(0), .gathers = true};
    struct cf_run *r = arg;
    struct hf_error why;

    o.viewer.internal = !r->attached;
    r->launch = NULL;
    if (p == NULL) {
        run_failed(r, err);
        return;
    }
    if (follow_attach(&r->follow, &process_ops, p, &o, &why) < 0) {
        process_terminate(p, -1, "api", NULL, NULL);
        run_failed(r, &why);
        return;
    }
    run_started(r, NULL);
}

void cf_run_begin(struct cf_run *r, const struct cf_run_ops *ops,
                  const struct cf_launch_request *request)
{
    r->cf = (struct cf *)r->follow.call.base;
    r->ops = ops;
    r->timeout_ms = request->timeout_ms;
    r->grouped = request->group != NULL;
    r->attached = request->kill_on_detach;
    r->want = (struct cf_want){.fn = run_on_session, .arg = r};
    if (request->session != NULL)
        run_in_session(r, request);
    else
        cf_launch(r->cf, request, run_on_launched, r, &r->launch);
}
