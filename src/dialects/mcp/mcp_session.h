/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_session.h - what `initialize` created: an agreed revision, and a stream
 *
 * A session is nothing more than that; no process belongs to one. So it may be dropped at any time
 * (the client creates another): when it was idle for long, when there are too many, or with the
 * worker. Owned by struct mcp. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_SESSION_H
#define HF_DIALECTS_MCP_MCP_SESSION_H

#include "dialects/mcp/mcp.h"
#include "dialects/mcp/mcp_notifications.h"
#include "dialects/mcp/mcp_revision.h"

#define SESSION_ID_LEN 32

struct mcp_session {
    struct list link; /* mcp.sessions */
    const struct revision *revision;
    enum role role;                         /* of the token that created it */
    char principal[AUTH_PRINCIPAL_MAX + 1]; /* only this principal may use the session */
    struct mcp_feed feed;                   /* its GET stream and its subscriptions */
    uint64_t used_ms;                       /* monotonic */
    struct list exchanges;                  /* struct mcp_exchange: not idle */
    char id[SESSION_ID_LEN + 1];
};

/* NULL: there are too many, and none that this one may evict is idle. */
struct mcp_session *mcp_session_new(struct mcp *m, const struct revision *rev, enum role role,
                                    const char *principal);
void session_free(struct mcp_session *s); /* ends its calls and its stream */
/* NULL: this principal has no such session. Marks it as used. */
struct mcp_session *mcp_session_find(struct mcp *m, const char *id, const char *principal);
/* marks it as used, so it does not expire */
void session_touch(struct mcp_session *s);
void mcp_sessions_free(struct mcp *m);

/* --- mcp_exchange.c ------------------------------------------------------------ */
/* Cancels the waiting call with this id, if there is one. */
void mcp_session_cancel_call(struct mcp_session *s, const json_t *id);
/* Cancels all of them. */
void mcp_session_end_calls(struct mcp_session *s);

#endif
