/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_accept.h - what a WebSocket's handshake is answered with
 *
 * Pure: text in, text out. Layer: transport; base only.
 */
#ifndef HF_TRANSPORT_WS_ACCEPT_H
#define HF_TRANSPORT_WS_ACCEPT_H

#include "base/buf.h"

/* Sec-WebSocket-Accept for this Sec-WebSocket-Key. */
void ws_put_accept(struct buf *out, const char *key);
/*
 * One of the sub-protocols of a Sec-WebSocket-Protocol for a WebSocket that is accepted only to be
 * closed: browsers fail one that answers none of those they offered, and then do not show the close
 * code. The first that is no token will do. NULL: there is none.
 */
const char *ws_pick_protocol(const char *offered, char *out, size_t room);
/* Tokens must not come back in an answer: proxies log headers. */
bool ws_protocol_is_secret(const char *protocol);

#endif
