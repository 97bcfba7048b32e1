/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head_request.c - the head of a request as sent to the sandbox
 *
 * Layer: gateway.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "gateway/head.h"
#include "gateway/head_names.h"
#include "gateway/signed_link.h"
#include "transport/auth.h"
#include "transport/origin.h"

struct head_request_writer {
    struct buf *out;
    const struct head_rules *rules;
    const struct head_request *h;
    bool has_request_id;
};

void head_peer_ip(const char *peer, char *out, size_t room)
{
    const char *colon = strrchr(peer, ':');
    size_t from = peer[0] == '[', len = colon != NULL ? (size_t)(colon - peer) : strlen(peer);

    if (strncmp(peer, "unix:", 5) == 0)
        len = 4;
    if (from) /* its colons do not separate a port, and there may be no port after it */
        len = strcspn(peer + 1, "]");
    if (len >= room)
        len = room - 1;
    memcpy(out, peer + from, len);
    out[len] = '\0';
}

static void put_line(struct buf *out, const char *name, const char *value)
{
    buf_puts(out, name);
    buf_put(out, ": ", 2);
    buf_puts(out, value);
    buf_put(out, "\r\n", 2);
}

/* The raw path and query, without the link that opened the gateway. */
static void put_target(struct head_request_writer *w)
{
    const struct route_target *p = w->h->place;

    if (w->h->endpoint->prefix != NULL)
        buf_puts(w->out, w->h->endpoint->prefix);
    if (p->rest_len == 0)
        buf_putc(w->out, '/');
    buf_put(w->out, p->rest, p->rest_len);
    if (w->h->strip_link)
        link_put_query(w->out, p->query);
    else
        buf_puts(w->out, p->query);
}

static bool is_named_in_connection(const struct http1 *rq, const char *name)
{
    const char *list;
    size_t at = 0;

    while ((list = http1_header(rq, "Connection", &at)) != NULL) {
        if (http1_has_token(list, name))
            return true;
    }
    return false;
}

static bool may_forward(const struct head_request_writer *w, const char *name)
{
    for (size_t i = 0; i < w->rules->forward_count; i++) {
        if (strcasecmp(w->rules->forward[i], name) == 0)
            return true;
    }
    return false;
}

/* The endpoint's own headers replace the client's. */
static bool endpoint_has(const struct buf *headers, const char *name)
{
    const char *s = buf_data(headers);
    size_t n = strlen(name), left = headers->len;

    while (left > n) {
        const char *end = memchr(s, '\n', left);

        if (strncasecmp(s, name, n) == 0 && s[n] == ':')
            return true;
        left -= (size_t)(end + 1 - s);
        s = end + 1;
    }
    return false;
}

static void put_secret(struct head_request_writer *w, const char *name, const char *value)
{
    bool cookie = strcasecmp(name, "cookie") == 0;

    if (!may_forward(w, name))
        return;
    if (w->h->spent_authorization && strcasecmp(name, "authorization") == 0)
        return;
    if (cookie)
        link_put_cookie(w->out, value); /* all but the gateway's own */
    else
        put_line(w->out, name, value);
}

static bool origin_is_one_sandbox(const struct head_request_writer *w)
{
    return w->h->place->by_host || w->rules->trust_path_origin;
}

/* The same for Sec-Fetch-Site: one origin to the browser is many sandboxes here. */
static void put_fetch_site(struct head_request_writer *w, const char *value)
{
    bool near = strcasecmp(value, "same-origin") == 0 && !origin_is_one_sandbox(w);

    put_line(w->out, "Sec-Fetch-Site", near ? "same-site" : value);
}

/*
 * A page on the sandbox's own host belongs to the sandbox, which knows that host by another name.
 * In the path form the page may belong to any sandbox: the origin is forwarded unchanged, so that
 * it does not pass as the sandbox's own.
 */
static void put_origin(struct head_request_writer *w, const char *value)
{
    const struct head_request *h = w->h;

    if (origin_is_one_sandbox(w) && !w->rules->preserve_host &&
        origin_is_same(value, h->place->host, h->tls))
        buf_printf(w->out, "Origin: http://%s\r\n", h->upstream);
    else
        put_line(w->out, "Origin", value);
}

/* The page was opened by a link: its address has the link, which the sandbox must not see. */
static void put_referer(struct head_request_writer *w, const char *value)
{
    size_t n = strcspn(value, "?");

    if (!w->h->strip_link) {
        put_line(w->out, "Referer", value);
        return;
    }
    buf_puts(w->out, "Referer: ");
    buf_put(w->out, value, n);
    link_put_query(w->out, value + n);
    buf_put(w->out, "\r\n", 2);
}

/* The offered subprotocols without the one that was a token. */
static void put_protocols(struct head_request_writer *w, const char *name, const char *list)
{
    bool first = true;

    if (!w->h->spent_protocol) {
        put_line(w->out, name, list);
        return;
    }
    while (*list != '\0') {
        size_t n;

        list += strspn(list, " \t,");
        n = strcspn(list, ",");
        if (n > 0 && strncmp(list, AUTH_SUBPROTOCOL, sizeof AUTH_SUBPROTOCOL - 1) != 0) {
            buf_puts(w->out, first ? name : "");
            buf_puts(w->out, first ? ": " : ", ");
            buf_put(w->out, list, n);
            first = false;
        }
        list += n;
    }
    if (!first)
        buf_put(w->out, "\r\n", 2);
}

static void put_field(struct head_request_writer *w, const char *name, const char *value)
{
    switch (head_kind_of(name)) {
    case HEAD_HOP: break;
    case HEAD_SECRET: put_secret(w, name, value); break;
    case HEAD_FORWARDED:
        if (w->rules->trust_forwarded && strcasecmp(name, "x-forwarded-for") != 0 &&
            strcasecmp(name, "forwarded") != 0 && strcasecmp(name, "x-forwarded-sandbox") != 0)
            put_line(w->out, name, value);
        break;
    case HEAD_HANDSHAKE:
        if (w->h->rq->upgrade)
            put_line(w->out, name, value);
        break;
    case HEAD_PROTOCOL:
        if (w->h->rq->upgrade)
            put_protocols(w, name, value);
        break;
    case HEAD_ORIGIN: put_origin(w, value); break;
    case HEAD_FETCH_SITE: put_fetch_site(w, value); break;
    case HEAD_REFERER: put_referer(w, value); break;
    case HEAD_REQUEST_ID:
        w->has_request_id = true;
        put_line(w->out, name, value);
        break;
    default: put_line(w->out, name, value);
    }
}

static int put_fields(struct head_request_writer *w, struct hf_error *err)
{
    const struct http1 *rq = w->h->rq;
    const char *name, *value;
    size_t at = 0;

    while (http1_next_header(&rq->headers, &at, &name, &value)) {
        if (!head_name_is_token(name) || !head_value_is_clean(value))
            return hf_fail(err, HF_E_bad_request, "A header has characters that are not allowed.");
        if (endpoint_has(w->h->headers, name))
            continue;
        if (is_named_in_connection(rq, name) && head_kind_of(name) != HEAD_HANDSHAKE)
            continue;
        put_field(w, name, value);
    }
    return 0;
}

static void put_framing(struct head_request_writer *w)
{
    const struct http1 *rq = w->h->rq;
    size_t at = 0;
    const char *value;

    if (rq->chunked)
        buf_puts(w->out, "Transfer-Encoding: chunked\r\n");
    else if (rq->has_length)
        head_put_length(w->out, rq->length);
    if (http1_has_body(rq) && rq->http11 && http1_header(rq, "Expect", &at) != NULL)
        buf_puts(w->out, "Expect: 100-continue\r\n");
    if (!rq->upgrade)
        return;
    at = 0;
    buf_puts(w->out, is_named_in_connection(rq, "http2-settings")
                         ? "Connection: Upgrade, HTTP2-Settings\r\n"
                         : "Connection: Upgrade\r\n");
    while ((value = http1_header(rq, "Upgrade", &at)) != NULL)
        put_line(w->out, "Upgrade", value);
}

static bool has_header(const struct http1 *rq, const char *name)
{
    size_t at = 0;

    return http1_header(rq, name, &at) != NULL;
}

/* Written in parts, because every request runs through this. */
static void put_forwarded_own(struct buf *out, const char *ip, const char *proto, const char *host)
{
    bool v6 = strchr(ip, ':') != NULL;

    buf_puts(out, v6 ? "for=\"[" : "for=");
    buf_puts(out, ip);
    buf_puts(out, v6 ? "]\";proto=" : ";proto=");
    buf_puts(out, proto);
    if (host[0] != '\0') {
        buf_puts(out, ";host=\"");
        buf_puts(out, host);
        buf_putc(out, '"');
    }
    buf_put(out, "\r\n", 2);
}

/* The client's identity as this socket knows it. The client's own headers count only from a trusted
 * proxy. */
static void put_forwarded(struct head_request_writer *w)
{
    const struct head_request *h = w->h;
    const char *proto = h->tls ? "https" : "http", *old;
    bool trust = w->rules->trust_forwarded;
    char ip[64];
    size_t at = 0;

    head_peer_ip(h->peer, ip, sizeof ip);
    buf_puts(w->out, "X-Forwarded-For: ");
    while (trust && (old = http1_header(h->rq, "X-Forwarded-For", &at)) != NULL)
        buf_printf(w->out, "%s, ", old);
    buf_puts(w->out, ip);
    buf_put(w->out, "\r\n", 2);
    if (!trust || !has_header(h->rq, "X-Forwarded-Proto"))
        put_line(w->out, "X-Forwarded-Proto", proto);
    if ((!trust || !has_header(h->rq, "X-Forwarded-Host")) && h->place->host[0] != '\0')
        put_line(w->out, "X-Forwarded-Host", h->place->host);
    if (h->place->prefix_len > 0) {
        buf_puts(w->out, "X-Forwarded-Prefix: ");
        buf_put(w->out, h->place->path, h->place->prefix_len);
        buf_put(w->out, "\r\n", 2);
    }
    put_line(w->out, "X-Forwarded-Sandbox", h->place->id);
    buf_puts(w->out, "Forwarded: ");
    at = 0;
    while (trust && (old = http1_header(h->rq, "Forwarded", &at)) != NULL)
        buf_printf(w->out, "%s, ", old);
    put_forwarded_own(w->out, ip, proto, h->place->host);
}

int head_put_request(struct buf *out, const struct head_rules *rules, const struct head_request *h,
                     struct hf_error *err)
{
    struct head_request_writer w = {.out = out, .rules = rules, .h = h};
    const char *host =
        rules->preserve_host && h->place->host[0] != '\0' ? h->place->host : h->upstream;
    int rc;

    buf_puts(out, http1_method_name(h->rq));
    buf_putc(out, ' ');
    put_target(&w);
    buf_puts(out, " HTTP/1.1\r\n");
    put_line(out, "Host", host);
    rc = put_fields(&w, err);
    if (rc < 0)
        return rc;
    put_framing(&w);
    put_forwarded(&w);
    if (!w.has_request_id)
        put_line(out, "X-Request-ID", h->request_id);
    buf_put(out, buf_data(h->headers), h->headers->len);
    buf_put(out, "\r\n", 2);
    return 0;
}
