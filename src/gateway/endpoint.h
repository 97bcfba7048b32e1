/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoint.h - what is known about one sandbox: addresses, ports, headers, tokens
 *
 * Built from one JSON object, whatever its source (a file, Redis), or field by field by a resolver
 * whose source has another format. Reference-counted: an exchange keeps the endpoint it found, even
 * when the resolver has a newer one. Layer: gateway.
 */
#ifndef HF_GATEWAY_ENDPOINT_H
#define HF_GATEWAY_ENDPOINT_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/json.h"

#define ENDPOINT_PORTS_MAX 64
#define ENDPOINT_TOKENS_MAX 16
#define ENDPOINT_HEADERS_MAX 4096 /* bytes */

struct address {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
};

/* "10.0.0.5", "[fd00::1]", "fd00::1", each with or without ":port" (which requires the
 * brackets). */
bool endpoint_address_parse(const char *text, uint16_t default_port, struct address *out);
void endpoint_address_text(const struct address *a, char *out,
                           size_t room); /* "10.0.0.5:80", "[::1]:80" */
bool endpoint_address_equal(const struct address *a, const struct address *b);
uint16_t endpoint_address_port(const struct address *a); /* 0: none */
void endpoint_address_set_port(struct address *a, uint16_t port);

struct endpoint_port {
    uint16_t port; /* the port that clients name */
    struct address to;
    struct buf headers; /* for this port alone */
};

struct endpoint {
    unsigned refs;
    /* For ports that are not listed; len 0: only the listed ones. Its port is the daemon's own. */
    struct address address;
    struct endpoint_port *ports;
    size_t port_count;
    bool lists_ports;   /* only those; otherwise what the gateway allows */
    char *prefix;       /* of every path there; NULL */
    struct buf headers; /* "Name: value\r\n", with its token: for `address` with its port alone */
    uint8_t (*tokens)[32]; /* SHA-256 of those that admit clients */
    size_t token_count;
    bool complained;               /* a disallowed address was logged */
    uint64_t fetched_ms, until_ms; /* for resolvers that cache */
};

struct endpoint *endpoint_new(void); /* one reference */
struct endpoint *endpoint_ref(struct endpoint *e);
void endpoint_unref(struct endpoint *e); /* NULL is fine */
/*
 * {"address": "10.0.0.5:7070", "ports": [80, 8080] or {"80": 3000, "81": "10.0.0.6:81",
 *  "82": {"to": 3002, "token": "T", "headers": {}}}, "token": "sent along as Bearer",
 *  "headers": {"X-A": "b"}, "prefix": "/x", "tokens": ["lets a client in", "sha256:HEX"]}.
 * `token` and `headers` belong to one port: that of `address`, or the only one listed. Every other
 * port may be an application's, which must not learn the daemon's token. NULL: err.
 */
struct endpoint *endpoint_from_json(const json_t *o, struct hf_error *err);
int endpoint_add_port(struct endpoint *e, uint16_t port, const struct address *to);
/* Adds to the endpoint's headers or to those of one of its ports. */
int endpoint_put_header(struct buf *headers, const char *name, const char *value);
int endpoint_put_bearer(struct buf *headers, const char *token);
int endpoint_add_token(struct endpoint *e, const char *token);

/* Where this port is; false: it may not be reached. `allowed`: the gateway allows it for all. */
bool endpoint_find_port(const struct endpoint *e, uint16_t port, bool allowed, struct address *out);
/* The headers sent to this port, which is at `to`; may be empty. */
const struct buf *endpoint_headers(const struct endpoint *e, uint16_t port,
                                   const struct address *to);
bool endpoint_knows_token(const struct endpoint *e, const uint8_t digest[32]);

#endif
