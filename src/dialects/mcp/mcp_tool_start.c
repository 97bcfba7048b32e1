/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_start.c - start_process. Layer: dialects.
 */
#include "base/mem.h"
#include "dialects/mcp/mcp_tool_spawn.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_start {
    struct job job;
    bool cancelled;
};

static void start_free(struct mcp_tool_start *s)
{
    mcp_job_fini(&s->job);
    free(s);
}

/* A start takes milliseconds, and its callback is owed. */
static void start_end(struct job *j, enum mcp_call_end why)
{
    struct mcp_tool_start *s = list_entry(j, struct mcp_tool_start, job);

    s->cancelled = why == MCP_CALL_CANCELLED;
    mcp_job_leave(j);
    if (why == MCP_CALL_FREE)
        start_free(s);
}

static const struct job_kind start_kind = {.end = start_end};

static void ignore_end(void *arg, struct process *p, const struct survivors *s)
{
    (void)arg, (void)p, (void)s;
}

static void start_reply(struct mcp_call *c, struct process *p)
{
    struct json_out o = tool_open(c);
    struct process_view v;

    process_view(p, &v);
    json_kstr(&o, "process_id", v.id);
    json_key(&o, "process");
    process_write_json(p, &o);
    buf_printf(&mcp_call_mcp(c)->text, "[%s is running, pid %d]", v.id, (int)v.pid);
    tool_send(c, &o);
}

static void start_on_spawned(void *arg, struct process *p, const struct hf_error *why)
{
    struct mcp_tool_start *s = arg;
    struct mcp_call *c = s->job.call;
    bool cancelled = s->cancelled;

    start_free(s);
    if (p != NULL && cancelled)
        process_terminate(p, -1, "api", ignore_end, NULL);
    if (c == NULL)
        return;
    if (p == NULL)
        tool_fail(c, why);
    else
        start_reply(c, p);
}

static int start(struct mcp_call *c, const struct tool_spawn *t, struct hf_error *err)
{
    struct mcp_tool_start *s = hf_xalloc(sizeof *s);
    int rc = mcp_job_begin(&s->job, c, &start_kind, err);

    if (rc < 0) {
        free(s);
        return rc;
    }
    rc = engine_spawn(mcp_call_mcp(c)->engine, &t->request.spec, start_on_spawned, s, err);
    if (rc < 0)
        start_free(s);
    return rc;
}

void tool_start_process(struct mcp_call *c, const json_t *arguments)
{
    struct tool_spawn t = {0};
    struct hf_error err = {0};

    if (mcp_check_open(mcp_call_mcp(c), &err) < 0 ||
        tool_spawn_decode(&t, arguments, false, &err) < 0 || start(c, &t, &err) < 0)
        tool_fail(c, &err);
    tool_spawn_fini(&t);
}
