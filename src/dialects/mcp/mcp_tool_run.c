/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_run.c - run_command: start, wait, reply with the output
 *
 * An internal viewer reads the output; it pauses the process rather than miss a byte. Head and tail
 * are collected as output arrives. Cancelling the call terminates the command. A client that
 * disconnects leaves it running: after a network failure, the client finds it in the list. Layer:
 * dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/mcp/mcp_tool_spawn.h"
#include "dialects/mcp/mcp_tools.h"
#include "engine/stream/viewer.h"

struct mcp_tool_run {
    struct job job;
    struct process *process; /* NULL until started; referenced */
    struct viewer *viewer;
    struct headtail output;
    struct timer *yield; /* NULL: to the end, or not started yet */
    int64_t yield_ms;    /* -1: to the end */
    bool cancelled;
};

static void run_free(struct mcp_tool_run *r)
{
    viewer_detach(r->viewer);
    process_unref(r->process);
    headtail_fini(&r->output);
    timer_close(r->yield);
    mcp_job_fini(&r->job);
    free(r);
}

static void ignore_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)arg, (void)p, (void)s;
}

static void run_end(struct job *j, enum mcp_call_end why)
{
    struct mcp_tool_run *r = list_entry(j, struct mcp_tool_run, job);

    r->cancelled = why == MCP_CALL_CANCELLED;
    mcp_job_leave(j);
    if (r->process == NULL && why != MCP_CALL_FREE)
        return; /* run_on_spawned() handles it */
    if (r->cancelled)
        process_terminate(r->process, -1, "api", ignore_end, NULL);
    run_free(r);
}

static const struct job_kind run_kind = {.end = run_end};

/* Replies with the output so far and the status; frees the run. */
static void run_reply(struct mcp_tool_run *r)
{
    struct mcp_call *c = r->job.call;
    struct buf *text = &mcp_call_mcp(c)->text;
    struct json_out o = tool_open(c);
    struct process_view v;

    process_view(r->process, &v);
    tool_write_state(&o, &v);
    json_kbool(&o, "timed_out", !v.running && v.exit->kind == EXIT_TIMED_OUT);
    tool_write_output(&o, text, &r->output);
    json_ku64(&o, "next", viewer_offset(r->viewer));
    tool_put_state(text, &v);
    run_free(r);
    tool_send(c, &o);
}

static bool run_ready(void *arg)
{
    (void)arg;
    return true;
}

static void run_bytes(void *arg, const struct slice *s)
{
    struct mcp_tool_run *r = arg;

    headtail_feed(&r->output, s->bytes, s->len);
}

/* A lossless viewer that starts at byte 0 misses nothing; if it did, we would count it. */
static void run_gap(void *arg, uint64_t from, uint64_t to)
{
    struct mcp_tool_run *r = arg;

    r->output.total += to - from;
}

static void run_exited(void *arg, const struct exit_record *x)
{
    (void)x;
    run_reply(arg);
}

static const struct viewer_ops run_ops = {
    .ready = run_ready,
    .bytes = run_bytes,
    .gap = run_gap,
    .exited = run_exited,
};

static void run_on_yield(struct timer *t, void *arg)
{
    (void)t;
    run_reply(arg);
}

static void run_started(struct mcp_tool_run *r, struct mcp_call *c)
{
    mcp_call_watch_progress(c, r->process);
    if (r->yield_ms < 0)
        return;
    r->yield = timer_new(mcp_call_loop(c), run_on_yield, r);
    timer_start(r->yield, (uint64_t)r->yield_ms);
}

static int run_attach(struct mcp_tool_run *r, struct hf_error *err)
{
    const struct viewer_options o = viewer_own(0);

    return viewer_attach(r->process, &o, &run_ops, r, &r->viewer, err);
}

static void run_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    struct mcp_tool_run *r = arg;
    struct mcp_call *c = r->job.call;
    struct hf_error err = {0};

    if (p != NULL && c != NULL) {
        r->process = process_ref(p);
        if (run_attach(r, &err) == 0) {
            run_started(r, c);
            return;
        }
        why = &err;
    }
    if (p != NULL && (c != NULL || r->cancelled))
        process_terminate(p, -1, "api", ignore_end, NULL);
    run_free(r);
    if (c != NULL)
        tool_fail(c, why);
}

static int run_start(struct mcp_call *c, struct tool_spawn *t, struct hf_error *err)
{
    struct mcp_tool_run *r = hf_xalloc(sizeof *r);
    int rc = mcp_job_begin(&r->job, c, &run_kind, err);

    if (rc < 0) {
        free(r);
        return rc;
    }
    r->yield_ms = t->yield_ms;
    headtail_init(&r->output, (size_t)t->request.max_output_bytes);
    rc = engine_spawn(mcp_call_mcp(c)->engine, &t->request.spec, run_on_spawned, r, err);
    if (rc < 0)
        run_free(r);
    return rc;
}

void tool_run_command(struct mcp_call *c, const json_t *arguments)
{
    struct tool_spawn t = {0};
    struct hf_error err = {0};

    if (mcp_check_open(mcp_call_mcp(c), &err) < 0 ||
        tool_spawn_decode(&t, arguments, true, &err) < 0 || run_start(c, &t, &err) < 0)
        tool_fail(c, &err);
    tool_spawn_fini(&t);
}
