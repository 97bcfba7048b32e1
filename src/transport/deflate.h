/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deflate.h - permessage-deflate (RFC 7692), without context takeover
 *
 * Neither side carries its window over to the next message (no_context_takeover), so one compressor
 * serves all connections and a decompressor is needed only while a message is arriving. Layer:
 * transport; zlib.
 */
#ifndef HF_TRANSPORT_DEFLATE_H
#define HF_TRANSPORT_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"

/* Shorter messages are sent uncompressed: the header would outweigh the gain. */
#define DEFLATE_MIN_BYTES 256

struct deflater;
struct deflater *deflater_new(void); /* NULL: out of memory */
void deflater_free(struct deflater *d);
/* Compresses one whole message. The result, without the empty block at its end, is valid until the
 * next call. NULL: it failed, send the message uncompressed. */
const struct buf *deflater_run(struct deflater *d, const struct iovec *iov, int count);

struct inflater;
struct inflater *inflater_new(void); /* NULL: out of memory */
void inflater_free(struct inflater *i);
/* Consumes *used bytes of the input and writes *made bytes; 0, or -EPROTO. With *made == room there
 * may be more output without further input. `last`: the message ends after this input. */
int inflater_run(struct inflater *i, const char *in, size_t len, bool last, size_t *used, char *out,
                 size_t room, size_t *made);

/* Does the Sec-WebSocket-Extensions offer include a permessage-deflate that we can accept? The
 * response to it is DEFLATE_RESPONSE. */
bool deflate_is_offered(const char *extensions);
#define DEFLATE_RESPONSE                                                                           \
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

#endif
