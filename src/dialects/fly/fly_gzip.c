/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_gzip.c - writes a gzip stream of stored blocks. Layer: dialects.
 */
#include "dialects/fly/fly_gzip.h"

#include <assert.h>
#include <zlib.h>

/* RFC 1952: deflate, no flags, no time, of an unknown system. */
static const unsigned char header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};

/* Little-endian, as all numbers here. */
static void put_number(struct buf *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_putc(out, (char)(value >> (8 * i) & 0xff));
}

/*
 * RFC 1951, 3.2.4: a stored block begins at a byte boundary here, because each one before ends at
 * one.
 */
static void put_block(struct buf *out, bool last, const void *bytes, size_t len)
{
    buf_putc(out, last);
    put_number(out, (uint32_t)len, 2);
    put_number(out, ~(uint32_t)len, 2);
    buf_put(out, bytes, len);
}

void fly_gzip_put(struct fly_gzip *g, struct buf *out, const void *bytes, size_t len)
{
    assert(len <= FLY_GZIP_PIECE_MAX);
    if (!g->begun)
        buf_put(out, header, sizeof header);
    g->begun = true;
    g->crc = (uint32_t)crc32(g->crc, bytes, (uInt)len);
    g->size += (uint32_t)len;
    put_block(out, false, bytes, len);
}

void fly_gzip_end(struct fly_gzip *g, struct buf *out)
{
    put_block(out, true, "", 0);
    put_number(out, g->crc, 4);
    put_number(out, g->size, 4);
}
