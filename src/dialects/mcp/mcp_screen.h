/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_screen.h - the only place where this dialect requests a screen. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_SCREEN_H
#define HF_DIALECTS_MCP_MCP_SCREEN_H

#include "base/buf.h"
#include "dialects/mcp/mcp_call.h"
#include "engine/process.h"

struct mcp_screen {
    struct buf text; /* lines, each terminated */
    int rows, cols, cursor_row, cursor_col;
    struct buf title;
    bool alternate;
    uint64_t offset;
};

bool mcp_has_screens(void);
/*
 * `fn` receives what a person would see, now or in a later turn: rendering may take long. It
 * replies to the call. `uri` is passed through. Returns 0, or an error without calling fn:
 * not_a_terminal, too_many_waits.
 */
typedef void mcp_screen_fn(struct mcp_call *c, struct process *p, const struct mcp_screen *s,
                           const char *uri);
int mcp_screen_get(struct mcp_call *c, struct process *p, const char *uri, mcp_screen_fn *fn,
                   struct hf_error *err);

#endif
