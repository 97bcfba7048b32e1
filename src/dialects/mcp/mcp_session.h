/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_session.h - what `initialize` began: a revision that was agreed on, and a stream
 *
 * A session is nothing but that; no process belongs to one. So it may be
 * forgotten at any time (the client begins another): when it was idle for long, when there
 * are too many, or with the worker. Owned by struct mcp. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_SESSION_H
#define HF_DIALECTS_MCP_MCP_SESSION_H

#include "dialects/mcp/mcp_context.h"
#include "dialects/mcp/mcp_notifications.h"
#include "dialects/mcp/mcp_revision.h"

#define SESSION_ID_LEN 32

struct mcp_session {
    struct list link; /* mcp.sessions */
    const struct revision *revision;
    enum role role;                         /* of the token that made it */
    char principal[AUTH_PRINCIPAL_MAX + 1]; /* and who that was: only the same may use it */
    struct mcp_feed feed;                   /* its GET stream, and what it subscribed to */
    uint64_t used_ms;                       /* monotonic */
    size_t busy;                            /* open exchanges: not idle */
    char id[SESSION_ID_LEN + 1];
};

/* NULL: there are too many, and none of those that this one may push out is idle. */
struct mcp_session *mcp_session_new(struct mcp *m, const struct revision *rev, enum role role,
                                    const char *principal);
void session_free(struct mcp *m, struct mcp_session *s); /* ends its calls and its stream */
/* NULL: there is none that this principal may use. Notes that it is used. */
struct mcp_session *mcp_session_find(struct mcp *m, const char *id, const char *principal);
void session_touch(struct mcp *m, struct mcp_session *s); /* it is used, so it lives on */
void mcp_sessions_free(struct mcp *m);

#endif
