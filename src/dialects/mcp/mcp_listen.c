/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_listen.c - subscriptions/listen: sends requested notifications until the client disconnects
 *
 * The acknowledgement leaves out resources that do not exist, as the protocol prescribes for
 * anything unsupported. Tools and prompts never change. Layer: dialects.
 */
#include "dialects/mcp/mcp_listen.h"

#include "base/mem.h"
#include "dialects/mcp/mcp_exchange.h"
#include "dialects/mcp/mcp_notifications.h"
#include "dialects/mcp/mcp_server.h"

#define SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"

static void listen_free(struct mcp_feed *f)
{
    mcp_feed_fini(f);
    free(f);
}

/* Feeds of sessions have no tag; the tag of a listening request is its id. */
void listens_end(struct mcp *m, enum mcp_call_end why)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->feeds) {
        struct mcp_feed *f = list_entry(it, struct mcp_feed, link);
        struct json_out o;

        if (f->tag == NULL)
            continue;
        if (why == MCP_CALL_DRAIN && f->stream != NULL) {
            buf_clear(&m->scratch);
            json_out_init(&o, &m->scratch);
            json_open(&o, '{');
            json_kstr(&o, "jsonrpc", "2.0");
            json_key(&o, "id");
            json_value(&o, f->tag);
            json_key(&o, "result");
            json_open(&o, '{');
            json_kstr(&o, "resultType", "complete");
            json_key(&o, "_meta");
            json_open(&o, '{');
            json_key(&o, SUBSCRIPTION_ID);
            json_value(&o, f->tag);
            json_close(&o, '}');
            json_close(&o, '}');
            json_close(&o, '}');
            mcp_feed_write(f, &m->scratch);
        }
        listen_free(f);
    }
}

/* Subscribes to those that exist and records which. */
static void subscribe(struct mcp_feed *f, const json_t *uris, struct json_out *o)
{
    struct hf_error err;
    size_t i;
    json_t *v;

    json_key(o, "resourceSubscriptions");
    json_open(o, '[');
    json_array_foreach ((json_t *)uris, i, v) {
        const char *uri = json_string_value(v);

        if (uri != NULL && mcp_feed_subscribe(f, uri, &err) == 0)
            json_str(o, uri);
    }
    json_close(o, ']');
}

static void acknowledge(struct mcp_feed *f, const json_t *wish, struct buf *out)
{
    const json_t *uris = json_object_get(wish, "resourceSubscriptions");
    struct json_out o;

    buf_clear(out);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "jsonrpc", "2.0");
    json_kstr(&o, "method", "notifications/subscriptions/acknowledged");
    json_key(&o, "params");
    json_open(&o, '{');
    json_key(&o, "_meta");
    json_open(&o, '{');
    json_key(&o, SUBSCRIPTION_ID);
    json_value(&o, f->tag);
    json_close(&o, '}');
    json_key(&o, "notifications");
    json_open(&o, '{');
    if (f->wants_list)
        json_kbool(&o, "resourcesListChanged", true);
    if (json_is_array(uris))
        subscribe(f, uris, &o);
    json_close(&o, '}');
    json_close(&o, '}');
    json_close(&o, '}');
}

void listen_start(struct http_request *rq, const struct rpc_message *m)
{
    struct mcp *mcp = mcp_of(rq);
    const json_t *wish = json_object_get(m->params, "notifications");
    struct mcp_feed *f;

    if (!json_is_object(wish)) {
        mcp_rpc_write_error(&mcp->scratch, m->id, RPC_INVALID_PARAMS,
                            "\"notifications\" must be an object that lists what to listen for",
                            NULL);
        http_reply_json(rq, 400, &mcp->scratch);
        return;
    }
    f = hf_xalloc(sizeof *f);
    mcp_feed_init(f, mcp, listen_free);
    f->tag = json_incref(m->id);
    f->wants_list = json_is_true(json_object_get(wish, "resourcesListChanged"));
    mcp_feed_start(f, rq);
    acknowledge(f, wish, &mcp->scratch);
    mcp_feed_write(f, &mcp->scratch);
}
