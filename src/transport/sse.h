/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse.h - server-sent events: the encoding, and a response stream of events
 *
 * Layer: transport.
 */
#ifndef HF_TRANSPORT_SSE_H
#define HF_TRANSPORT_SSE_H

#include "base/buf.h"
#include "transport/http.h"

#define SSE_TYPE "text/event-stream"
#define SSE_KEEPALIVE_MS 15000 /* of silence, which proxies must not mistake for the end */

/* Appends "event:", "id:" and "data:" lines; event and id may be NULL. Line ends
 * inside data become further data: lines. */
void sse_event(struct buf *out, const char *event, const char *id, const char *data, size_t len);

/* Starts a 200 response with a stream of events, and comments while there are none. */
struct http_stream *sse_start(struct http_request *rq, const struct http_stream_ops *ops,
                              void *arg);
/* One event; not copied unless the data has more than one line. */
void sse_send(struct http_stream *st, const char *event, const char *id, const char *data,
              size_t len);

#endif
