/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.c - subscriptions/listen: what the client asked for is told until it leaves
 *
 * Resources that are not there are left out of the acknowledgement, as the protocol
 * has it for whatever is not supported; tools and prompts never change. Layer: dialects.
 */
#include "dialects/mcp/listen.h"

#include "base/mem.h"
#include "dialects/mcp/exchange.h"
#include "dialects/mcp/feed.h"
#include "dialects/mcp/server.h"

#define SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"

static void listen_free(struct feed *f)
{
    feed_fini(f);
    free(f);
}

/* Feeds of sessions have no tag; a listening request's is its id. */
void listens_end(struct mcp *m, enum call_end why)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->feeds) {
        struct feed *f = list_entry(it, struct feed, link);
        struct json_out o;

        if (f->tag == NULL)
            continue;
        if (why == CALL_DRAIN && f->stream != NULL) {
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
            json_shut(&o, '}');
            json_shut(&o, '}');
            json_shut(&o, '}');
            feed_write(f, &m->scratch);
        }
        listen_free(f);
    }
}

/* Subscribes to those that are there and notes which. */
static void subscribe(struct feed *f, const json_t *uris, struct json_out *o)
{
    struct hf_error err;
    size_t i;
    json_t *v;

    json_key(o, "resourceSubscriptions");
    json_open(o, '[');
    json_array_foreach ((json_t *)uris, i, v) {
        const char *uri = json_string_value(v);

        if (uri != NULL && feed_subscribe(f, uri, &err) == 0)
            json_str(o, uri);
    }
    json_shut(o, ']');
}

static void acknowledge(struct feed *f, const json_t *wish, struct buf *out)
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
    json_shut(&o, '}');
    json_key(&o, "notifications");
    json_open(&o, '{');
    if (f->wants_list)
        json_kbool(&o, "resourcesListChanged", true);
    if (json_is_array(uris))
        subscribe(f, uris, &o);
    json_shut(&o, '}');
    json_shut(&o, '}');
    json_shut(&o, '}');
}

void listen_start(struct http_request *rq, const struct rpc_message *m)
{
    struct mcp *mcp = mcp_of(rq);
    const json_t *wish = json_object_get(m->params, "notifications");
    struct feed *f;

    if (!json_is_object(wish)) {
        rpc_write_error(&mcp->scratch, m->id, RPC_INVALID_PARAMS,
                        "\"notifications\" must be an object that says what to listen for", NULL);
        http_reply_json(rq, 400, &mcp->scratch);
        return;
    }
    f = hf_xalloc(sizeof *f);
    feed_init(f, mcp, listen_free);
    f->tag = json_incref(m->id);
    f->wants_list = json_is_true(json_object_get(wish, "resourcesListChanged"));
    feed_start(f, rq);
    acknowledge(f, wish, &mcp->scratch);
    feed_write(f, &mcp->scratch);
}
