/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - screens for read_screen and process://{id}/screen. Layer: dialects.
 */
#include "dialects/mcp/screen.h"

bool mcp_has_screens(void)
{
    return false;
}

int mcp_screen_text(struct process *p, struct mcp_screen *s, struct hf_error *err)
{
    struct process_view v;

    (void)s;
    process_view(p, &v);
    if (!v.pty)
        return hf_fail(err, HF_E_not_a_terminal, "this process has no terminal; use read_output");
    return hf_fail(err, HF_E_not_implemented, "screens are not in this build; use read_output");
}

void mcp_screen_fini(struct mcp_screen *s)
{
    buf_fini(&s->text);
    buf_fini(&s->title);
}
