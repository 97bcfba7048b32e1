/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.h - the heads that the gateway sends: requests to sandboxes, responses to clients
 *
 * A head is built from the parsed one, never copied as bytes: the gateway itself writes framing,
 * Host and all hop-by-hop headers, so no two parsers can read it differently. All other headers are
 * forwarded unchanged, in their order and with their repetitions.
 *
 * Pure: parsed heads in, bytes out. Layer: gateway.
 */
#ifndef HF_GATEWAY_HEAD_H
#define HF_GATEWAY_HEAD_H

#include "gateway/endpoint.h"
#include "gateway/route_target.h"
#include "transport/http1.h"

#define HEAD_FORWARD_MAX 16

/* The operator's decisions; the same for all requests. */
struct head_rules {
    const char *forward[HEAD_FORWARD_MAX]; /* secrets that may pass: "authorization", "cookie" */
    size_t forward_count;
    bool preserve_host;     /* the client's Host, not the sandbox's address */
    bool trust_forwarded;   /* the client is a trusted proxy: X-Forwarded-* are kept */
    bool trust_path_origin; /* sandboxes that share the gateway's host trust each other's pages */
};

struct head_request {
    const struct http1 *rq;
    const struct route_target *place;
    const struct endpoint *endpoint;
    const struct buf *headers; /* of the endpoint, for this port: they replace the client's */
    const char *upstream;      /* "10.0.0.5:80" */
    const char *peer;          /* "127.0.0.1:4711" */
    const char *request_id;    /* used if the client sends none */
    bool tls;
    bool spent_authorization; /* it opened the gateway: not forwarded */
    bool spent_protocol;      /* the same for holdfast.bearer. */
    bool strip_link;          /* hf_link= is the gateway's, in the query and in Referer */
};

/* 0, or err when a header cannot be forwarded. */
int head_put_request(struct buf *out, const struct head_rules *rules, const struct head_request *h,
                     struct hf_error *err);

struct head_response {
    const struct http1 *rs;
    const struct route_target *place;
    const char *upstream;
    const char *cors_origin; /* NULL: the gateway adds no CORS headers */
    const char *set_cookie;  /* one of the gateway's own; NULL */
    bool chunked;            /* to the client */
    bool close;
    bool http10; /* the client */
};
int head_put_response(struct buf *out, const struct head_response *h);
/* 100, 103: the status line and its headers. */
int head_put_interim(struct buf *out, const struct http1 *rs);
/* "name: value\r\n" of headers that may follow a chunked body. */
void head_put_trailers(struct buf *out, const struct buf *trailers);

/* "127.0.0.1:4711" without its port, "[::1]:1" without brackets either. */
void head_peer_ip(const char *peer, char *out, size_t room);

#endif
