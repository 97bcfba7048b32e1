/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_screen.c - screens, for process://{id}/screen and for read_screen. Layer: dialects.
 */
#include "dialects/mcp/mcp_screen.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dialects/mcp/mcp_tools.h"

static void deliver(struct mcp_call *c, struct process *p, const struct term *t, mcp_screen_fn *fn,
                    const char *uri)
{
    struct screen_view v;
    struct buf text = {0};

    screen_view(p, t, &v);
    screen_text(t, 0, &text);
    fn(c, p, &v, &text, uri);
    buf_fini(&text);
}

/* --- a screen that needs more than one turn --------------------------------------------- */

struct mcp_screen_call {
    struct mcp_call call;
    struct screen_waiter waiter;
    struct process *process; /* referenced */
    mcp_screen_fn *fn;
    char *uri; /* NULL: none */
};

static void screen_call_release(struct call *c)
{
    struct mcp_screen_call *x = list_entry(c, struct mcp_screen_call, call.call);

    screen_waiter_cancel(&x->waiter);
    process_unref(x->process);
    free(x->uri);
    mcp_call_release(c);
}

static const struct call_kind screen_call_kind = {.release = screen_call_release,
                                                  .drain = mcp_call_drain};

static void screen_call_done(void *arg, struct process *p)
{
    struct mcp_screen_call *x = arg;

    deliver(&x->call, p, screen_as_it_is(p), x->fn, x->uri);
}

static int screen_call_begin(struct mcp_call *c, struct process *p, const char *uri,
                             mcp_screen_fn *fn, struct hf_error *err)
{
    struct mcp_screen_call *x = mcp_call_begin(c, &screen_call_kind, sizeof *x, err);

    if (x == NULL)
        return -1;
    x->process = process_ref(p);
    x->fn = fn;
    x->uri = hf_xstrdup(uri);
    x->waiter.fn = screen_call_done;
    x->waiter.arg = x;
    screen_wait(p, &x->waiter);
    return 0;
}

int mcp_screen_get(struct mcp_call *c, struct process *p, const char *uri, mcp_screen_fn *fn,
                   struct hf_error *err)
{
    const struct term *t = process_screen(p);
    struct process_view v;

    process_view(p, &v);
    if (!v.pty)
        return hf_fail(err, HF_E_not_a_terminal, "this process has no terminal; use read_output");
    if (t == NULL)
        return screen_call_begin(c, p, uri, fn, err);
    deliver(c, p, t, fn, uri);
    return 0;
}

/* --- read_screen --------------------------------------------------------------------------- */

static void reply(struct mcp_call *c, struct process *p, const struct screen_view *v,
                  const struct buf *lines, const char *uri)
{
    struct json_out o = tool_open(c);
    struct buf *text = &mcp_call_mcp(c)->text;
    struct process_view view;

    (void)uri;
    process_view(p, &view);
    json_kstr(&o, "process_id", view.id);
    json_key(&o, "text");
    json_strn(&o, buf_data(lines), lines->len);
    json_kint(&o, "rows", v->rows);
    json_kint(&o, "cols", v->cols);
    json_kint(&o, "cursor_row", v->y);
    json_kint(&o, "cursor_col", v->x);
    json_kstr(&o, "title", v->title);
    json_kbool(&o, "alternate", v->alternate);
    json_ku64(&o, "offset", v->offset);
    buf_put(text, buf_data(lines), lines->len);
    buf_printf(text, "[cursor at row %d, column %d, counted from 0]", v->y, v->x);
    tool_send(c, &o);
}

void tool_read_screen(struct mcp_call *c, const json_t *arguments)
{
    struct hf_error err = {0};
    struct process *p = tool_process(c, arguments, &err);

    if (p == NULL || mcp_screen_get(c, p, NULL, reply, &err) < 0)
        tool_fail(c, &err);
}
