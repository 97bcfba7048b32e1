/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate.h - permessage-deflate (RFC 7692), without memory of earlier messages
 *
 * Both sides are told not to carry their window over (no_context_takeover), so
 * one compressor serves all connections and a decompressor is only needed
 * while a message is coming in. Layer: transport; zlib.
 */
#ifndef HF_TRANSPORT_DEFLATE_H
#define HF_TRANSPORT_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"

/* Shorter messages are sent as they are: the header would eat the gain. */
#define DEFLATE_MIN_BYTES 256

struct deflater;
struct deflater *deflater_new(void); /* NULL: out of memory */
void deflater_free(struct deflater *d);
/* One whole message; the result, without the empty block at its end, is good until the next
 * call. NULL: it failed, send the message as it is. */
const struct buf *deflater_run(struct deflater *d, const struct iovec *iov, int count);

struct inflater;
struct inflater *inflater_new(void); /* NULL: out of memory */
void inflater_free(struct inflater *i);
/* Takes *used of the input and writes *made of the room; 0, or -EPROTO. With *made == room
 * there may be more without further input. `last`: the message ends behind this input. */
int inflater_run(struct inflater *i, const char *in, size_t len, bool last, size_t *used, char *out,
                 size_t room, size_t *made);

/* Does the Sec-WebSocket-Extensions offer have a permessage-deflate we can accept? The answer to it
 * is DEFLATE_ANSWER. */
bool deflate_is_offered(const char *extensions);
#define DEFLATE_ANSWER "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

#endif
