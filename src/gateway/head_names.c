/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_names.c - how the gateway treats a header, by its name
 *
 * Layer: gateway.
 */
#include "gateway/head_names.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 40 /* none below is longer */

struct head_names_row {
    const char *name;
    enum head_kind kind;
};

/* In the order of strcmp(), for a binary search. */
static const struct head_names_row rows[] = {
    {"access-control-allow-credentials", HEAD_CORS},
    {"access-control-allow-headers", HEAD_CORS},
    {"access-control-allow-methods", HEAD_CORS},
    {"access-control-allow-origin", HEAD_CORS},
    {"access-control-expose-headers", HEAD_CORS},
    {"access-control-max-age", HEAD_CORS},
    {"authorization", HEAD_SECRET},
    {"connection", HEAD_HOP},
    {"content-length", HEAD_HOP},
    {"cookie", HEAD_SECRET},
    {"expect", HEAD_HOP},
    {"forwarded", HEAD_FORWARDED},
    {"host", HEAD_HOP},
    {"http2-settings", HEAD_HANDSHAKE},
    {"keep-alive", HEAD_HOP},
    {"location", HEAD_LOCATION},
    {"open-sandbox-api-key", HEAD_SECRET},
    {"origin", HEAD_ORIGIN},
    {"proxy-authenticate", HEAD_HOP},
    {"proxy-authorization", HEAD_HOP},
    {"proxy-connection", HEAD_HOP},
    {"referer", HEAD_REFERER},
    {"sec-fetch-site", HEAD_FETCH_SITE},
    {"sec-websocket-accept", HEAD_HANDSHAKE},
    {"sec-websocket-extensions", HEAD_HANDSHAKE},
    {"sec-websocket-key", HEAD_HANDSHAKE},
    {"sec-websocket-protocol", HEAD_PROTOCOL},
    {"sec-websocket-version", HEAD_HANDSHAKE},
    {"set-cookie", HEAD_SET_COOKIE},
    {"te", HEAD_HOP},
    {"trailer", HEAD_HOP},
    {"transfer-encoding", HEAD_HOP},
    {"upgrade", HEAD_HOP},
    {"x-forwarded-for", HEAD_FORWARDED},
    {"x-forwarded-host", HEAD_FORWARDED},
    {"x-forwarded-port", HEAD_FORWARDED},
    {"x-forwarded-prefix", HEAD_FORWARDED},
    {"x-forwarded-proto", HEAD_FORWARDED},
    {"x-real-ip", HEAD_FORWARDED},
    {"x-request-id", HEAD_REQUEST_ID},
};

static int compare(const void *key, const void *row)
{
    return strcmp(key, ((const struct head_names_row *)row)->name);
}

enum head_kind head_kind_of(const char *name)
{
    char low[NAME_MAX_BYTES + 1];
    bool lined = false;
    const struct head_names_row *r;
    size_t n;

    for (n = 0; name[n] != '\0'; n++) {
        char c = name[n];

        if (n == NAME_MAX_BYTES)
            return HEAD_PLAIN;
        lined |= c == '_';
        low[n] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c == '_' ? '-' : c);
    }
    low[n] = '\0';
    r = bsearch(low, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
    if (r == NULL)
        return strncmp(low, "x-forwarded-", 12) == 0 ? HEAD_FORWARDED : HEAD_PLAIN;
    return lined ? HEAD_HOP : r->kind;
}

bool head_value_is_clean(const char *value)
{
    for (; *value != '\0'; value++) {
        if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f)
            return false;
    }
    return true;
}

bool head_name_is_token(const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;

        if (c <= 0x20 || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c) != NULL)
            return false;
    }
    return true;
}

void head_put_length(struct buf *out, uint64_t length)
{
    char digits[24];
    size_t at = sizeof digits;

    digits[--at] = '\n';
    digits[--at] = '\r';
    do
        digits[--at] = (char)('0' + length % 10);
    while ((length /= 10) > 0);
    buf_puts(out, "Content-Length: ");
    buf_put(out, digits + at, sizeof digits - at);
}
