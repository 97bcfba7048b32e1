/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdy.h - as much of SPDY/3.1 as kubectl speaks: frames in, calls out; and the frames back
 *
 * Control frames are held whole and are small; data is handed on in pieces as it arrives. Headers are one zlib
 * stream over the whole connection, in both directions. Ours are always empty, and so need no
 * compressor. There is no flow control: nobody who speaks this has it. Pure. Layer: dialects.
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

/* None of them may free the decoder. */
struct spdy_ops {
    void (*syn)(void *arg, uint32_t id, const struct spdy_headers *h);
    /* How many bytes were taken; fewer: the rest is to be fed again. `fin`: the stream ends with them. */
    size_t (*data)(void *arg, uint32_t id, const char *bytes, size_t len, bool fin);
    void (*rst)(void *arg, uint32_t id);
    void (*ping)(void *arg, uint32_t id);
    void (*goaway)(void *arg);
};

struct spdy *spdy_new(void); /* NULL: out of memory */
void spdy_free(struct spdy *s);
/* How many bytes were taken, or -EPROTO: what comes is not SPDY/3, or more than we bear. */
ssize_t spdy_feed(struct spdy *s, const char *bytes, size_t len, const struct spdy_ops *ops,
                  void *arg);
/* Of a name in lower case; NULL: it is not there. Good until the call returns. */
const char *spdy_header(const struct spdy_headers *h, const char *name);

/* --- the other direction -------------------------------------------------------------------- */

#define SPDY_DATA_HEADER 8
#define SPDY_DATA_MAX 0xffffff

/* `first`: of this connection, since the stream of headers begins with it. */
void spdy_put_reply(struct buf *out, uint32_t id, bool first);
void spdy_data_header(char out[SPDY_DATA_HEADER], uint32_t id, size_t len, bool fin);
void spdy_put_ping(struct buf *out, uint32_t id);
void spdy_put_rst(struct buf *out, uint32_t id, uint32_t status);
enum { SPDY_PROTOCOL_ERROR = 1, SPDY_REFUSED_STREAM = 3, SPDY_INTERNAL_ERROR = 6 };

#endif
