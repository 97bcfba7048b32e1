/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_context.h - what all parts of the MCP dialect share. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_CONTEXT_H
#define HF_DIALECTS_MCP_MCP_CONTEXT_H

#include "base/buf.h"
#include "base/json.h"
#include "base/list.h"
#include "dialects/mcp/mcp.h"

struct mcp {
    struct engine *engine;
    struct mcp_options options;
    struct route_table table;
    json_t *tools;         /* tools_describe(); NULL until they are asked for */
    struct list sessions;  /* struct mcp_session, the one used longest ago first */
    struct list exchanges; /* struct mcp_exchange: POSTs that are not answered yet */
    struct list feeds;     /* struct mcp_feed: streams of notifications */
    struct list jobs;      /* struct job: work that the engine has not finished */
    size_t session_count, call_count;
    struct timer *expiry; /* of the session used longest ago */
    bool closed;          /* nothing new may be started */
    bool draining;        /* and what is under way must end */
    /* Free between handlers: the message being written, its text for people, the event it
     * is put into. */
    struct buf scratch, text, frame;
};

struct mcp *mcp_of(const struct http_request *rq);
/* 0, or shutting_down when nothing new may begin. */
int mcp_check_open(const struct mcp *m, struct hf_error *err);

/* mcp_endpoint.c */
extern const struct route mcp_route_list[];
extern const size_t mcp_route_count;
/* A refusal of the transport as a JSON-RPC error that belongs to no request. */
void mcp_refuse(struct http_request *rq, const struct hf_error *err);

#endif
