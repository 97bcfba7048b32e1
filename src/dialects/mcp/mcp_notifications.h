/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_notifications.h - notifications that belong to no call: resources that changed
 *
 * A feed has a stream, or waits for one, and a list of resources to watch. It records changes and
 * sends them at most every FEED_SPACING_MS, once each, however much has changed: a notification
 * only means "read it again". While there is no stream, or no room in it, changes remain recorded.
 *
 * Embedded by a session (its GET stream) or by a listening request: subscriptions/listen of the
 * self-contained revision is a request whose reply is a stream. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_NOTIFICATIONS_H
#define HF_DIALECTS_MCP_MCP_NOTIFICATIONS_H

#include "dialects/mcp/mcp.h"
#include "dialects/mcp/mcp_rpc.h"

#define FEED_SPACING_MS 200

struct mcp_feed_stream;

struct mcp_feed {
    struct mcp *mcp;
    struct mcp_feed_stream *stream;        /* NULL: none */
    void (*on_closed)(struct mcp_feed *f); /* the stream has ended; may free the feed */
    struct list subscriptions;
    size_t subscription_count;
    json_t *tag; /* owned; id of the listening request, or NULL */
    bool wants_list, list_changed;
};

void mcp_feed_init(struct mcp_feed *f, struct mcp *m, void (*on_closed)(struct mcp_feed *f));
void mcp_feed_fini(struct mcp_feed *f); /* ends the stream */
/* Replies to the request with a stream, and ends the previous one. */
void mcp_feed_start(struct mcp_feed *f, struct http_request *rq);

/* 0, or an error: no such resource, or too many. Subscribing twice has no further effect. */
int mcp_feed_subscribe(struct mcp_feed *f, const char *uri, struct hf_error *err);
void mcp_feed_unsubscribe(struct mcp_feed *f, const char *uri);

/* Replies to a listening request with an error or the stream. */
void mcp_listen_start(struct http_request *rq, const struct rpc_message *m);

#endif
