/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_gzip.c - gzip as a stream. Layer: files.
 */
#include "files/files_gzip.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"

#define GZIP_ONLY (16 + MAX_WBITS)
#define GZIP_FIRST 0x1f /* the first byte of each member, */
#define GZIP_SECOND 0x8b
#define BLOCK_BYTES (64 * 1024)
#define MEMORY_LEVEL 8
#define LEVEL 1 /* a download is as fast as its compression */

/* --- unpacking ------------------------------------------------------------------------------- */

struct gunzip {
    z_stream z;
    bool over; /* at the end of a member */
    files_sink *sink;
    void *arg;
};

static int gunzip_block(struct gunzip *g, char *bytes, size_t len)
{
    static char plain[BLOCK_BYTES];

    g->z.next_in = (Bytef *)bytes;
    g->z.avail_in = (uInt)len;
    do {
        int rc;

        if (g->over) { /* another member, or padding */
            if (g->z.avail_in == 0 || *g->z.next_in != GZIP_FIRST)
                return 0;
            if (inflateReset(&g->z) != Z_OK)
                return -EBADMSG;
            g->over = false;
        }
        g->z.next_out = (Bytef *)plain;
        g->z.avail_out = sizeof plain;
        rc = inflate(&g->z, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return -EBADMSG;
        g->over = rc == Z_STREAM_END;
        rc = g->sink(g->arg, plain, sizeof plain - g->z.avail_out);
        if (rc != 0)
            return rc;
    } while (g->z.avail_in > 0 || g->z.avail_out == 0);
    return 0;
}

int files_gunzip(int fd, files_sink *sink, void *arg)
{
    static char packed[BLOCK_BYTES];
    struct gunzip g = {.sink = sink, .arg = arg};
    int rc = 0;
    ssize_t n;

    if (inflateInit2(&g.z, GZIP_ONLY) != Z_OK)
        return -ENOMEM;
    while (rc == 0 && (n = hf_read(fd, packed, sizeof packed)) != 0)
        rc = n < 0 ? (int)n : gunzip_block(&g, packed, (size_t)n);
    if (rc == 0 && !g.over)
        rc = -ENODATA;
    inflateEnd(&g.z);
    return rc;
}

int files_gunzip_or_pour(int fd, files_sink *sink, void *arg)
{
    static char block[BLOCK_BYTES];
    struct gunzip g = {.sink = sink, .arg = arg};
    size_t have = 0;
    ssize_t n = 1;
    bool packed;
    int rc = 0;

    while (have < 2 && n > 0) {
        n = hf_read(fd, block + have, sizeof block - have);
        have += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        return (int)n;
    packed = have >= 2 && (unsigned char)block[0] == GZIP_FIRST &&
             (unsigned char)block[1] == GZIP_SECOND;
    if (packed && inflateInit2(&g.z, GZIP_ONLY) != Z_OK)
        return -ENOMEM;
    for (n = (ssize_t)have; rc == 0 && n != 0; n = rc == 0 ? hf_read(fd, block, sizeof block) : 0) {
        if (n < 0)
            rc = (int)n;
        else
            rc = packed ? gunzip_block(&g, block, (size_t)n) : sink(arg, block, (size_t)n);
    }
    if (rc == 0 && packed && !g.over)
        rc = -ENODATA;
    if (packed)
        inflateEnd(&g.z);
    return rc;
}

int files_pour(int fd, files_sink *sink, void *arg)
{
    static char block[BLOCK_BYTES];
    int rc = 0;
    ssize_t n;

    while (rc == 0 && (n = hf_read(fd, block, sizeof block)) != 0)
        rc = n < 0 ? (int)n : sink(arg, block, (size_t)n);
    return rc;
}

/* --- packing --------------------------------------------------------------------------------- */

int files_gzip_init(struct files_gzip *g, bool on, files_sink *sink, void *arg)
{
    *g = (struct files_gzip){.on = on, .sink = sink, .arg = arg};
    if (on &&
        deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_ONLY, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    return 0;
}

static int gzip_run(struct files_gzip *g, const char *bytes, size_t len, int how)
{
    static char packed[BLOCK_BYTES];

    g->z.next_in = (Bytef *)(uintptr_t)bytes;
    g->z.avail_in = (uInt)len;
    do {
        size_t n;
        int rc;

        g->z.next_out = (Bytef *)packed;
        g->z.avail_out = sizeof packed;
        deflate(&g->z, how);
        n = sizeof packed - g->z.avail_out;
        rc = n > 0 ? g->sink(g->arg, packed, n) : 0;
        if (rc != 0)
            return rc;
    } while (g->z.avail_out == 0);
    return 0;
}

int files_gzip_put(struct files_gzip *g, const char *bytes, size_t len)
{
    if (!g->on)
        return g->sink(g->arg, bytes, len);
    return len > 0 ? gzip_run(g, bytes, len, Z_NO_FLUSH) : 0;
}

int files_gzip_end(struct files_gzip *g)
{
    int rc;

    if (!g->on)
        return 0;
    rc = gzip_run(g, NULL, 0, Z_FINISH);
    deflateEnd(&g->z);
    return rc;
}
