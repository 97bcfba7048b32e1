/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - screens for read_screen and process://{id}/screen. Layer: dialects.
 */
#include "dialects/mcp/screen.h"

#include "engine/screen.h"

bool mcp_has_screens(void)
{
    return true;
}

int mcp_screen_text(struct process *p, struct mcp_screen *s, struct hf_error *err)
{
    const struct term *t = process_screen_at_once(p);
    struct screen_view v;

    if (t == NULL)
        return hf_fail(err, HF_E_not_a_terminal, "this process has no terminal; use read_output");
    screen_view(p, t, &v);
    screen_text(t, 0, &s->text);
    buf_puts(&s->title, v.title);
    s->rows = v.rows;
    s->cols = v.cols;
    s->cursor_row = v.y;
    s->cursor_col = v.x;
    s->alternate = v.alternate;
    s->offset = v.offset;
    return 0;
}

void mcp_screen_fini(struct mcp_screen *s)
{
    buf_fini(&s->text);
    buf_fini(&s->title);
}
