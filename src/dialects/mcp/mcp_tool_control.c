/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_control.c - resize, signal and stop. Layer: dialects.
 */
#include "base/limits.h"
#include "base/signals.h"
#include "dialects/common/process_json.h"
#include "dialects/common/request_checks.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_control_request {
    const char *target;
    json_t *signal;
    int64_t rows, cols, grace_ms;
    bool forget;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct mcp_tool_control_request, member, __VA_ARGS__)
#define ANY_INT .min = INT64_MIN, .max = INT64_MAX, .required = true

/* --- resize --------------------------------------------------------------------- */

static int resize(const struct mcp_call *c, const json_t *arguments, struct process **p,
                  struct hf_error *err)
{
    static const struct json_field fields[] = {F(INT, rows, ANY_INT), F(INT, cols, ANY_INT)};
    struct mcp_tool_control_request a = {0};

    if (json_decode_known(arguments, fields, 2, &a, err) < 0 ||
        check_size(a.rows, a.cols, err) < 0 || (*p = tool_process(c, arguments, err)) == NULL)
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
    struct mcp_call call;
    int signum;
    enum signal_target target;
    char id[64];
};

/* It is in progress: the callback is owed. */
static const struct call_kind sending_kind = {
    .release = mcp_call_release, .drain = mcp_call_drain, .stays = true};

static void sending_on_done(void *arg, int rc, const struct hf_error *err)
{
    struct mcp_tool_control_sending *s = arg;
    struct mcp_call *c = &s->call;
    struct json_out o;

    if (rc < 0) {
        tool_fail(c, err);
        return;
    }
    o = tool_open(c);
    json_kstr(&o, "process_id", s->id);
    json_kstr(&o, "signal", signal_name(s->signum));
    json_kstr(&o, "target", check_signal_target_name(s->target));
    buf_printf(&mcp_call_mcp(c)->text, "[%s was sent]", signal_name(s->signum));
    tool_send(c, &o);
}

static int signal_begin(struct mcp_call *c, const json_t *arguments, struct hf_error *err)
{
    static const struct json_field fields[] = {F(ANY, signal, .required = true), F(STR, target)};
    struct mcp_tool_control_request a = {0};
    enum signal_target target;
    struct process_view v;
    struct process *p;
    struct mcp_tool_control_sending *s;
    int signum;

    if (json_decode_known(arguments, fields, 2, &a, err) < 0 ||
        check_signal_decode(a.signal, a.target, &signum, &target, err) < 0 ||
        check_signal_role(signum, c->exchange->role, err) < 0 ||
        (p = tool_process(c, arguments, err)) == NULL ||
        (s = mcp_call_begin(c, &sending_kind, sizeof *s, err)) == NULL)
        return -1;
    process_view(p, &v);
    s->signum = signum;
    s->target = target;
    snprintf(s->id, sizeof s->id, "%s", v.id);
    if (process_signal(p, signum, target, sending_on_done, s, err) == 0)
        return 0;
    call_end(&s->call.call);
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
    struct mcp_call call;
    struct process *process; /* referenced */
};

static void stopping_release(struct call *c)
{
    struct mcp_tool_control_stopping *s =
        list_entry(c, struct mcp_tool_control_stopping, call.call);

    process_end_cancel(s->process, s);
    process_unref(s->process);
    mcp_call_release(c);
}

/* Once requested, the termination continues even if the call ends. */
static const struct call_kind stopping_kind = {
    .release = stopping_release, .drain = mcp_call_drain, .stays = true};

static void stopping_on_ended(void *arg, struct process *p, const struct survivors *left)
{
    struct mcp_call *c = &((struct mcp_tool_control_stopping *)arg)->call;
    struct json_out o = tool_open(c);
    struct buf *text = &mcp_call_mcp(c)->text;
    struct process_view v;

    process_view(p, &v);
    tool_write_state(&o, &v);
    process_json_survivors(&o, left);
    tool_put_state(text, &v);
    if (left != NULL && left->total > 0)
        buf_printf(text, "\n[%zu processes could not be terminated]", left->total);
    tool_send(c, &o);
}

void tool_stop(struct mcp_call *c, const json_t *arguments)
{
    static const struct json_field fields[] = {F(INT, grace_ms, .min = 0, .max = LIMIT_DURATION_MS),
                                               F(BOOL, forget)};
    struct mcp_tool_control_request a = {.grace_ms = -1};
    struct hf_error err = {0};
    struct process *p;
    struct mcp_tool_control_stopping *s;

    if (json_decode_known(arguments, fields, 2, &a, &err) < 0 ||
        (p = tool_process(c, arguments, &err)) == NULL ||
        (s = mcp_call_begin(c, &stopping_kind, sizeof *s, &err)) == NULL) {
        tool_fail(c, &err);
        return;
    }
    s->process = process_ref(p);
    if (a.forget)
        process_delete(p, a.grace_ms, "api", stopping_on_ended, s);
    else
        process_terminate(p, a.grace_ms, "api", stopping_on_ended, s);
}
