/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_ws.c - WebSocket handshake and frames of the client. Layer: cli.
 */
#include "cli/client/client_ws.h"

#include <errno.h>
#include <string.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/text.h"
#include "transport/ws_accept.h"

#define KEY_BYTES 16

/* --- handshake ------------------------------------------------------------------- */

static void make_key(struct buf *key)
{
    uint8_t raw[KEY_BYTES];

    crypto_random(raw, sizeof raw);
    base64_encode(key, raw, sizeof raw);
}

static bool accept_is_right(const struct http1 *response, struct buf *key)
{
    size_t at = 0;
    const char *got = http1_header(response, "Sec-WebSocket-Accept", &at);
    struct buf want = {0};
    bool right;

    ws_put_accept(&want, buf_cstr(key));
    right = got != NULL && strcmp(got, buf_cstr(&want)) == 0;
    buf_fini(&want);
    return right;
}

static int send_upgrade(struct client_conn *w, const struct daemon_address *p, const char *path,
                        const struct buf *key)
{
    struct fetch_request request = {.method = "GET", .path = path};
    struct buf head = {0};
    int rc;

    fetch_write_head(&head, p, &request);
    buf_printf(&head,
               "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Protocol: holdfast.v1\r\nSec-WebSocket-Key: %.*s\r\n\r\n",
               (int)key->len, buf_data(key));
    rc = client_conn_put(w, buf_data(&head), head.len);
    buf_wipe(&head);
    return rc;
}

static int fail_open(struct fetch_stream *s, const struct daemon_address *p, int rc,
                     struct hf_error *err)
{
    fetch_close(s);
    hf_fail(err, HF_E_bad_value, "%s did not accept the WebSocket connection: %s", p->url,
            strerror(-rc));
    return rc;
}

int client_ws_open(struct client_ws *ws, const struct daemon_address *p, const char *path,
                   int timeout_ms, struct fetch_reply *refusal, struct hf_error *err)
{
    struct fetch_stream s = {.wire.fd = -1};
    struct buf key = {0};
    int rc = client_conn_open(&s.wire, p, timeout_ms, err);

    *ws = (struct client_ws){.wire.fd = -1, .decoder.from_server = true};
    *refusal = (struct fetch_reply){0};
    if (rc < 0)
        return rc;
    fetch_expect(&s.response, false);
    make_key(&key);
    rc = send_upgrade(&s.wire, p, path, &key);
    if (rc == 0)
        rc = client_conn_flush_all(&s.wire, timeout_ms);
    if (rc == 0 && (rc = fetch_event(&s, timeout_ms)) >= 0) {
        bool has_head = rc == HTTP1_HEAD, is_upgrade = has_head && s.response.status == 101;

        if (has_head && !is_upgrade)
            fetch_rest(&s, refusal);
        rc = is_upgrade && accept_is_right(&s.response, &key) ? 0 : -EPROTO;
    }
    buf_fini(&key);
    if (rc < 0)
        return fail_open(&s, p, rc, err);
    buf_drop(&s.wire.in, s.taken); /* what follows the head belongs to the WebSocket */
    ws->wire = s.wire;
    http1_fini(&s.response);
    return 0;
}

void client_ws_close(struct client_ws *ws)
{
    client_conn_close(&ws->wire);
    buf_fini(&ws->text);
    *ws = (struct client_ws){.wire.fd = -1};
}

/* --- frames ------------------------------------------------------------------------ */

int client_ws_send(struct client_ws *ws, int opcode, const void *bytes, size_t len)
{
    char head[WS_HEADER_MAX];
    struct buf payload = {0};
    uint32_t mask;
    size_t n = ws_encode_header(head, (uint8_t)opcode, true, false, len);
    int rc;

    if (ws->wire.fd < 0 || ws->closing)
        return -ENOTCONN;
    crypto_random(&mask, sizeof mask);
    head[1] = (char)(head[1] | 0x80);
    memcpy(head + n, &mask, sizeof mask);
    buf_put(&payload, head, n + sizeof mask);
    buf_put(&payload, bytes, len);
    ws_unmask(buf_data(&payload) + n + sizeof mask, len, mask);
    rc = client_conn_put(&ws->wire, buf_data(&payload), payload.len);
    buf_fini(&payload);
    return rc;
}

void client_ws_send_close(struct client_ws *ws, int code)
{
    char payload[2] = {(char)(code >> 8), (char)code};

    client_ws_send(ws, WS_OP_CLOSE, payload, sizeof payload);
    ws->closing = true;
}

static enum wsock_event on_control(struct client_ws *ws, const struct ws_piece *piece,
                                   struct wsock_item *out)
{
    if (piece->opcode == WS_OP_PING)
        client_ws_send(ws, WS_OP_PONG, piece->bytes, piece->len);
    if (piece->opcode != WS_OP_CLOSE)
        return WSOCK_MORE;
    out->code = ws_close_code(piece->bytes, piece->len);
    out->bytes = piece->len > 2 ? piece->bytes + 2 : "";
    out->len = piece->len > 2 ? piece->len - 2 : 0;
    if (!ws->closing)
        client_ws_send_close(ws, out->code > 0 && out->code != WS_CODE_NONE ? out->code
                                                                            : WS_CODE_NORMAL);
    return WSOCK_CLOSED;
}

/* Collects text until the message is complete. */
static enum wsock_event on_text(struct client_ws *ws, const struct ws_piece *piece,
                                struct wsock_item *out)
{
    if (piece->first)
        buf_clear(&ws->text);
    if (ws->text.len + piece->len > LIMIT_CLIENT_REPLY_BYTES)
        return WSOCK_BROKEN;
    buf_put(&ws->text, piece->bytes, piece->len);
    if (!piece->last)
        return WSOCK_MORE;
    out->bytes = buf_cstr(&ws->text);
    out->len = ws->text.len;
    return WSOCK_TEXT;
}

static enum wsock_event on_data(struct client_ws *ws, const struct ws_piece *piece,
                                struct wsock_item *out)
{
    if (piece->opcode == WS_OP_TEXT)
        return on_text(ws, piece, out);
    if (piece->len == 0)
        return WSOCK_MORE;
    out->bytes = piece->bytes;
    out->len = piece->len;
    return WSOCK_BYTES;
}

enum wsock_event client_ws_next(struct client_ws *ws, struct wsock_item *out)
{
    struct buf *in = &ws->wire.in;
    enum wsock_event e = WSOCK_MORE;

    *out = (struct wsock_item){0};
    while (e == WSOCK_MORE) {
        struct ws_piece piece;
        enum ws_event got;

        buf_drop(in, ws->taken);
        ws->taken = 0;
        if (in->len == 0)
            return WSOCK_MORE;
        got = ws_decode(&ws->decoder, buf_data(in), in->len, &ws->taken, &piece);
        if (got == WS_EV_MORE) {
            buf_drop(in, ws->taken);
            ws->taken = 0;
            return WSOCK_MORE;
        }
        if (got == WS_EV_ERROR)
            return WSOCK_BROKEN;
        e = got == WS_EV_CONTROL ? on_control(ws, &piece, out) : on_data(ws, &piece, out);
    }
    return e;
}
