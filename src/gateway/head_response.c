/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_response.c - the head of a response as sent to the client
 *
 * Layer: gateway.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "gateway/head.h"
#include "gateway/head_names.h"

static void put_line(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_put(out, ": ", 2);
    buf_puts(out, value);
    buf_put(out, "\r\n", 2);
}

static void put_status(struct buf *out, const struct http1 *rs)
{
    const char status[] = {(char)('0' + rs->status / 100 % 10), (char)('0' + rs->status / 10 % 10),
                           (char)('0' + rs->status % 10), ' '};

    buf_puts(out, "HTTP/1.1 ");
    buf_put(out, status, sizeof status);
    buf_put(out, buf_data(&rs->reason), rs->reason.len);
    buf_put(out, "\r\n", 2);
}

/* "/login" is a path of the sandbox, which lies below the gateway's prefix. */
static void put_location(struct buf *out, const struct head_response *h, const char *value)
{
    size_t n = strlen(h->upstream);

    if (h->place->prefix_len == 0) {
        put_line(out, "Location", value);
        return;
    }
    if (strncasecmp(value, "http://", 7) == 0 && strncmp(value + 7, h->upstream, n) == 0 &&
        (value[7 + n] == '/' || value[7 + n] == '\0'))
        value += 7 + n;
    if (value[0] == '\0' || (value[0] == '/' && value[1] != '/'))
        buf_printf(out, "Location: %.*s%s\r\n", (int)h->place->prefix_len, h->place->path, value);
    else
        put_line(out, "Location", value);
}

/* Finds "Path=" among a cookie's attributes; NULL if there is none. */
static const char *cookie_path(const char *value)
{
    const char *s = value;

    while ((s = strchr(s, ';')) != NULL) {
        s++;
        s += strspn(s, " \t");
        if (strncasecmp(s, "path=", 5) == 0)
            return s + 5;
    }
    return NULL;
}

/* All sandboxes share the gateway's host: each one's cookies stay below its own prefix. */
static void put_cookie(struct buf *out, const struct head_response *h, const char *value)
{
    const char *path = cookie_path(value);
    int prefix = (int)h->place->prefix_len;
    size_t n;

    if (prefix == 0) {
        put_line(out, "Set-Cookie", value);
    } else if (path == NULL) {
        buf_printf(out, "Set-Cookie: %s; Path=%.*s\r\n", value, prefix, h->place->path);
    } else {
        n = strcspn(path, ";");
        buf_printf(out, "Set-Cookie: %.*s%.*s%.*s%s\r\n", (int)(path - value), value, prefix,
                   h->place->path, (int)(*path == '/' ? n : 0), path, path + n);
    }
}

static void put_field(struct buf *out, const struct head_response *h, const char *name,
                      const char *value)
{
    switch (head_kind_of(name)) {
    case HEAD_HOP: break;
    case HEAD_HANDSHAKE:
    case HEAD_PROTOCOL:
        if (h->rs->status == 101 || strcasecmp(name, "sec-websocket-version") == 0)
            put_line(out, name, value);
        break;
    case HEAD_LOCATION: put_location(out, h, value); break;
    case HEAD_SET_COOKIE: put_cookie(out, h, value); break;
    case HEAD_CORS:
        if (h->cors_origin == NULL)
            put_line(out, name, value);
        break;
    default: put_line(out, name, value);
    }
}

static bool is_named_in_connection(const struct http1 *rs, const char *name)
{
    const char *list;
    size_t at = 0;

    while ((list = http1_header(rs, "Connection", &at)) != NULL) {
        if (http1_has_token(list, name))
            return true;
    }
    return false;
}

static int put_fields(struct buf *out, const struct head_response *h)
{
    const char *name, *value;
    size_t at = 0;

    while (http1_next_header(&h->rs->headers, &at, &name, &value)) {
        if (!head_name_is_token(name) || !head_value_is_clean(value))
            return -EPROTO;
        if (!is_named_in_connection(h->rs, name))
            put_field(out, h, name, value);
    }
    return 0;
}

static void put_framing(struct buf *out, const struct head_response *h)
{
    const struct http1 *rs = h->rs;
    const char *value;
    size_t at = 0;

    if (rs->status == 101) {
        buf_puts(out, "Connection: Upgrade\r\n");
        while ((value = http1_header(rs, "Upgrade", &at)) != NULL)
            put_line(out, "Upgrade", value);
        return;
    }
    if (h->chunked)
        buf_puts(out, "Transfer-Encoding: chunked\r\n");
    else if (rs->has_length && rs->status != 204)
        head_put_length(out, rs->length);
    if (h->close)
        buf_puts(out, "Connection: close\r\n");
    else if (h->http10)
        buf_puts(out, "Connection: keep-alive\r\n");
}

static void put_cors(struct buf *out, const char *origin)
{
    put_line(out, "Access-Control-Allow-Origin", origin);
    buf_puts(out, "Access-Control-Allow-Credentials: true\r\n"
                  "Access-Control-Expose-Headers: *\r\nVary: Origin\r\n");
}

int head_put_response(struct buf *out, const struct head_response *h)
{
    int rc;

    put_status(out, h->rs);
    rc = put_fields(out, h);
    if (rc < 0)
        return rc;
    put_framing(out, h);
    if (h->cors_origin != NULL)
        put_cors(out, h->cors_origin);
    if (h->set_cookie != NULL)
        put_line(out, "Set-Cookie", h->set_cookie);
    buf_put(out, "\r\n", 2);
    return 0;
}

int head_put_interim(struct buf *out, const struct http1 *rs)
{
    static const struct route_target nowhere = {.path = "", .rest = "", .query = ""};
    struct head_response h = {.rs = rs, .place = &nowhere, .upstream = ""};
    int rc;

    put_status(out, rs);
    rc = put_fields(out, &h);
    buf_put(out, "\r\n", 2);
    return rc;
}

/* Only what cannot be mistaken for framing or a secret. */
void head_put_trailers(struct buf *out, const struct buf *trailers)
{
    const char *name, *value;
    size_t at = 0;

    while (http1_next_header(trailers, &at, &name, &value)) {
        if (head_kind_of(name) == HEAD_PLAIN && head_name_is_token(name) &&
            head_value_is_clean(value))
            put_line(out, name, value);
    }
}
