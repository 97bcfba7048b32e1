/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spdy.c - decodes SPDY/3.1 frames and their zlib headers, and encodes ours. Layer: dialects.
 */
#include "dialects/kubernetes/spdy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "dialects/kubernetes/kubernetes_limits.h"

#define VERSION 0x8003 /* the control bit, and version 3 */
#define FLAG_FIN 1
#define ID_MASK 0x7fffffffU

enum { SYN_STREAM = 1, SYN_REPLY = 2, RST_STREAM = 3, PING = 6, GOAWAY = 7, HEADERS = 8 };

/* --- the dictionary (SPDY Protocol, draft 3, 2.6.10.1) -------------------------------------- */

/* Names, each preceded by its length in 32 bits; then plain text. */
static const char *const dictionary_names[] = {
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
};
static const char dictionary_text[] =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 "
    "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
    "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

static uint32_t get32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void set32(char *p, uint32_t v)
{
    p[0] = (char)(v >> 24);
    p[1] = (char)(v >> 16);
    p[2] = (char)(v >> 8);
    p[3] = (char)v;
}

static void put32(struct buf *out, uint32_t v)
{
    char bytes[4];

    set32(bytes, v);
    buf_put(out, bytes, sizeof bytes);
}

static void put_dictionary(struct buf *out)
{
    for (size_t i = 0; i < sizeof dictionary_names / sizeof *dictionary_names; i++) {
        put32(out, (uint32_t)strlen(dictionary_names[i]));
        buf_puts(out, dictionary_names[i]);
    }
    buf_puts(out, dictionary_text);
}

/* --- headers -------------------------------------------------------------------------------- */

struct spdy_headers {
    size_t count;
    struct {
        const char *name, *value;
    } list[LIMIT_KUBE_HEADERS];
};

struct spdy {
    z_stream z;
    char head[8];
    size_t head_len;
    struct buf frame;   /* the body of a control frame */
    uint32_t left;      /* bytes left of the frame */
    struct buf headers; /* inflated */
    struct spdy_headers index;
};

const char *spdy_header(const struct spdy_headers *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->list[i].name, name) == 0)
            return h->list[i].value;
    return NULL;
}

static int set_dictionary(z_stream *z)
{
    struct buf dictionary = {0};
    int rc;

    put_dictionary(&dictionary);
    rc = inflateSetDictionary(z, (const Bytef *)buf_data(&dictionary), (uInt)dictionary.len);
    buf_fini(&dictionary);
    return rc;
}

/* Inflate even headers that nobody reads: the next block builds on this one. */
static int inflate_block(struct spdy *s, const char *block, size_t len)
{
    char room[4096];

    buf_clear(&s->headers);
    s->z.next_in = (Bytef *)(uintptr_t)block;
    s->z.avail_in = (uInt)len;
    do {
        int rc;

        s->z.next_out = (Bytef *)room;
        s->z.avail_out = sizeof room;
        rc = inflate(&s->z, Z_SYNC_FLUSH);
        if (rc == Z_NEED_DICT && set_dictionary(&s->z) == Z_OK)
            continue;
        if (rc != Z_OK && rc != Z_BUF_ERROR)
            return -EPROTO;
        buf_put(&s->headers, room, sizeof room - s->z.avail_out);
        if (s->headers.len > LIMIT_KUBE_HEADERS_BYTES)
            return -EPROTO;
    } while (s->z.avail_in > 0 || s->z.avail_out == 0);
    return 0;
}

/* A string preceded by its length. Its NUL overwrites the next length, which has been read by
 * then. */
static char *next_text(char **at, char *end, uint32_t *len)
{
    char *text = *at + 4;

    if (end - *at < 4)
        return NULL;
    *len = get32(*at);
    if (*len > (size_t)(end - text))
        return NULL;
    *at = text + *len;
    return text;
}

static int index_headers(struct spdy *s)
{
    char *at = buf_data(&s->headers), *end = at + s->headers.len, *open = NULL;
    uint32_t count, len;

    s->index.count = 0;
    if (s->headers.len < 4)
        return -EPROTO;
    count = get32(at);
    at += 4;
    if (count > LIMIT_KUBE_HEADERS)
        return -EPROTO;
    for (uint32_t i = 0; i < 2 * count; i++) {
        char *text = next_text(&at, end, &len);

        if (text == NULL)
            return -EPROTO;
        if (open != NULL)
            *open = '\0';
        open = text + len;
        if (i % 2 == 0)
            s->index.list[i / 2].name = text;
        else
            s->index.list[i / 2].value = text;
    }
    if (open != NULL)
        *open = '\0'; /* the buffer has one spare byte */
    s->index.count = count;
    return 0;
}

static int take_headers(struct spdy *s, size_t skip)
{
    if (s->frame.len < skip ||
        inflate_block(s, buf_data(&s->frame) + skip, s->frame.len - skip) < 0)
        return -EPROTO;
    buf_cstr(&s->headers); /* makes room for the last NUL */
    return index_headers(s);
}

/* --- frames --------------------------------------------------------------------------------- */

static int on_syn(struct spdy *s, const struct spdy_ops *ops, void *arg)
{
    if (take_headers(s, 10) < 0)
        return -EPROTO;
    ops->syn(arg, get32(buf_data(&s->frame)) & ID_MASK, &s->index);
    return 0;
}

/* The frame is complete in s->frame. We ignore unknown frames, as the protocol requires. */
static int on_control(struct spdy *s, const struct spdy_ops *ops, void *arg)
{
    unsigned type = (unsigned)(uint8_t)s->head[2] << 8 | (uint8_t)s->head[3];
    uint32_t id = s->frame.len >= 4 ? get32(buf_data(&s->frame)) : 0;

    switch (type) {
    case SYN_STREAM: return on_syn(s, ops, arg);
    case SYN_REPLY: return -EPROTO; /* we open no streams */
    case HEADERS: return take_headers(s, 4);
    case RST_STREAM:
        if (s->frame.len < 8)
            return -EPROTO;
        ops->rst(arg, id & ID_MASK);
        return 0;
    case PING:
        if (s->frame.len < 4)
            return -EPROTO;
        ops->ping(arg, id);
        return 0;
    case GOAWAY: ops->goaway(arg); return 0;
    default: return 0;
    }
}

static bool is_control(const struct spdy *s)
{
    return (s->head[0] & 0x80) != 0;
}

static int on_head(struct spdy *s)
{
    s->left = get32(s->head + 4) & 0xffffff;
    buf_clear(&s->frame);
    if (!is_control(s))
        return 0;
    if (get32(s->head) >> 16 != VERSION || s->left > LIMIT_KUBE_FRAME_BYTES)
        return -EPROTO;
    return 0;
}

/* Consumes the bytes of a frame, as many as have arrived. Sets *taken; 0 or -EPROTO. */
static int on_payload(struct spdy *s, const char *bytes, size_t len, size_t *taken,
                      const struct spdy_ops *ops, void *arg)
{
    size_t n = len < s->left ? len : s->left;
    bool whole = n == s->left;

    *taken = n;
    if (!is_control(s)) {
        *taken = ops->data(arg, get32(s->head) & ID_MASK, bytes, n,
                           whole && (s->head[4] & FLAG_FIN) != 0);
    } else {
        buf_put(&s->frame, bytes, n);
        if (whole && on_control(s, ops, arg) < 0)
            return -EPROTO;
    }
    s->left -= (uint32_t)*taken;
    if (*taken == n && whole)
        s->head_len = 0;
    return 0;
}

ssize_t spdy_feed(struct spdy *s, const char *bytes, size_t len, const struct spdy_ops *ops,
                  void *arg)
{
    size_t used = 0, taken;

    while (used < len) {
        if (s->head_len < sizeof s->head) {
            s->head[s->head_len++] = bytes[used++];
            if (s->head_len < sizeof s->head)
                continue;
            if (on_head(s) < 0)
                return -EPROTO;
            if (s->left > 0)
                continue;
        }
        if (on_payload(s, bytes + used, len - used, &taken, ops, arg) < 0)
            return -EPROTO;
        used += taken;
        if (s->head_len == sizeof s->head && s->left > 0 && used < len)
            break; /* the owner accepts no more for now */
    }
    return (ssize_t)used;
}

struct spdy *spdy_new(void)
{
    struct spdy *s = hf_xalloc(sizeof *s);

    if (inflateInit(&s->z) == Z_OK)
        return s;
    free(s);
    return NULL;
}

void spdy_free(struct spdy *s)
{
    if (s == NULL)
        return;
    inflateEnd(&s->z);
    buf_fini(&s->frame);
    buf_fini(&s->headers);
    free(s);
}

/* --- encoding ------------------------------------------------------------------------------- */

static void put_control(struct buf *out, unsigned type, size_t len)
{
    put32(out, (uint32_t)VERSION << 16 | type);
    put32(out, (uint32_t)len);
}

/*
 * An empty header block, "deflated" by hand: a stored block with the count of zero, then an empty
 * block, since Go's inflater produces no output before it. The first one is preceded by the head of
 * the zlib stream with the checksum of the dictionary.
 */
void spdy_put_reply(struct buf *out, uint32_t id, bool first)
{
    static const char head[] = "\x78\xbb\xe3\xc6\xa7\xc2";
    static const char none[] = "\x00\x04\x00\xfb\xff\x00\x00\x00\x00\x00\x00\x00\xff\xff";
    size_t head_len = first ? sizeof head - 1 : 0;

    put_control(out, SYN_REPLY, 4 + head_len + sizeof none - 1);
    put32(out, id);
    buf_put(out, head, head_len);
    buf_put(out, none, sizeof none - 1);
}

void spdy_data_header(char out[SPDY_DATA_HEADER], uint32_t id, size_t len, bool fin)
{
    set32(out, id & ID_MASK);
    set32(out + 4, (uint32_t)len | (fin ? (uint32_t)FLAG_FIN << 24 : 0));
}

void spdy_put_ping(struct buf *out, uint32_t id)
{
    put_control(out, PING, 4);
    put32(out, id);
}

void spdy_put_rst(struct buf *out, uint32_t id, uint32_t status)
{
    put_control(out, RST_STREAM, 8);
    put32(out, id);
    put32(out, status);
}
