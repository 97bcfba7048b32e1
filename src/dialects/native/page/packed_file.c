/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_file.c - a file that the binary holds compressed, as a reply
 *
 * See packed_file.h. Layer: dialects.
 */
#include "dialects/native/page/packed_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* gzip, for inflateInit2(): the window bits, plus 16 for the wrapper. */
#define GZIP_WINDOW (15 + 16)

/* A gzip file ends with the size of its content, little-endian. */
static size_t size_inside(const char *end)
{
    const unsigned char *at = (const unsigned char *)end - 4;

    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/* NULL: out of memory. The file is our own, so no peer chooses its size. */
static char *unpack(const char *gz, const char *end, size_t *size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)gz, .avail_in = (uInt)(end - gz)};
    char *out;

    *size = size_inside(end);
    out = malloc(*size + 1);
    if (out == NULL || inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
        free(out);
        return NULL;
    }
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)*size + 1;
    if (inflate(&z, Z_FINISH) != Z_STREAM_END) {
        free(out);
        out = NULL;
    }
    inflateEnd(&z);
    return out;
}

const char *packed_file_text(struct packed_file *f, const char *gz, const char *end, size_t *len)
{
    if (f->text == NULL)
        f->text = unpack(gz, end, &f->text_len);
    *len = f->text_len;
    return f->text;
}

static void reply_unpacked(struct http_request *rq, int status, const char *type,
                           struct packed_file *f, const char *gz, const char *end)
{
    struct hf_error err;
    size_t len = 0;
    const char *text = packed_file_text(f, gz, end, &len);

    if (text == NULL) {
        hf_fail(&err, HF_E_no_memory,
                "out of memory while unpacking this file; send Accept-Encoding: gzip");
        http_reply_error(rq, &err);
        return;
    }
    http_reply_lent(rq, status, type, text, len);
}

void packed_file_reply(struct http_request *rq, int status, const char *type, struct packed_file *f,
                       const char *gz, const char *end)
{
    http_add_header(rq, "Vary", "Accept-Encoding");
    if (!http_lists(rq, "Accept-Encoding", "gzip")) {
        reply_unpacked(rq, status, type, f, gz, end);
        return;
    }
    http_add_header(rq, "Content-Encoding", "gzip");
    http_reply_lent(rq, status, type, gz, (size_t)(end - gz));
}
