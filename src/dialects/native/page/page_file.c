/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.c - the browser page that is built into the binary
 *
 * web/ builds one compressed file, and the policy that names the hashes of its script and its style
 * sheet, so that a browser runs nothing else. A binary that was built without npm has neither: the
 * symbols are weak, and a page of a few lines replaces them. Layer: dialects.
 */
#include "dialects/native/page/page_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/embed.h"
#include "base/error.h"

/* gzip, for inflateInit2(): the window bits, plus 16 for the wrapper. */
#define GZIP_WINDOW (15 + 16)
#define GZIP_TRAILER_BYTES 8

static const char page_type[] = "text/html; charset=utf-8";

static const char no_page[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>holdfast</title>\n"
    "</head>\n"
    "<body>\n"
    "<h1>holdfast</h1>\n"
    "<p>This is the process and terminal daemon of this machine. It serves an API; the page "
    "for browsers is not in this binary, because npm was not available when it was built. "
    "To build it, run <code>scripts/setup start</code>, then <code>make</code>.</p>\n"
    "<ul>\n"
    "<li><a href=\"/openapi.json\">openapi.json</a>: every call and its replies</li>\n"
    "<li><a href=\"/v1/processes\">processes</a></li>\n"
    "<li><a href=\"/v1/info\">version, limits and features</a></li>\n"
    "<li><a href=\"/metrics\">metrics</a></li>\n"
    "</ul>\n"
    "<p>All of them require a token, or the cookie that a one-time link sets "
    "(<code>POST /v1/tickets</code>).</p>\n"
    "</body>\n"
    "</html>\n";

/* A gzip file ends with the size of its content, little-endian. */
static size_t size_inside(const unsigned char *gz, size_t len)
{
    const unsigned char *at = gz + len - 4;

    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

/* NULL: out of memory. The file is our own, so no peer chooses its size. */
static char *unpack(const char *gz, size_t len, size_t *size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)gz, .avail_in = (uInt)len};
    char *out;

    *size = size_inside((const unsigned char *)gz, len);
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

/*
 * The uncompressed page; NULL: out of memory. Inflated for the first peer that needs it, then kept:
 * any peer may request it, so we spend the time and the memory only once.
 */
static const char *unpacked_page(const char *gz, size_t len, size_t *size)
{
    static const char *text;
    static size_t text_len;

    if (text == NULL)
        text = unpack(gz, len, &text_len);
    *size = text_len;
    return text;
}

static void send_unpacked(struct http_request *rq, int status, const char *gz, size_t len)
{
    struct hf_error err;
    size_t size = 0;
    const char *text = unpacked_page(gz, len, &size);

    if (text == NULL) {
        hf_fail(&err, HF_E_no_memory, "out of memory while unpacking the page; accept gzip");
        http_reply_error(rq, &err);
        return;
    }
    http_reply_lent(rq, status, page_type, text, size);
}

/* Size of the compressed page; 0: not in this binary. */
static size_t page_bytes(void)
{
    uintptr_t start = (uintptr_t)embed_page_html_gz_start;
    size_t len = (size_t)((uintptr_t)embed_page_html_gz_end - start);

    return start != 0 && len > GZIP_TRAILER_BYTES ? len : 0;
}

bool page_file_is_there(void)
{
    return page_bytes() > 0;
}

void page_file_send(struct http_request *rq, int status)
{
    size_t len = page_bytes();

    http_add_header(rq, "Content-Security-Policy",
                    len > 0 ? embed_page_csp_start
                            : "default-src 'none'; base-uri 'none'; form-action 'none'; "
                              "frame-ancestors 'none'");
    http_add_header(rq, "Referrer-Policy", "no-referrer");
    if (len == 0) {
        http_reply_lent(rq, status, page_type, no_page, sizeof no_page - 1);
        return;
    }
    http_add_header(rq, "Vary", "Accept-Encoding");
    if (!http_lists(rq, "Accept-Encoding", "gzip")) {
        send_unpacked(rq, status, embed_page_html_gz_start, len);
        return;
    }
    http_add_header(rq, "Content-Encoding", "gzip");
    http_reply_lent(rq, status, page_type, embed_page_html_gz_start, len);
}
