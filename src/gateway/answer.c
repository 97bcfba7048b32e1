/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - what the gateway says itself. Layer: gateway.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"
#include "gateway/exchange.h"
#include "gateway/head_names.h"
#include "transport/request.h"

#define WS_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

static void put_cors(struct exchange *ex, struct buf *out)
{
    if (ex->cors_origin != NULL && head_value_is_clean(ex->cors_origin))
        buf_printf(out,
                   "Access-Control-Allow-Origin: %s\r\n"
                   "Access-Control-Allow-Credentials: true\r\nVary: Origin\r\n",
                   ex->cors_origin);
}

static void answer(struct exchange *ex, int status, const char *extra, const char *type,
                   const struct buf *body)
{
    struct buf *out = &ex->g->head;

    exchange_drop_up(ex, false);
    lookup_cancel(&ex->lookup);
    if (!ex->rq_done || ex->rq.failed)
        ex->close = true;
    buf_clear(out);
    buf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n%s", status, status_text(status),
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
    ex->rs_begun = true;
    ex->record.status = (uint16_t)status;
    conn_cork(ex->client, buf_data(out), out->len);
    exchange_answered(ex);
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

/* 1008: it is the request's fault; 1011: it is ours or the sandbox's. */
static int close_code_for(int status)
{
    return status < 500 ? 1008 : 1011;
}

static bool is_websocket(const struct exchange *ex)
{
    size_t at = 0;
    const char *upgrade = http1_header(&ex->rq, "Upgrade", &at);

    at = 0;
    return ex->rq.upgrade && http1_has_token(upgrade, "websocket") &&
           http1_header(&ex->rq, "Sec-WebSocket-Key", &at) != NULL;
}

static void put_accept(struct exchange *ex, struct buf *out)
{
    struct buf text = {0};
    uint8_t digest[20];
    size_t at = 0;

    buf_puts(&text, http1_header(&ex->rq, "Sec-WebSocket-Key", &at));
    buf_puts(&text, WS_GUID);
    sha1(buf_data(&text), text.len, digest);
    buf_fini(&text);
    buf_puts(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                  "Upgrade: websocket\r\nSec-WebSocket-Accept: ");
    base64_encode(out, digest, sizeof digest);
    buf_puts(out, "\r\n\r\n");
}

/* A page's WebSocket is not shown the status of a refusal, but it is shown a close code. */
static void answer_close(struct exchange *ex, int status, const char *code)
{
    struct buf *out = &ex->g->head;
    int close = close_code_for(status);
    size_t len = strlen(code);

    exchange_drop_up(ex, false);
    ex->close = true;
    buf_clear(out);
    put_accept(ex, out);
    buf_putc(out, (char)0x88);
    buf_putc(out, (char)(len + 2));
    buf_putc(out, (char)(close >> 8));
    buf_putc(out, (char)(close & 0xff));
    buf_puts(out, code);
    ex->rs_begun = true;
    ex->record.status = (uint16_t)status;
    conn_cork(ex->client, buf_data(out), out->len);
    exchange_answered(ex);
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
    json_kstr(&o, "message", err->detail); /* the name other platforms' clients look for */
    json_shut(&o, '}');
}

void answer_error(struct exchange *ex, const struct hf_error *err)
{
    struct buf body = {0};
    int status = hf_code_status(err->code);

    ex->record.code = err->code;
    if (ex->g->o.close_codes && ex->rq_done && is_websocket(ex)) {
        answer_close(ex, status, hf_code_name(err->code));
        return;
    }
    put_problem(&body, err);
    answer(ex, status, headers_for(status), "application/problem+json", &body);
    buf_fini(&body);
}

/* --- the rest ------------------------------------------------------------------------- */

void answer_text(struct exchange *ex, int status, const char *type, const char *body)
{
    struct buf text = {0};

    buf_puts(&text, body);
    answer(ex, status, "", type, &text);
    buf_fini(&text);
}

void answer_preflight(struct exchange *ex)
{
    struct buf extra = {0}, none = {0};
    size_t at = 0;
    const char *headers = http1_header(&ex->rq, "Access-Control-Request-Headers", &at);

    buf_puts(&extra, "Access-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n"
                     "Access-Control-Max-Age: 600\r\n");
    if (headers != NULL && head_value_is_clean(headers))
        buf_printf(&extra, "Access-Control-Allow-Headers: %s\r\n", headers);
    answer(ex, 204, buf_cstr(&extra), NULL, &none);
    buf_fini(&extra);
}

bool answer_own(struct exchange *ex)
{
    size_t n = strcspn(ex->place.path, "?");
    bool ready = gateway_is_ready(ex->g);

    if (ex->rq.method != HTTP_GET_M && ex->rq.method != HTTP_HEAD_M)
        return false;
    if (n == 8 && strncmp(ex->place.path, "/healthz", n) == 0)
        answer_text(ex, 200, "text/plain", "ok\n");
    else if (n == 7 && strncmp(ex->place.path, "/readyz", n) == 0)
        answer_text(ex, ready ? 200 : 503, "text/plain", ready ? "ready\n" : "not ready\n");
    else
        return false;
    return true;
}
