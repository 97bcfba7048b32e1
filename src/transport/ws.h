/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws.h - RFC 6455 on a connection
 *
 * Text messages are collected (bounded by LIMIT_WS_TEXT_BYTES) and checked to be UTF-8; binary ones
 * are handed on in pieces as they arrive, unmasked in place, so a frame of any
 * size costs no memory. Pings, pongs, the close handshake and its time-outs are done here: a
 * ping every WS_PING_MS, gone after WS_PONG_MS without a pong.
 * Sending takes everything and holds what the socket has no room for: send
 * output only while ws_ready(). Layer: transport.
 */
#ifndef HF_TRANSPORT_WS_H
#define HF_TRANSPORT_WS_H

#include "transport/http.h"

struct ws;

#define WS_CODE_TOKEN_ENDED 4401 /* the token was rotated or taken away */
#define WS_CODE_GAP 4416         /* bytes are gone, and this connection has no way to tell which */
#define WS_CODE_LINK_ENDED 4410  /* the link was revoked or has ended */

enum ws_opcode { WS_TEXT = 1, WS_BINARY = 2 };

struct ws_ops {
    /* A whole text message; the bytes are NUL-terminated and good until return. */
    void (*on_text)(void *arg, const char *text, size_t len);
    /* A text message that was longer than allowed has been passed over, and nothing of it was
     * kept; NULL: the connection ends with 1009 instead. */
    void (*on_text_too_long)(void *arg);
    /* A piece of a binary message; returns how many bytes were taken. Fewer
     * than len stops the reading until ws_resume(); the rest comes again. */
    size_t (*on_binary)(void *arg, const void *bytes, size_t len, bool last);
    void (*on_drain)(void *arg); /* what was held is sent */
    void (*on_pong)(void *arg);  /* the answer to a ws_ping(), or another pong; NULL: not wanted */
    void (*on_receipt)(void *arg); /* ws_count_received() has grown; NULL: not wanted */
    /* The end, once: peer's close code, or 1006 when the connection broke. ws is dead after. */
    void (*on_closed)(void *arg, int code);
};

/* Is this the close code of a peer that left for good? Else the line was cut, or somebody in between had to go. */
bool ws_has_left(int code);

/* Subprotocols the peer offers, comma separated as sent; "" if none. */
const char *ws_offered(const struct http_request *rq);
bool ws_is_offered(const struct http_request *rq, const char *protocol);
/* Can the handshake be answered? The gate has asked where a route is for upgrades only. */
bool ws_version_is_ours(const struct http_request *rq);
bool ws_key_is_valid(const struct http_request *rq);
/* Answers 101. `protocol` is NULL, or named in the answer if it was offered. */
struct ws *ws_accept(struct http_request *rq, const char *protocol, const struct ws_ops *ops,
                     void *arg);
/* Accepts, then closes with this code and reason: how a refusal reaches a browser. */
void ws_refuse(struct http_request *rq, int code, const char *reason);

bool ws_ready(const struct ws *ws);  /* nothing held: room for output */
size_t ws_held(const struct ws *ws); /* bytes held */
void ws_send(struct ws *ws, enum ws_opcode opcode, const struct iovec *iov, int count);
void ws_send_text(struct ws *ws, const char *text, size_t len);
void ws_ping(struct ws *ws); /* beside those that keep the connection alive */
/*
 * How much was sent, in a count of bytes on the wire, and how much of it the peer has certainly got. The first
 * asks for it by a ping, which peers answer when they have read all before it; of a peer
 * that answers none for WS_RECEIPT_MS it is what its kernel has acknowledged. on_receipt tells of answers.
 */
uint64_t ws_count_sent(struct ws *ws);
uint64_t ws_count_received(struct ws *ws);
/* Longer text messages than LIMIT_WS_TEXT_BYTES, for a platform whose input comes as text. */
void ws_allow_text(struct ws *ws, size_t bytes);
/* The peer has shown a token in a message; as http_set_trusted(). */
void ws_set_trusted(struct ws *ws, enum role role);
/* Nothing more is read, and no callback brings data, until ws_resume(): for text, which comes whole. */
void ws_pause(struct ws *ws);
void ws_resume(struct ws *ws);
/* Sends a close frame and ends after the peer's answer; on_closed is still called, later. */
void ws_close(struct ws *ws, int code, const char *reason);
void ws_abort(struct ws *ws); /* cut at once; on_closed is not called */
enum role ws_role(const struct ws *ws);
const char *ws_peer(const struct ws *ws);

#endif
