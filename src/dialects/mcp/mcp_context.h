/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_context.h - what all parts of the MCP dialect share. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_CONTEXT_H
#define HF_DIALECTS_MCP_MCP_CONTEXT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/list.h"
#include "dialects/common/route_group.h"
#include "dialects/mcp/mcp.h"

struct mcp {
    struct engine *engine;
    struct mcp_options options;
    struct route_table table;
    json_t *tools;         /* tools_describe(); NULL until first requested */
    struct list sessions;  /* struct mcp_session, least recently used first */
    struct list exchanges; /* struct mcp_exchange: POSTs that are still pending */
    struct list feeds;     /* struct mcp_feed: streams of notifications */
    struct list jobs;      /* struct job: work pending in the engine */
    size_t session_count, call_count;
    struct timer *expiry; /* of the least recently used session */
    bool closed;          /* nothing new may be started */
    bool draining;        /* and pending work must end */
    /* Free between handlers: the message being written, its text for people, and the event that
     * wraps it. */
    struct buf scratch, text, frame;
};

struct mcp *mcp_of(const struct http_request *rq);
/* 0, or shutting_down if nothing new may start. */
int mcp_check_open(const struct mcp *m, struct hf_error *err);

/* mcp_endpoint.c */
extern const struct route mcp_route_list[];
extern const size_t mcp_route_count;
extern const struct route_group mcp_route_groups[]; /* the same rows */
/* The transport refuses a request: a JSON-RPC error with no id. */
void mcp_refuse(struct http_request *rq, const struct hf_error *err);

#endif
