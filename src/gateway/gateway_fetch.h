/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_fetch.h - one HTTP request of the gateway itself, on a separate connection
 *
 * For the auth hook and for resolvers that use an API. The response is delivered in pieces, so a
 * watch may last for hours. Layer: gateway.
 */
#ifndef HF_GATEWAY_GATEWAY_FETCH_H
#define HF_GATEWAY_GATEWAY_FETCH_H

#include "gateway/endpoint.h"
#include "transport/http1.h"

struct http_server;
struct fetch;

struct fetch_target {
    struct address to; /* len 0: unix_path */
    char unix_path[108];
    char host[160]; /* for Host and, with TLS, for the certificate */
    char path[512]; /* of the URL, no '/' at its end; "" */
    bool tls;
    struct tls_context *trust; /* required with TLS; the caller's */
};
/* "http://10.0.0.1:80/x", "https://…", "unix:/run/docker.sock". No names: no DNS. */
int fetch_parse_url(const char *url, struct fetch_target *out, struct hf_error *err);

struct fetch_ops {
    /* All may end the fetch by fetch_cancel(). on_done is the last: rc 0, or a negative errno. */
    void (*on_head)(void *arg, const struct http1 *rs);
    void (*on_body)(void *arg, const char *bytes, size_t len);
    void (*on_done)(void *arg, int rc);
    /* A watch: once its response has begun, silence only means that there are no events. */
    bool lasts;
};
/* `head`: complete, with its empty line. on_done is never called before this returns; NULL: err
 * says why it cannot be tried. */
struct fetch *fetch_start(struct http_server *s, const struct fetch_target *t,
                          const struct buf *head, const struct fetch_ops *ops, void *arg,
                          struct hf_error *err);
/* In on_done, for a negative rc: the reason, as text. */
const char *fetch_why(const struct fetch *f, int rc);
void fetch_cancel(struct fetch *f); /* NULL is fine; no callback after this */

#endif
