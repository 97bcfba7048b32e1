/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_screen.h - the only place where this dialect requests a screen. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_SCREEN_H
#define HF_DIALECTS_MCP_MCP_SCREEN_H

#include "dialects/mcp/mcp_call.h"
#include "engine/stream/screen.h"

/*
 * `fn` receives what a person would see, now or in a later turn: rendering may take long. It
 * replies to the call. `text` has the lines, each terminated; `uri` is passed through. Returns 0,
 * or an error without calling fn: not_a_terminal, too_many_waits.
 */
typedef void mcp_screen_fn(struct mcp_call *c, struct process *p, const struct screen_view *v,
                           const struct buf *text, const char *uri);
int mcp_screen_get(struct mcp_call *c, struct process *p, const char *uri, mcp_screen_fn *fn,
                   struct hf_error *err);

#endif
