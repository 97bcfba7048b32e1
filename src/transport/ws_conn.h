/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_conn.h - the WebSocket interface for the server's other files
 *
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_WS_CONN_H
#define HF_TRANSPORT_WS_CONN_H

#include "transport/http_request.h"
#include "transport/ws.h"

#define WS_SILENT_TICKS (WS_PONG_MS / WS_PING_MS) /* pings without a sign of life */

/* Takes the connection over from an accepted handshake (ws_handshake.c). */
struct ws *ws_new(struct conn *c, enum role role, bool deflate, const struct ws_ops *ops,
                  void *arg);
/* Sends a close frame and lets the connection finish by itself: what the peer still sends is
 * dropped. The owner is notified at once; ws is dead. */
void ws_fail(struct ws *ws, int code, const char *reason);
/* The server is shutting down: closes a WebSocket with 1001 and leaves anything else alone. */
void ws_drain(struct conn *c);
/* Closes it if it is a WebSocket; false if not. */
bool ws_cut(struct conn *c, int code, const char *reason);

#endif
