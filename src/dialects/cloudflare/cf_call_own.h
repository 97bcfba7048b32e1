/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_call_own.h - the internals of a call, for the files that route and reply. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_CALL_OWN_H
#define HF_DIALECTS_CLOUDFLARE_CF_CALL_OWN_H

#include "dialects/cloudflare/cf_call.h"

struct cf_call {
    struct pending pending;
    struct cf *cf;
    struct http_request *rq;    /* by HTTP, until the reply */
    struct http_stream *stream; /* and while streaming */
    struct cf_mux *mux;         /* or through this */
    struct list link;           /* in its list */
    char *id, *header_session;
    bool streams; /* through the multiplex */
    enum role role;
    json_t *body;
    struct path path;
    struct url_query query;
    struct route_match match;
    const struct cf_wait_ops *ops;
    void *arg;
    struct timer *keepalive;
};

void cf_call_free(struct cf_call *c);

#endif
