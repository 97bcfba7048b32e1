/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_handshake.c - turns a request into a WebSocket
 *
 * Version and key are checked before the handler is called, by the gate, or by the handler of a
 * route that also has other responses. Layer: transport.
 */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "transport/conn_own.h"
#include "transport/deflate.h"
#include "transport/ws_accept.h"
#include "transport/ws_conn.h"

const char *ws_offered(const struct http_request *rq)
{
    const char *list = http_header(rq, "Sec-WebSocket-Protocol");

    return list != NULL ? list : "";
}

bool ws_is_offered(const struct http_request *rq, const char *protocol)
{
    return http1_has_token(ws_offered(rq), protocol);
}

bool ws_version_is_ours(const struct http_request *rq)
{
    const char *version = http_header(rq, "Sec-WebSocket-Version");

    return version != NULL && strcmp(version, "13") == 0;
}

bool ws_key_is_valid(const struct http_request *rq)
{
    const char *key = http_header(rq, "Sec-WebSocket-Key");
    struct buf raw = {0};
    bool ok = key != NULL && base64_decode(&raw, key, strlen(key)) && raw.len == 16;

    buf_fini(&raw);
    return ok;
}

static void add_accept_key(struct http_request *rq)
{
    struct buf text = {0};

    ws_put_accept(&text, http_header(rq, "Sec-WebSocket-Key"));
    http_add_header(rq, "Sec-WebSocket-Accept", buf_cstr(&text));
    buf_fini(&text);
}

struct ws *ws_accept(struct http_request *rq, const char *protocol, const struct ws_ops *ops,
                     void *arg)
{
    struct conn *c = rq->c;
    bool deflate =
        rq->server->o.compress && deflate_is_offered(http_header(rq, "Sec-WebSocket-Extensions"));
    struct buf *head;
    struct ws *ws;

    assert(c != NULL && rq->body_done && http_is_websocket(rq));
    http_add_header(rq, "Connection", "Upgrade");
    http_add_header(rq, "Upgrade", "websocket");
    add_accept_key(rq);
    if (protocol != NULL && !ws_protocol_is_secret(protocol) && ws_is_offered(rq, protocol))
        http_add_header(rq, "Sec-WebSocket-Protocol", protocol);
    if (deflate)
        http_add_header(rq, "Sec-WebSocket-Extensions", DEFLATE_RESPONSE);
    head = response_head(rq, 101, NULL, BODY_UPGRADE, 0);
    request_reply_begun(rq);
    conn_cork(c, buf_data(head), head->len);
    ws = ws_new(c, rq->role, deflate, ops, arg);
    request_release(rq);
    if (!c->delivering)
        conn_resume(c); /* frames that arrived with the request */
    return ws;
}

static void refused_on_closed(void *arg, int code)
{
    (void)arg, (void)code;
}

/* Ends without waiting for the peer's close frame, which would change nothing. */
void ws_refuse(struct http_request *rq, int code, const char *reason)
{
    static const struct ws_ops ops = {.on_closed = refused_on_closed}; /* no other is called */
    char protocol[64];

    ws_fail(ws_accept(rq, ws_pick_protocol(ws_offered(rq), protocol, sizeof protocol), &ops, NULL),
            code, reason);
}
