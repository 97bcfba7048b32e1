/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_gzip.h - a gzip stream that preserves the boundaries of its pieces
 *
 * Each piece becomes one uncompressed block of a gzip stream and can be unpacked as soon as it
 * arrives. A client that unpacks block by block gets the original pieces. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_GZIP_H
#define HF_DIALECTS_FLY_FLY_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define FLY_GZIP_PIECE_MAX 65535

struct fly_gzip { /* {0}: nothing written yet */
    uint32_t crc, size;
    bool begun;
};

void fly_gzip_put(struct fly_gzip *g, struct buf *out, const void *bytes, size_t len);
void fly_gzip_end(struct fly_gzip *g, struct buf *out); /* at least one piece must precede it */

#endif
