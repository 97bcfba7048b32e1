/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_reply.c - the gateway's own responses
 *
 * Layer: gateway.
 */
#include <string.h>

#include "base/json.h"
#include "gateway/gateway_exchange.h"
#include "gateway/head_names.h"
#include "transport/http_request.h"
#include "transport/ws_accept.h"
#include "transport/ws_codec.h"

static void put_cors(struct exchange *ex, struct buf *out)
{
    if (ex->cors_origin != NULL && head_value_is_clean(ex->cors_origin))
        buf_printf(out,
                   "Access-Control-Allow-Origin: %s\r\n"
                   "Access-Control-Allow-Credentials: true\r\nVary: Origin\r\n",
                   ex->cors_origin);
}

/* Stops everything that is active for this request; g->head is empty. */
static void reply_begin(struct exchange *ex)
{
    exchange_drop_up(ex, false);
    resolver_lookup_cancel(&ex->lookup);
    access_cancel(ex);
    buf_clear(&ex->g->head);
}

static void reply_end(struct exchange *ex, int status)
{
    ex->rs_begun = true;
    ex->record.status = (uint16_t)status;
    conn_cork(ex->client, buf_data(&ex->g->head), ex->g->head.len);
    exchange_replied(ex);
}

static void send_reply(struct exchange *ex, int status, const char *extra, const char *type,
                       const struct buf *body)
{
    struct buf *out = &ex->g->head;

    reply_begin(ex);
    if (!ex->rq_done || ex->rq.failed)
        ex->close = true;
    buf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n%s", status, http_status_text(status),
               server_date(ex->g->server), extra);
    put_cors(ex, out);
    if (type != NULL)
        buf_printf(out, "Content-Type: %s\r\nCache-Control: no-store\r\n", type);
    if (status != 204)
        buf_printf(out, "Content-Length: %zu\r\n", body->len);
    buf_puts(out, ex->close       ? "Connection: close\r\n"
                  : ex->rq.http11 ? ""
                                  : "Connection: keep-alive\r\n");
    buf_puts(out, "\r\n");
    if (ex->rq.method != HTTP_HEAD_M && status != 204)
        buf_put(out, buf_data(body), body->len);
    reply_end(ex, status);
}

/* --- refusals ----------------------------------------------------------------------- */

static const char *headers_for(int status)
{
    switch (status) {
    case 401: return "WWW-Authenticate: Bearer\r\n";
    case 429:
    case 503: return "Retry-After: 1\r\n";
    default: return "";
    }
}

/* A page cannot see the status of a refused WebSocket, but it can see a close code. */
static bool is_shown_codes(const struct exchange *ex)
{
    size_t upgrade = 0, key = 0;

    /* A head that failed has no valid headers: it is never `rq_done`. */
    return ex->g->o.close_codes && ex->rq_done && ex->rq.upgrade &&
           http1_has_token(http1_header(&ex->rq, "Upgrade", &upgrade), "websocket") &&
           http1_header(&ex->rq, "Sec-WebSocket-Key", &key) != NULL;
}

static void put_accept(struct exchange *ex, struct buf *out)
{
    size_t key = 0, offered = 0;
    const char *protocols = http1_header(&ex->rq, "Sec-WebSocket-Protocol", &offered);
    char protocol[64];

    buf_puts(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                  "Upgrade: websocket\r\nSec-WebSocket-Accept: ");
    ws_put_accept(out, http1_header(&ex->rq, "Sec-WebSocket-Key", &key));
    if (protocols != NULL && ws_pick_protocol(protocols, protocol, sizeof protocol) != NULL &&
        head_value_is_clean(protocol))
        buf_printf(out, "\r\nSec-WebSocket-Protocol: %s", protocol);
    buf_puts(out, "\r\n\r\n");
}

/* `status` is what it would have been: for the log. */
static void reply_close(struct exchange *ex, int status, int code, const char *reason)
{
    struct buf *out = &ex->g->head;
    size_t len = strlen(reason);

    reply_begin(ex);
    ex->close = ex->farewell = true;
    put_accept(ex, out);
    buf_putc(out, (char)(0x80 | WS_OP_CLOSE));
    buf_putc(out, (char)(len + 2));
    buf_putc(out, (char)(code >> 8));
    buf_putc(out, (char)(code & 0xff));
    buf_puts(out, reason);
    reply_end(ex, status);
}

bool gateway_reply_refusal(struct exchange *ex)
{
    if (!is_shown_codes(ex))
        return false;
    reply_close(ex, ex->rs.status, WS_CODE_POLICY, "");
    return true;
}

static void put_problem(struct buf *out, const struct hf_error *err)
{
    struct json_out o;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "type", "about:blank");
    json_kstr(&o, "title", hf_code_title(err->code));
    json_kint(&o, "status", hf_code_status(err->code));
    json_kstr(&o, "code", hf_code_name(err->code));
    json_kstr(&o, "detail", err->detail);
    json_kstr(&o, "message", err->detail); /* the name that other platforms' clients read */
    json_close(&o, '}');
}

void gateway_reply_error(struct exchange *ex, const struct hf_error *err)
{
    struct buf body = {0};
    int status = hf_code_status(err->code);

    ex->record.code = err->code;
    if (status == 400)
        ex->close = true; /* the bytes that follow may be misleading, too */
    if (is_shown_codes(ex)) {
        /* The request's fault, or ours and the sandbox's. */
        reply_close(ex, status, status < 500 ? WS_CODE_POLICY : WS_CODE_INTERNAL,
                    hf_code_name(err->code));
        return;
    }
    put_problem(&body, err);
    send_reply(ex, status, headers_for(status), "application/problem+json", &body);
    buf_fini(&body);
}

/* --- the rest ------------------------------------------------------------------------- */

void gateway_reply_text(struct exchange *ex, int status, const char *type, const char *body)
{
    struct buf text = {0};

    buf_puts(&text, body);
    send_reply(ex, status, "", type, &text);
    buf_fini(&text);
}

void gateway_reply_preflight(struct exchange *ex)
{
    struct buf extra = {0}, none = {0};
    size_t at = 0;
    const char *headers = http1_header(&ex->rq, "Access-Control-Request-Headers", &at);

    buf_puts(&extra, "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"
                     "Access-Control-Max-Age: 600\r\n");
    if (headers != NULL && head_value_is_clean(headers))
        buf_printf(&extra, "Access-Control-Allow-Headers: %s\r\n", headers);
    send_reply(ex, 204, buf_cstr(&extra), NULL, &none);
    buf_fini(&extra);
}

bool gateway_reply_own(struct exchange *ex)
{
    size_t n = strcspn(ex->place.path, "?");
    bool ready = gateway_is_ready(ex->g);

    if (ex->rq.method != HTTP_GET_M && ex->rq.method != HTTP_HEAD_M)
        return false;
    if (n == 8 && strncmp(ex->place.path, "/healthz", n) == 0)
        gateway_reply_text(ex, 200, "text/plain", "ok\n");
    else if (n == 7 && strncmp(ex->place.path, "/readyz", n) == 0)
        gateway_reply_text(ex, ready ? 200 : 503, "text/plain", ready ? "ready\n" : "not ready\n");
    else
        return false;
    return true;
}
