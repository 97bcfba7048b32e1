/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_control.c - resize, signal and stop. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "base/signals.h"
#include "dialects/common/request_checks.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_control_request {
    const char *process_id, *target;
    json_t *signal;
    int64_t rows, cols, grace_ms;
    bool forget;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct mcp_tool_control_request, member, __VA_ARGS__)
#define F_ID F(STR, process_id, .min = 1, .required = true)
#define ANY_INT .min = INT64_MIN, .max = INT64_MAX, .required = true

/* --- resize --------------------------------------------------------------------- */

static int resize(const struct mcp_call *c, const json_t *arguments, struct process **p,
                  struct hf_error *err)
{
    static const struct json_field fields[] = {F_ID, F(INT, rows, ANY_INT), F(INT, cols, ANY_INT)};
    struct mcp_tool_control_request a = {0};

    if (json_decode(arguments, fields, 3, &a, err) < 0 || check_size(a.rows, a.cols, err) < 0 ||
        (*p = tool_process(c, a.process_id, err)) == NULL)
        return -1;
    return process_resize(*p, a.rows, a.cols, "api", err);
}

void tool_resize(struct mcp_call *c, const json_t *arguments)
{
    struct hf_error err = {0};
    struct process *p = NULL;
    struct process_view v;
    struct json_out o;

    if (resize(c, arguments, &p, &err) < 0) {
        tool_fail(c, &err);
        return;
    }
    process_view(p, &v);
    o = tool_open(c);
    json_kstr(&o, "process_id", v.id);
    json_kint(&o, "rows", v.rows);
    json_kint(&o, "cols", v.cols);
    buf_printf(&mcp_call_mcp(c)->text, "[%d rows, %d columns]", v.rows, v.cols);
    tool_send(c, &o);
}

/* --- signal ------------------------------------------------------------------------ */

struct mcp_tool_control_sending {
    struct job job;
    int signum;
    enum signal_target target;
    char id[64];
};

static void sending_free(struct mcp_tool_control_sending *s)
{
    mcp_job_fini(&s->job);
    free(s);
}

/* It is in progress: the callback is owed. */
static void sending_end(struct job *j, enum mcp_call_end why)
{
    mcp_job_leave(j);
    if (why == MCP_CALL_FREE)
        sending_free(list_entry(j, struct mcp_tool_control_sending, job));
}

static const struct job_kind sending_kind = {.end = sending_end};

static void sending_on_done(void *arg, int rc, const struct hf_error *err)
{
    struct mcp_tool_control_sending *s = arg;
    struct mcp_call *c = s->job.call;
    struct mcp_tool_control_sending done = *s;
    struct json_out o;

    sending_free(s);
    if (c == NULL)
        return;
    if (rc < 0) {
        tool_fail(c, err);
        return;
    }
    o = tool_open(c);
    json_kstr(&o, "process_id", done.id);
    json_kstr(&o, "signal", signal_name(done.signum));
    json_kstr(&o, "target", check_signal_target_name(done.target));
    buf_printf(&mcp_call_mcp(c)->text, "[%s was sent]", signal_name(done.signum));
    tool_send(c, &o);
}

static int signal_begin(struct mcp_call *c, const json_t *arguments, struct hf_error *err)
{
    static const struct json_field fields[] = {F_ID, F(ANY, signal, .required = true),
                                               F(STR, target)};
    struct mcp_tool_control_request a = {0};
    enum signal_target target;
    struct process_view v;
    struct process *p;
    struct mcp_tool_control_sending *s;
    int signum;

    if (json_decode(arguments, fields, 3, &a, err) < 0 ||
        check_signal_decode(a.signal, a.target, &signum, &target, err) < 0 ||
        check_signal_role(signum, c->exchange->role, err) < 0 ||
        (p = tool_process(c, a.process_id, err)) == NULL)
        return -1;
    process_view(p, &v);
    s = hf_xalloc(sizeof *s);
    s->signum = signum;
    s->target = target;
    snprintf(s->id, sizeof s->id, "%s", v.id);
    if (mcp_job_begin(&s->job, c, &sending_kind, err) < 0) {
        free(s);
        return -1;
    }
    if (process_signal(p, signum, target, sending_on_done, s, err) == 0)
        return 0;
    sending_free(s);
    return -1;
}

void tool_signal(struct mcp_call *c, const json_t *arguments)
{
    struct hf_error err = {0};

    if (signal_begin(c, arguments, &err) < 0)
        tool_fail(c, &err);
}

/* --- stop ------------------------------------------------------------------------------ */

struct mcp_tool_control_stopping {
    struct job job;
    struct process *process; /* referenced */
};

static void stopping_free(struct mcp_tool_control_stopping *s)
{
    process_unref(s->process);
    mcp_job_fini(&s->job);
    free(s);
}

/* Once requested, the termination continues even if the call ends. */
static void stopping_end(struct job *j, enum mcp_call_end why)
{
    struct mcp_tool_control_stopping *s = list_entry(j, struct mcp_tool_control_stopping, job);

    mcp_job_leave(j);
    if (why != MCP_CALL_FREE)
        return;
    process_end_cancel(s->process, s);
    stopping_free(s);
}

static const struct job_kind stopping_kind = {.end = stopping_end};

static void write_survivors(struct json_out *o, const struct survivors *s)
{
    json_key(o, "survivors");
    json_open(o, '[');
    for (size_t i = 0; s != NULL && i < s->count; i++) {
        json_open(o, '{');
        json_kint(o, "pid", s->list[i].pid);
        json_kstr(o, "command", s->list[i].comm);
        json_close(o, '}');
    }
    json_close(o, ']');
}

static void stopping_reply(struct mcp_call *c, const struct process_view *v,
                           const struct survivors *s)
{
    struct json_out o = tool_open(c);
    struct buf *text = &mcp_call_mcp(c)->text;

    tool_write_state(&o, v);
    write_survivors(&o, s);
    tool_put_state(text, v);
    if (s != NULL && s->total > 0)
        buf_printf(text, "\n[%zu processes could not be terminated]", s->total);
    tool_send(c, &o);
}

static void stopping_on_ended(void *arg, struct process *p, const struct survivors *left)
{
    struct mcp_tool_control_stopping *s = arg;
    struct mcp_call *c = s->job.call;
    struct process_view v;

    process_ref(p);
    stopping_free(s);
    process_view(p, &v);
    if (c != NULL)
        stopping_reply(c, &v, left);
    process_unref(p);
}

void tool_stop(struct mcp_call *c, const json_t *arguments)
{
    static const struct json_field fields[] = {
        F_ID, F(INT, grace_ms, .min = 0, .max = LIMIT_DURATION_MS), F(BOOL, forget)};
    struct mcp_tool_control_request a = {.grace_ms = -1};
    struct hf_error err = {0};
    struct process *p;
    struct mcp_tool_control_stopping *s;

    if (json_decode(arguments, fields, 3, &a, &err) < 0 ||
        (p = tool_process(c, a.process_id, &err)) == NULL) {
        tool_fail(c, &err);
        return;
    }
    s = hf_xalloc(sizeof *s);
    if (mcp_job_begin(&s->job, c, &stopping_kind, &err) < 0) {
        free(s);
        tool_fail(c, &err);
        return;
    }
    s->process = process_ref(p);
    if (a.forget)
        process_delete(p, a.grace_ms, "api", stopping_on_ended, s);
    else
        process_terminate(p, a.grace_ms, "api", stopping_on_ended, s);
}
