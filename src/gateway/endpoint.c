/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.c - what is known about one sandbox
 *
 * Layer: gateway.
 */
#include "gateway/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"

/* --- addresses ------------------------------------------------------------------ */

static bool parse_host(const char *host, uint16_t port, struct address *out)
{
    *out = (struct address){0};
    if (inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        out->len = sizeof out->v4;
        return true;
    }
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) != 1)
        return false;
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons(port);
    out->len = sizeof out->v6;
    return true;
}

static const char *port_behind(const char *text, size_t *host_len, size_t *skip)
{
    const char *close, *colon;

    *skip = text[0] == '[';
    if (*skip) {
        close = strchr(text, ']');
        if (close == NULL || (close[1] != '\0' && close[1] != ':'))
            return NULL;
        *host_len = (size_t)(close - text) - 1;
        return close[1] == ':' ? close + 2 : "";
    }
    colon = strchr(text, ':');
    if (colon == NULL || strchr(colon + 1, ':') != NULL) {
        *host_len = strlen(text);
        return "";
    }
    *host_len = (size_t)(colon - text);
    return colon + 1;
}

bool endpoint_address_parse(const char *text, uint16_t default_port, struct address *out)
{
    char host[INET6_ADDRSTRLEN];
    uint64_t port = default_port;
    size_t len, from;
    const char *digits = port_behind(text, &len, &from);

    if (digits == NULL || len >= sizeof host ||
        (digits[0] != '\0' && (!text_to_u64(digits, UINT16_MAX, &port) || port == 0)))
        return false;
    memcpy(host, text + from, len);
    host[len] = '\0';
    return parse_host(host, (uint16_t)port, out);
}

void endpoint_address_text(const struct address *a, char *out, size_t room)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (a->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->v4.sin_addr, host, sizeof host);
        snprintf(out, room, "%s:%u", host, ntohs(a->v4.sin_port));
    } else {
        inet_ntop(AF_INET6, &a->v6.sin6_addr, host, sizeof host);
        snprintf(out, room, "[%s]:%u", host, ntohs(a->v6.sin6_port));
    }
}

bool endpoint_address_equal(const struct address *a, const struct address *b)
{
    return a->len == b->len && memcmp(&a->any, &b->any, a->len) == 0;
}

uint16_t endpoint_address_port(const struct address *a)
{
    if (a->len == 0)
        return 0;
    return ntohs(a->any.sa_family == AF_INET ? a->v4.sin_port : a->v6.sin6_port);
}

void endpoint_address_set_port(struct address *a, uint16_t port)
{
    if (a->any.sa_family == AF_INET)
        a->v4.sin_port = htons(port);
    else
        a->v6.sin6_port = htons(port);
}

/* --- endpoints ------------------------------------------------------------------- */

struct endpoint *endpoint_new(void)
{
    struct endpoint *e = hf_xalloc(sizeof *e);

    e->refs = 1;
    return e;
}

struct endpoint *endpoint_ref(struct endpoint *e)
{
    e->refs++;
    return e;
}

void endpoint_unref(struct endpoint *e)
{
    if (e == NULL || --e->refs > 0)
        return;
    buf_wipe(&e->headers);
    for (size_t i = 0; i < e->port_count; i++)
        buf_wipe(&e->ports[i].headers);
    free(e->ports);
    free(e->prefix);
    free(e->tokens);
    free(e);
}

int endpoint_add_port(struct endpoint *e, uint16_t port, const struct address *to)
{
    if (e->port_count >= ENDPOINT_PORTS_MAX)
        return -ENOSPC;
    e->ports = hf_xrealloc(e->ports, (e->port_count + 1) * sizeof *e->ports);
    e->ports[e->port_count++] = (struct endpoint_port){.port = port, .to = *to};
    return 0;
}

static bool is_token_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Only the gateway writes the headers that frame the request. */
static bool may_be_added(const char *name)
{
    static const char *const ours[] = {"host",    "connection", "content-length",
                                       "upgrade", "expect",     "transfer-encoding",
                                       "trailer", "te",         "keep-alive"};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strcasecmp(name, ours[i]) == 0)
            return false;
    }
    return true;
}

int endpoint_put_header(struct buf *headers, const char *name, const char *value)
{
    const char *s = name;

    while (is_token_char(*s))
        s++;
    if (*s != '\0' || s == name || !may_be_added(name))
        return -EINVAL;
    for (s = value; *s != '\0'; s++) {
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return -EINVAL;
    }
    if (headers->len + strlen(name) + strlen(value) + 4 > ENDPOINT_HEADERS_MAX)
        return -ENOSPC;
    buf_printf(headers, "%s: %s\r\n", name, value);
    return 0;
}

int endpoint_put_bearer(struct buf *headers, const char *token)
{
    char bearer[600];
    int rc;

    snprintf(bearer, sizeof bearer, "Bearer %s", token);
    rc = endpoint_put_header(headers, "Authorization", bearer);
    hf_wipe(bearer, sizeof bearer);
    return rc;
}

const struct buf *endpoint_headers(const struct endpoint *e, uint16_t port,
                                   const struct address *to)
{
    static const struct buf none;

    for (size_t i = 0; i < e->port_count; i++) {
        if (e->ports[i].port == port && e->ports[i].headers.len > 0)
            return &e->ports[i].headers;
    }
    return endpoint_address_port(&e->address) != 0 && endpoint_address_equal(&e->address, to)
               ? &e->headers
               : &none;
}

static bool parse_digest(const char *hex, uint8_t out[32])
{
    for (int i = 0; i < 32; i++) {
        char pair[3] = {hex[0], hex[0] != '\0' ? hex[1] : '\0', '\0'};

        if (strspn(pair, "0123456789abcdefABCDEF") != 2)
            return false;
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
        hex += 2;
    }
    return *hex == '\0';
}

int endpoint_add_token(struct endpoint *e, const char *token)
{
    uint8_t digest[32];

    if (e->token_count >= ENDPOINT_TOKENS_MAX)
        return -ENOSPC;
    if (strncmp(token, "sha256:", 7) == 0) {
        if (!parse_digest(token + 7, digest))
            return -EINVAL;
    } else if (strlen(token) < 16) {
        return -EINVAL; /* could be guessed */
    } else {
        sha256(token, strlen(token), digest);
    }
    e->tokens = hf_xrealloc(e->tokens, (e->token_count + 1) * sizeof *e->tokens);
    memcpy(e->tokens[e->token_count++], digest, sizeof digest);
    return 0;
}

bool endpoint_knows_token(const struct endpoint *e, const uint8_t digest[32])
{
    bool known = false;

    for (size_t i = 0; i < e->token_count; i++)
        known |= crypto_equal(e->tokens[i], digest, 32);
    return known;
}

bool endpoint_find_port(const struct endpoint *e, uint16_t port, bool allowed, struct address *out)
{
    for (size_t i = 0; i < e->port_count; i++) {
        if (e->ports[i].port == port) {
            *out = e->ports[i].to;
            return true;
        }
    }
    if (e->lists_ports || !allowed || e->address.len == 0)
        return false;
    *out = e->address;
    endpoint_address_set_port(out, port);
    return true;
}
