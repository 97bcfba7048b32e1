/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_screen.c - read_screen. Layer: dialects.
 */
#include "dialects/mcp/mcp_screen.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_screen_request {
    const char *process_id;
};

static void reply(struct mcp_call *c, struct process *p, const struct mcp_screen *s,
                  const char *uri)
{
    struct json_out o = tool_open(c);
    struct buf *text = &mcp_call_mcp(c)->text;
    struct process_view v;

    (void)uri;
    process_view(p, &v);
    json_kstr(&o, "process_id", v.id);
    json_key(&o, "text");
    json_strn(&o, buf_data(&s->text), s->text.len);
    json_kint(&o, "rows", s->rows);
    json_kint(&o, "cols", s->cols);
    json_kint(&o, "cursor_row", s->cursor_row);
    json_kint(&o, "cursor_col", s->cursor_col);
    json_key(&o, "title");
    json_strn(&o, buf_data(&s->title), s->title.len);
    json_kbool(&o, "alternate", s->alternate);
    json_ku64(&o, "offset", s->offset);
    buf_put(text, buf_data(&s->text), s->text.len);
    buf_printf(text, "[cursor at row %d, column %d, counted from 0]", s->cursor_row, s->cursor_col);
    tool_send(c, &o);
}

void tool_read_screen(struct mcp_call *c, const json_t *arguments)
{
    static const struct json_field fields[] = {
        JSON_FIELD(STR, struct mcp_tool_screen_request, process_id, .min = 1, .required = true)};
    struct mcp_tool_screen_request a = {0};
    struct hf_error err = {0};
    struct process *p;

    if (json_decode(arguments, fields, 1, &a, &err) < 0 ||
        (p = tool_process(c, a.process_id, &err)) == NULL ||
        mcp_screen_get(c, p, NULL, reply, &err) < 0)
        tool_fail(c, &err);
}
