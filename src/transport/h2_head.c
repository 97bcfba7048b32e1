/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_head.c - converts HTTP/2 heads to HTTP/1.1 and back
 *
 * nghttp2 has checked characters, the order and number of pseudo-headers, and that there are no
 * connection-specific headers. This file checks what we promise beyond that: bounds, one Host, a
 * target of visible characters. Pure. Layer: transport.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "transport/h2_own.h"

/* What RFC 9113 counts for a field beyond its bytes, so that empty ones are bounded as well. */
#define FIELD_OVERHEAD 32

static void fail(struct http1 *p, enum hf_code code, const char *detail)
{
    if (!p->failed)
        hf_fail(&p->error, code, "%s", detail);
    p->failed = true;
}

unsigned http_method_of(const char *name, size_t len)
{
    static const struct {
        const char *name;
        unsigned method;
    } rows[] = {
        {"GET", HTTP_GET_M},         {"HEAD", HTTP_HEAD_M},   {"POST", HTTP_POST_M},
        {"PUT", HTTP_PUT_M},         {"PATCH", HTTP_PATCH_M}, {"DELETE", HTTP_DELETE_M},
        {"OPTIONS", HTTP_OPTIONS_M},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return rows[i].method;
    }
    return 0;
}

static void put_target(struct http1 *p, const char *value, size_t len)
{
    if (len > p->limits.uri_bytes) {
        fail(p, HF_E_uri_too_long, "The request target is too long.");
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)value[i] <= 0x20 || (unsigned char)value[i] >= 0x7f) {
            fail(p, HF_E_bad_request,
                 "The request target has a character that is not visible ASCII.");
            return;
        }
    }
    buf_put(&p->target, value, len);
}

static void put_header(struct http1 *p, const char *name, size_t name_len, const char *value,
                       size_t value_len)
{
    if (++p->header_count > p->limits.header_count) {
        fail(p, HF_E_headers_too_large, "There are too many headers.");
        return;
    }
    buf_put(&p->headers, name, name_len);
    buf_putc(&p->headers, '\0');
    buf_put(&p->headers, value, value_len);
    buf_putc(&p->headers, '\0');
}

static bool is_name(const char *name, size_t len, const char *want)
{
    return len == strlen(want) && memcmp(name, want, len) == 0;
}

static void put_pseudo(struct http1 *p, const char *name, size_t name_len, const char *value,
                       size_t value_len)
{
    if (is_name(name, name_len, ":method")) {
        p->method = http_method_of(value, value_len);
        if (is_name(value, value_len, "CONNECT"))
            fail(p, HF_E_not_implemented, "This server is not a proxy.");
    } else if (is_name(name, name_len, ":path")) {
        put_target(p, value, value_len);
    } else if (is_name(name, name_len, ":authority")) {
        put_header(p, "host", 4, value, value_len);
    }
}

/* It must equal :authority, or two readers could understand the request differently. */
static void put_host(struct http1 *p, const char *value, size_t len)
{
    size_t at = 0;
    const char *authority = http1_header(p, "host", &at);

    if (authority == NULL)
        put_header(p, "host", 4, value, len);
    else if (strlen(authority) != len || strncasecmp(authority, value, len) != 0)
        fail(p, HF_E_bad_request, "The request has more than one Host.");
}

/* nghttp2 accepts only a number, and only one. */
static void read_length(struct http1 *p, const char *value, size_t len)
{
    p->has_length = true;
    p->length = 0;
    for (size_t i = 0; i < len; i++)
        p->length = p->length * 10 + (uint64_t)(value[i] - '0');
}

void h2_head_field(struct http1 *p, const char *name, size_t name_len, const char *value,
                   size_t value_len)
{
    p->head_bytes += name_len + value_len + FIELD_OVERHEAD;
    if (p->head_bytes > p->limits.header_bytes)
        fail(p, HF_E_headers_too_large, "The request's head is too large.");
    if (p->failed)
        return;
    p->stage = HTTP1_IN_HEAD;
    if (name_len > 0 && name[0] == ':') {
        put_pseudo(p, name, name_len, value, value_len);
    } else if (is_name(name, name_len, "host")) {
        put_host(p, value, value_len);
    } else {
        if (is_name(name, name_len, "content-length"))
            read_length(p, value, value_len);
        put_header(p, name, name_len, value, value_len);
    }
}

void h2_head_refuse(struct http1 *p)
{
    fail(p, HF_E_bad_request, "A header's name or value is malformed.");
}

void h2_head_finish(struct http1 *p, bool last)
{
    size_t at = 0;

    p->stage = HTTP1_IN_BODY;
    p->http11 = p->keep_alive = true;
    p->chunked = !last && !p->has_length;
    if (!p->failed && http1_header(p, "host", &at) == NULL)
        fail(p, HF_E_bad_request, "The request has no :authority and no Host.");
}

/* --- responses -------------------------------------------------------------------------- */

static bool is_of_connection(const char *name)
{
    return strcmp(name, "connection") == 0 || strcmp(name, "upgrade") == 0 ||
           strcmp(name, "keep-alive") == 0 || strcmp(name, "transfer-encoding") == 0;
}

static void add_field(struct h2_fields *f, const char *name, const char *value)
{
    f->list[f->count++] = (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name,
        .value = (uint8_t *)(uintptr_t)value,
        .namelen = strlen(name),
        .valuelen = strlen(value),
    };
}

/* Splits off one line in place; returns what follows it. */
static char *take_line(struct h2_fields *f, char *line)
{
    char *end = strstr(line, "\r\n"), *colon = strstr(line, ": ");

    if (end == NULL || colon == NULL || colon > end)
        return line + strlen(line);
    *end = *colon = '\0';
    for (char *c = line; *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c + ('a' - 'A')) : *c;
    if (!is_of_connection(line))
        add_field(f, line, colon + 2);
    return end + 2;
}

void h2_fields_init(struct h2_fields *f, const char *status, struct buf *lines)
{
    char *at = (char *)(uintptr_t)buf_cstr(lines);
    size_t count = 1;

    for (const char *c = at; (c = strstr(c, "\r\n")) != NULL; c += 2)
        count++;
    *f = (struct h2_fields){.list = hf_xalloc(count * sizeof *f->list)};
    if (status != NULL)
        add_field(f, ":status", status);
    while (*at != '\0')
        at = take_line(f, at);
}

void h2_fields_fini(struct h2_fields *f)
{
    free(f->list);
    *f = (struct h2_fields){0};
}
