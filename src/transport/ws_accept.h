/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_accept.h - computes the response to a WebSocket handshake
 *
 * Pure: text in, text out. Layer: transport; base only.
 */
#ifndef HF_TRANSPORT_WS_ACCEPT_H
#define HF_TRANSPORT_WS_ACCEPT_H

#include "base/buf.h"

/* Sec-WebSocket-Accept for this Sec-WebSocket-Key. */
void ws_put_accept(struct buf *out, const char *key);
/*
 * One of the subprotocols of a Sec-WebSocket-Protocol, for a WebSocket that is accepted only to be
 * closed: a browser fails a handshake that selects none of those it offered, and then does not show
 * the close code. Picks the first that is not a token. NULL: there is none.
 */
const char *ws_pick_protocol(const char *offered, char *out, size_t room);
/* Tokens must not appear in a response: proxies log headers. */
bool ws_protocol_is_secret(const char *protocol);

#endif
