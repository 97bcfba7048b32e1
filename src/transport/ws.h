/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws.h - RFC 6455 on a connection
 *
 * Text messages are collected (bounded by LIMIT_WS_TEXT_BYTES) and checked to be UTF-8; binary ones
 * are delivered in pieces as they arrive, unmasked in place, so a frame of any size costs no
 * memory. Pings, pongs, the close handshake and its time-outs are done here: a ping every
 * WS_PING_MS, and the peer counts as gone after WS_PONG_MS without a pong.
 *
 * Sending accepts everything and buffers what the socket has no room for: send output only while
 * ws_ready(). Layer: transport.
 */
#ifndef HF_TRANSPORT_WS_H
#define HF_TRANSPORT_WS_H

#include "transport/http.h"

struct ws;

#define WS_CODE_TOKEN_ENDED 4401 /* the token was rotated or removed */
#define WS_CODE_GAP 4416         /* bytes are lost, and this protocol cannot say which */
#define WS_CODE_LINK_ENDED 4410  /* the link was revoked or has expired */

enum ws_opcode { WS_TEXT = 1, WS_BINARY = 2 };

struct ws_ops {
    /* A whole text message; the bytes are NUL-terminated and valid until return. */
    void (*on_text)(void *arg, const char *text, size_t len);
    /* A text message that was longer than allowed has been skipped, and nothing of it was kept;
     * NULL: the connection ends with 1009 instead. */
    void (*on_text_too_long)(void *arg);
    /* A piece of a binary message; returns how many bytes were consumed. Fewer than len stops the
     * reading until ws_resume(); the rest is delivered again. */
    size_t (*on_binary)(void *arg, const void *bytes, size_t len, bool last);
    void (*on_drain)(void *arg); /* what was buffered is sent */
    /* The response to a ws_ping(), or another pong; NULL: not wanted. */
    void (*on_pong)(void *arg);
    void (*on_receipt)(void *arg); /* ws_count_received() has grown; NULL: not wanted */
    /* The end, once: peer's close code, or 1006 when the connection broke. ws is dead after. */
    void (*on_closed)(void *arg, int code);
};

/* Is this the close code of a peer that left for good? Otherwise the connection was cut, or an
 * intermediary shut down. */
bool ws_has_left(int code);

/* Subprotocols the peer offers, comma separated as sent; "" if none. */
const char *ws_offered(const struct http_request *rq);
bool ws_is_offered(const struct http_request *rq, const char *protocol);
/* Can the handshake succeed? The gate has checked this for routes that are for upgrades only. */
bool ws_version_is_ours(const struct http_request *rq);
bool ws_key_is_valid(const struct http_request *rq);
/* Replies with 101. `protocol` is NULL, or named in the response if it was offered. */
struct ws *ws_accept(struct http_request *rq, const char *protocol, const struct ws_ops *ops,
                     void *arg);
/* Accepts, then closes with this code and reason: how a refusal reaches a browser. */
void ws_refuse(struct http_request *rq, int code, const char *reason);

bool ws_ready(const struct ws *ws);  /* nothing buffered: room for output */
size_t ws_held(const struct ws *ws); /* bytes buffered */
void ws_send(struct ws *ws, enum ws_opcode opcode, const struct iovec *iov, int count);
void ws_send_text(struct ws *ws, const char *text, size_t len);
void ws_ping(struct ws *ws); /* in addition to the keep-alive pings */
/*
 * How much was sent, in bytes on the wire, and how much of it the peer has certainly received. The
 * first requests a receipt with a ping, which peers answer when they have read everything before
 * it; for a peer that sends no pong for WS_RECEIPT_MS it is what its kernel has acknowledged.
 * on_receipt reports pongs.
 */
uint64_t ws_count_sent(struct ws *ws);
uint64_t ws_count_received(struct ws *ws);
/* Longer text messages than LIMIT_WS_TEXT_BYTES, for a platform whose input comes as text. */
void ws_allow_text(struct ws *ws, size_t bytes);
/* The peer has presented a token in a message; like http_set_trusted(). */
void ws_set_trusted(struct ws *ws, enum role role);
/* Nothing more is read, and no callback delivers data, until ws_resume(): for text, which is
 * delivered whole. */
void ws_pause(struct ws *ws);
void ws_resume(struct ws *ws);
/* Sends a close frame and ends after the peer's; on_closed is still called, later. */
void ws_close(struct ws *ws, int code, const char *reason);
void ws_abort(struct ws *ws); /* cuts at once; on_closed is not called */
enum role ws_role(const struct ws *ws);
const char *ws_peer(const struct ws *ws);

#endif
