/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse.h - one server-sent event as bytes. Layer: transport.
 */
#ifndef HF_TRANSPORT_SSE_H
#define HF_TRANSPORT_SSE_H

#include "base/buf.h"

#define SSE_TYPE "text/event-stream"
#define SSE_KEEPALIVE_MS 15000 /* a comment line now and then keeps proxies from closing */

/* Appends "event:", "id:" and "data:" lines; event and id may be NULL. Line ends
 * inside data become further data: lines. */
void sse_event(struct buf *out, const char *event, const char *id, const char *data, size_t len);
void sse_comment(struct buf *out, const char *text);

#endif
