/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdy.h - as much of SPDY/3.1 as kubectl speaks: decodes frames into calls, and encodes ours
 *
 * Control frames are small and buffered whole; data is passed on in pieces as it arrives. Headers
 * are one zlib stream per direction over the whole connection. Ours are always empty, and so need
 * no compressor. There is no flow control: none of the clients implements it. Pure. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_SPDY_H
#define HF_DIALECTS_KUBERNETES_SPDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct spdy;
struct spdy_headers;

/* No callback may free the decoder. */
struct spdy_ops {
    void (*syn)(void *arg, uint32_t id, const struct spdy_headers *h);
    /* Returns how many bytes were consumed; the caller feeds the rest again. `fin`: last of the
     * stream. */
    size_t (*data)(void *arg, uint32_t id, const char *bytes, size_t len, bool fin);
    void (*rst)(void *arg, uint32_t id);
    void (*ping)(void *arg, uint32_t id);
    void (*goaway)(void *arg);
};

struct spdy *spdy_new(void); /* NULL: out of memory */
void spdy_free(struct spdy *s);
/* Returns how many bytes were consumed, or -EPROTO: not SPDY/3, or over our limits. */
ssize_t spdy_feed(struct spdy *s, const char *bytes, size_t len, const struct spdy_ops *ops,
                  void *arg);
/* Looks up a lower-case name; NULL: absent. Valid until the callback returns. */
const char *spdy_header(const struct spdy_headers *h, const char *name);

/* --- encoding ------------------------------------------------------------------------------- */

#define SPDY_DATA_HEADER 8
#define SPDY_DATA_MAX 0xffffff

/* `first`: the first reply of this connection begins the stream of headers. */
void spdy_put_reply(struct buf *out, uint32_t id, bool first);
void spdy_data_header(char out[SPDY_DATA_HEADER], uint32_t id, size_t len, bool fin);
void spdy_put_ping(struct buf *out, uint32_t id);
void spdy_put_rst(struct buf *out, uint32_t id, uint32_t status);
enum { SPDY_PROTOCOL_ERROR = 1, SPDY_REFUSED_STREAM = 3, SPDY_INTERNAL_ERROR = 6 };

#endif
