/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tools.c - tools/list and tools/call. Layer: dialects.
 */
#include "dialects/mcp/mcp_tools.h"

#include <assert.h>
#include <string.h>

#include "base/embed.h"
#include "base/signals.h"
#include "dialects/common/process_json.h"
#include "dialects/mcp/mcp_server.h"

#define TOOLS_TTL_MS (60 * 60 * 1000) /* they change only with the binary */

/* In the order of mcp_tools.json. */
const struct tool mcp_tool_list[] = {
    {"run_command", ROLE_OWN, tool_run_command},
    {"start_process", ROLE_OWN, tool_start_process},
    {"list_processes", ROLE_WATCH, tool_list_processes},
    {"read_output", ROLE_WATCH, tool_read_output},
    {"send_input", ROLE_TYPE, tool_send_input},
    {"wait_for", ROLE_WATCH, tool_wait_for},
    {"read_screen", ROLE_WATCH, tool_read_screen},
    {"resize", ROLE_TYPE, tool_resize},
    {"signal", ROLE_TYPE, tool_signal},
    {"stop", ROLE_OWN, tool_stop},
    {"run_in_session", ROLE_OWN, tool_run_in_session},
    {"list_sessions", ROLE_WATCH, tool_list_sessions},
    {"end_session", ROLE_OWN, tool_end_session},
};
const size_t mcp_tool_count = sizeof mcp_tool_list / sizeof *mcp_tool_list;

/* As a tree it occupies 200 KiB, so it is parsed when the first client uses MCP. */
const json_t *tools_describe(struct mcp *m)
{
    uintptr_t start = (uintptr_t)embed_mcp_tools_json_start;

    if (m->tools == NULL)
        m->tools = json_parse(embed_mcp_tools_json_start,
                              (size_t)((uintptr_t)embed_mcp_tools_json_end - start), NULL);
    assert(json_array_size(m->tools) == mcp_tool_count);
    return m->tools;
}

void tools_list(struct mcp_call *c, const json_t *params)
{
    const json_t *tools = tools_describe(mcp_call_mcp(c));
    struct json_out o;

    if (json_object_get(params, "cursor") != NULL) {
        mcp_call_fail(c, RPC_INVALID_PARAMS, NULL,
                      "there is only one page of tools; omit \"cursor\"");
        return;
    }
    o = mcp_call_open(c);
    json_kopen(&o, "tools", '[');
    for (size_t i = 0; i < mcp_tool_count; i++) {
        if (c->exchange->role >= mcp_tool_list[i].role)
            json_value(&o, json_array_get(tools, i));
    }
    json_close(&o, ']');
    server_write_cache(c, &o, TOOLS_TTL_MS);
    mcp_call_send(c, &o);
}

/* The index in the table, or -1. */
static int tool_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < mcp_tool_count; i++) {
        if (strcmp(mcp_tool_list[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

/* The description names every argument: a misspelt one must not be ignored. */
static int check_arguments(const json_t *tool, const json_t *arguments, struct hf_error *err)
{
    const json_t *known = json_object_get(json_object_get(tool, "inputSchema"), "properties");
    const char *name;
    json_t *v;

    json_object_foreach ((json_t *)arguments, name, v) {
        if (json_object_get(known, name) == NULL)
            return hf_fail_field(err, HF_E_unknown_field, name,
                                 "\"%.60s\" is not an argument of %s; check its spelling", name,
                                 json_string_value(json_object_get(tool, "name")));
    }
    return 0;
}

void tools_call(struct mcp_call *c, const json_t *params)
{
    const char *name = json_string_value(json_object_get(params, "name"));
    json_t *arguments = json_object_get(params, "arguments");
    json_auto_t *none = json_object();
    int i = tool_find(name);
    struct hf_error err = {0};

    if (name == NULL) {
        mcp_call_fail(c, RPC_INVALID_PARAMS, NULL, "\"name\" must be the name of a tool");
    } else if (i < 0) {
        mcp_call_fail(c, RPC_INVALID_PARAMS, NULL, "Unknown tool: %.80s", name);
    } else if (c->exchange->role < mcp_tool_list[i].role) {
        mcp_call_fail(c, RPC_INVALID_PARAMS, "{\"code\":\"forbidden\"}",
                      "the tool %s needs the role %s; this token has %s", name,
                      http_role_name(mcp_tool_list[i].role), http_role_name(c->exchange->role));
    } else if (arguments != NULL && !json_is_object(arguments)) {
        mcp_call_fail(c, RPC_INVALID_PARAMS, NULL, "\"arguments\" must be an object");
    } else if (check_arguments(json_array_get(tools_describe(mcp_call_mcp(c)), (size_t)i),
                               arguments, &err) < 0) {
        tool_fail(c, &err);
    } else {
        mcp_tool_list[i].fn(c, arguments != NULL ? arguments : none);
    }
}

/* --- results ------------------------------------------------------------------------ */

struct json_out tool_open(struct mcp_call *c)
{
    struct json_out o = mcp_call_open(c);

    buf_clear(&mcp_call_mcp(c)->text);
    json_kopen(&o, "structuredContent", '{');
    return o;
}

static void write_content(struct json_out *o, const char *text, size_t len, bool is_error)
{
    json_kopen(o, "content", '[');
    json_open(o, '{');
    json_kstr(o, "type", "text");
    json_key(o, "text");
    json_strn(o, text, len);
    json_close(o, '}');
    json_close(o, ']');
    json_kbool(o, "isError", is_error);
}

void tool_send(struct mcp_call *c, struct json_out *o)
{
    const struct buf *text = &mcp_call_mcp(c)->text;

    json_close(o, '}');
    write_content(o, buf_data(text), text->len, false);
    mcp_call_send(c, o);
}

void tool_fail(struct mcp_call *c, const struct hf_error *err)
{
    struct buf *text = &mcp_call_mcp(c)->text;
    struct json_out o = mcp_call_open(c);

    buf_clear(text);
    buf_printf(text, "%s: %s", hf_code_name(err->code), err->detail);
    write_content(&o, buf_data(text), text->len, true);
    mcp_call_send(c, &o);
}

struct process *tool_process(const struct mcp_call *c, const json_t *arguments,
                             struct hf_error *err)
{
    static const struct json_field fields[] = {
        {.name = "process_id", .kind = JSON_F_STR, .min = 1, .required = true}};
    const char *id = NULL;

    if (json_decode_known(arguments, fields, 1, &id, err) < 0)
        return NULL;
    return engine_find(c->call.base->engine, id, err);
}

void tool_write_state(struct json_out *o, const struct process_view *v)
{
    json_kstr(o, "process_id", v->id);
    json_kstr(o, "status", v->running ? "running" : "exited");
    process_json_exit(o, process_exit_of(v));
}

void tool_write_output(struct json_out *o, struct buf *text, struct headtail *h)
{
    struct headtail_view v;

    headtail_peek(h, &v);
    if (v.omitted == 0 && v.tail_len > 0) { /* the two halves meet: nothing was omitted */
        buf_put(text, v.head, v.head_len);
        buf_put(text, v.tail, v.tail_len);
        json_key(o, "output");
        json_strn(o, buf_data(text) + text->len - v.head_len - v.tail_len, v.head_len + v.tail_len);
        json_kstr(o, "output_tail", "");
        json_ku64(o, "omitted_bytes", 0);
        return;
    }
    json_key(o, "output");
    json_strn(o, v.head, v.head_len);
    json_key(o, "output_tail");
    json_strn(o, v.tail, v.tail_len);
    json_ku64(o, "omitted_bytes", v.omitted);
    buf_put(text, v.head, v.head_len);
    if (v.omitted > 0)
        buf_printf(text, "\n[... %llu bytes omitted ...]\n", (unsigned long long)v.omitted);
    buf_put(text, v.tail, v.tail_len);
}

void tool_put_state(struct buf *text, const struct process_view *v)
{
    const struct exit_record *x = process_exit_of(v);

    if (text->len > 0 && buf_data(text)[text->len - 1] != '\n')
        buf_putc(text, '\n');
    if (x->kind == EXIT_NONE)
        buf_printf(text, "[%s is running]", v->id);
    else if (x->kind == EXIT_EXITED)
        buf_printf(text, "[exit code %d]", x->exit_code);
    else if (x->signum > 0)
        buf_printf(text, "[%s by %s, exit code %d]", exit_kind_name(x->kind),
                   signal_name(x->signum), x->exit_code);
    else
        buf_printf(text, "[%s]", exit_kind_name(x->kind));
}
