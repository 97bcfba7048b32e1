/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_list.c - list_processes. Layer: dialects.
 */
#include <string.h>

#include "dialects/common/process_json.h"
#include "dialects/mcp/mcp_tools.h"

#define LIST_DEFAULT 100
#define LIST_MAX 1000

struct mcp_tool_list_request {
    const char *status, *session_id, *tag, *after;
    int64_t limit;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct mcp_tool_list_request, member, __VA_ARGS__)
static const struct json_field fields[] = {
    F(STR, status),
    F(STR, session_id),
    F(STR, tag),
    F(STR, after),
    F(INT, limit, .min = 1, .max = LIST_MAX),
};
#undef F

static int decode(const struct mcp_call *c, const json_t *arguments,
                  struct mcp_tool_list_request *a, struct process **after, struct hf_error *err)
{
    if (json_decode_known(arguments, fields, sizeof fields / sizeof *fields, a, err) < 0)
        return -1;
    if (a->status != NULL && strcmp(a->status, "running") != 0 && strcmp(a->status, "exited") != 0)
        return hf_fail_field(err, HF_E_bad_value, "status", "\"status\" must be running or exited");
    if (a->after == NULL)
        return 0;
    *after = engine_find(c->call.base->engine, a->after, err);
    return *after != NULL ? 0 : -1;
}

static bool same_text(const char *want, const char *have)
{
    return want == NULL || (have != NULL && strcmp(want, have) == 0);
}

static bool is_wanted(const struct mcp_tool_list_request *a, const struct process_view *v)
{
    return same_text(a->status, v->running ? "running" : "exited") &&
           same_text(a->session_id, v->session_id) && same_text(a->tag, v->tag);
}

static void put_line(struct buf *text, const struct process_view *v)
{
    buf_printf(text, "%s ", v->id);
    if (v->running)
        buf_printf(text, "running, pid %d", (int)v->pid);
    else
        buf_printf(text, "%s, exit code %d", exit_kind_name(v->exit->kind), v->exit->exit_code);
    buf_printf(text, ", %llu bytes of output: %.200s", (unsigned long long)v->next, v->command);
    for (size_t i = 0; i < v->arg_count && i < 16; i++)
        buf_printf(text, " %.80s", v->args[i]);
    buf_putc(text, '\n');
}

void tool_list_processes(struct mcp_call *c, const json_t *arguments)
{
    struct mcp_tool_list_request a = {.limit = LIST_DEFAULT};
    struct process *p = NULL;
    struct process_view v;
    struct hf_error err = {0};
    struct json_out o;
    char last[64] = "";
    bool more = false;

    if (decode(c, arguments, &a, &p, &err) < 0) {
        tool_fail(c, &err);
        return;
    }
    o = tool_open(c);
    json_kopen(&o, "processes", '[');
    while (!more && (p = engine_next(c->call.base->engine, p)) != NULL) {
        process_view(p, &v);
        if (!is_wanted(&a, &v))
            continue;
        more = a.limit-- == 0;
        if (more)
            break;
        process_write_json(p, &o);
        put_line(&mcp_call_mcp(c)->text, &v);
        strncpy(last, v.id, sizeof last - 1);
    }
    json_close(&o, ']');
    json_kstr(&o, "next", more ? last : NULL);
    if (mcp_call_mcp(c)->text.len == 0)
        buf_puts(&mcp_call_mcp(c)->text, "no processes");
    tool_send(c, &o);
}
