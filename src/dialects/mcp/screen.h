/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - the one place where this dialect asks for a screen. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_SCREEN_H
#define HF_DIALECTS_MCP_SCREEN_H

#include "base/buf.h"
#include "engine/process.h"

struct mcp_screen {
    struct buf text; /* lines, each ended */
    int rows, cols, cursor_row, cursor_col;
    struct buf title;
    bool alternate;
    uint64_t offset;
};

bool mcp_has_screens(void);
/* What a person would see. 0; or an error: not_a_terminal. Call
 * mcp_screen_fini() either way; *s starts as {0}. */
int mcp_screen_text(struct process *p, struct mcp_screen *s, struct hf_error *err);
void mcp_screen_fini(struct mcp_screen *s);

#endif
