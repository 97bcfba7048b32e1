/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_session.c - run_in_session, list_sessions, end_session: a shell that keeps its state
 *
 * A session that does not exist yet is created by its first command. Cancelling the call aborts the
 * command and spares the shell; a client that disconnects leaves the command running. Layer:
 * dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/process_json.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_tools.h"
#include "engine/session/session.h"

/* --- run_in_session --------------------------------------------------------------------- */

struct mcp_tool_session {
    struct mcp_call call;
    struct session_run *run;              /* NULL: not begun, or over */
    char *session, *command, *input, *id; /* id: of the session, once it exists */
    int64_t timeout_ms, max_output_bytes;
};

static void session_release(struct call *c)
{
    struct mcp_tool_session *t = list_entry(c, struct mcp_tool_session, call.call);

    if (t->run != NULL)
        session_run_leave(t->run, false);
    free(t->session);
    free(t->command);
    free(t->input);
    free(t->id);
    mcp_call_release(c);
}

static void session_disconnected(struct call *c)
{
    struct mcp_tool_session *t = list_entry(c, struct mcp_tool_session, call.call);

    if (t->run != NULL)
        session_run_leave(t->run, t->call.cancelled);
    t->run = NULL;
}

/* The shell's start is short, and its callback is owed. */
static const struct call_kind creating_kind = {
    .release = session_release, .drain = mcp_call_drain, .stays = true};
static const struct call_kind running_kind = {
    .release = session_release, .disconnected = session_disconnected, .drain = mcp_call_drain};

static void put_exit(struct buf *text, const struct session_result *r)
{
    if (text->len > 0 && buf_data(text)[text->len - 1] != '\n')
        buf_putc(text, '\n');
    if (r->exit.kind == EXIT_TIMED_OUT)
        buf_puts(text, "[timed out]");
    else if (r->exit.exit_code >= 0)
        buf_printf(text, "[exit code %d]", r->exit.exit_code);
    else
        buf_printf(text, "[%s]", exit_kind_name(r->exit.kind));
    if (r->shell_replaced)
        buf_puts(text, " [the shell was replaced: its variables and directory are lost]");
}

static void session_on_done(void *arg, const struct session_result *r, const struct hf_error *err)
{
    struct mcp_tool_session *t = arg;
    struct mcp_call *c = &t->call;
    struct json_out o;

    t->run = NULL;
    if (r == NULL) {
        tool_fail(c, err);
        return;
    }
    o = tool_open(c);
    json_kstr(&o, "session_id", t->id);
    json_ku64(&o, "number", r->number);
    json_kstr(&o, "process_id", r->process_id);
    process_json_exit(&o, &r->exit);
    json_kbool(&o, "timed_out", r->exit.kind == EXIT_TIMED_OUT);
    tool_write_output(&o, &mcp_call_mcp(c)->text, r->all);
    json_key(&o, "cwd");
    if (r->cwd.len > 0)
        json_strn(&o, r->cwd.bytes, r->cwd.len);
    else
        json_nil(&o);
    json_kbool(&o, "shell_replaced", r->shell_replaced);
    json_ku64(&o, "from", r->from);
    json_ku64(&o, "next", r->to);
    put_exit(&mcp_call_mcp(c)->text, r);
    tool_send(c, &o);
}

static void session_begin(struct mcp_tool_session *t, struct session *s)
{
    const struct session_run_spec spec = {
        .command = t->command,
        .source = SOURCE_AGENT,
        .timeout_ms = t->timeout_ms,
        .grace_ms = -1,
        .input = t->input,
        .input_len = t->input != NULL ? strlen(t->input) : 0,
        .max_output_bytes = (uint64_t)t->max_output_bytes,
    };
    struct hf_error err = {0};

    t->id = hf_xstrdup(session_id(s));
    t->call.call.kind = &running_kind;
    if (session_run(s, &spec, session_on_done, t, &t->run, &err) < 0)
        tool_fail(&t->call, &err);
    else
        mcp_call_watch_progress(&t->call, session_shell(s));
}

static void session_on_created(void *arg, struct session *s, const struct hf_error *err)
{
    struct mcp_tool_session *t = arg;

    if (s == NULL)
        tool_fail(&t->call, err);
    else if (t->call.exchange == NULL)
        call_end(&t->call.call);
    else
        session_begin(t, s);
}

struct session_arguments {
    const char *session, *command, *cwd, *input;
    int64_t timeout_ms, max_output_bytes;
};

static int decode(struct session_arguments *a, const json_t *arguments, struct hf_error *err)
{
    static const struct json_field fields[] = {
        JSON_FIELD_AS("session_id", STR, struct session_arguments, session, .min = 1),
        JSON_FIELD_AS("command", STR, struct session_arguments, command, .min = 1,
                      .required = true),
        JSON_FIELD_AS("cwd", STR, struct session_arguments, cwd, .min = 1),
        JSON_FIELD_AS("input", STR, struct session_arguments, input),
        JSON_FIELD_AS("timeout_ms", INT, struct session_arguments, timeout_ms,
                      .max = LIMIT_DURATION_MS),
        JSON_FIELD_AS("max_output_bytes", INT, struct session_arguments, max_output_bytes,
                      .max = LIMIT_MCP_OUTPUT_MAX_BYTES),
    };

    *a = (struct session_arguments){.max_output_bytes = LIMIT_MCP_OUTPUT_BYTES};
    return json_decode_known(arguments, fields, sizeof fields / sizeof *fields, a, err);
}

static int run_begin(struct mcp_call *c, const struct session_arguments *a, struct hf_error *err)
{
    struct engine *e = c->call.base->engine;
    struct session *s = a->session != NULL ? session_find(e, a->session, NULL) : NULL;
    const struct session_spec spec = {.id = a->session, .cwd = a->cwd};
    struct mcp_tool_session *t = mcp_call_begin(c, &creating_kind, sizeof *t, err);

    if (t == NULL)
        return -1;
    t->command = hf_xstrdup(a->command);
    t->input = hf_xstrdup(a->input);
    t->timeout_ms = a->timeout_ms;
    t->max_output_bytes = a->max_output_bytes;
    if (s != NULL) {
        session_begin(t, s);
        return 0;
    }
    if (session_create(e, &spec, session_on_created, t, err) == 0)
        return 0;
    call_end(&t->call.call);
    return -1;
}

void tool_run_in_session(struct mcp_call *c, const json_t *arguments)
{
    struct session_arguments a;
    struct hf_error err = {0};

    if (dialect_check_open(c->call.base, &err) < 0 || decode(&a, arguments, &err) < 0 ||
        run_begin(c, &a, &err) < 0)
        tool_fail(c, &err);
}

/* --- list_sessions ---------------------------------------------------------------------- */

void tool_list_sessions(struct mcp_call *c, const json_t *arguments)
{
    struct buf *text = &mcp_call_mcp(c)->text;
    struct json_out o = tool_open(c);
    struct session *s = NULL;

    (void)arguments;
    json_kopen(&o, "sessions", '[');
    while ((s = session_next(c->call.base->engine, s)) != NULL) {
        const char *cwd = session_cwd(s);

        session_write_json(s, &o);
        buf_printf(text, "%s  %s  %s\n", session_id(s), session_is_busy(s) ? "running" : "idle",
                   cwd != NULL ? cwd : "");
    }
    json_close(&o, ']');
    if (text->len == 0)
        buf_puts(text, "no sessions");
    tool_send(c, &o);
}

/* --- end_session ------------------------------------------------------------------------ */

struct mcp_tool_end {
    struct mcp_call call;
    struct session *session; /* NULL: it is deleted */
    char *id;
};

static void end_release(struct call *c)
{
    struct mcp_tool_end *t = list_entry(c, struct mcp_tool_end, call.call);

    if (t->session != NULL)
        session_delete_leave(t->session, t);
    free(t->id);
    mcp_call_release(c);
}

static const struct call_kind ending_kind = {
    .release = end_release, .drain = mcp_call_drain, .stays = true};

static void end_on_done(void *arg, const struct survivors *v, size_t ended)
{
    struct mcp_tool_end *t = arg;
    struct mcp_call *c = &t->call;
    struct json_out o;

    t->session = NULL;
    o = tool_open(c);
    json_kstr(&o, "session_id", t->id);
    json_ku64(&o, "ended_processes", ended);
    json_ku64(&o, "survivors", v->total);
    buf_printf(&mcp_call_mcp(c)->text, "[%s has ended]", t->id);
    tool_send(c, &o);
}

void tool_end_session(struct mcp_call *c, const json_t *arguments)
{
    static const struct json_field fields[] = {
        {.name = "session_id", .kind = JSON_F_STR, .min = 1, .required = true}};
    struct hf_error err = {0};
    const char *id = NULL;
    struct session *s;
    struct mcp_tool_end *t;

    if (json_decode_known(arguments, fields, 1, &id, &err) < 0 ||
        (s = session_find(c->call.base->engine, id, &err)) == NULL ||
        (t = mcp_call_begin(c, &ending_kind, sizeof *t, &err)) == NULL) {
        tool_fail(c, &err);
        return;
    }
    t->session = s;
    t->id = hf_xstrdup(id);
    session_delete(s, -1, end_on_done, t);
}
