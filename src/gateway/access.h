/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - decides whether a request may pass the gateway
 *
 * A request is refused unless it has one of these: a token of the gateway or the sandbox (as
 * Bearer, or as the subprotocol holdfast.bearer.BASE64URL where a browser cannot set headers), a
 * signed link, or the approval of the operator's hook, a sub-request whose replies are cached for a
 * while. The credential that opened the gateway is not forwarded to the sandbox. A link's cookie is
 * valid only for pages of the sandbox itself, because a browser also sends it with other pages'
 * requests. Layer: gateway.
 */
#ifndef HF_GATEWAY_ACCESS_H
#define HF_GATEWAY_ACCESS_H

#include "base/error.h"
#include "gateway/gateway.h"

struct access;
struct exchange;
struct fetch;

struct access_state {    /* of an exchange; {0} */
    struct fetch *fetch; /* the hook's, while it is pending */
    uint8_t key[32];     /* of its reply in the cache */
    int status;          /* of its reply */
    bool spent_authorization, spent_protocol;
    bool sets_cookie;
    bool foreign_page; /* a valid cookie, but the page may be another's */
    int64_t link_expires_s;
};

enum access_verdict { ACCESS_NO, ACCESS_YES, ACCESS_LATER };

struct access *access_new(const struct gateway_options *o, struct hf_error *err);
void access_free(struct access *a);
/* It has no credential at all: no need to look up the sandbox. */
bool access_is_hopeless(const struct exchange *ex);
/* NO: err. LATER: exchange_permitted() or a reply follows. */
enum access_verdict access_check(struct exchange *ex, struct hf_error *err);
bool access_has_links(const struct access *a); /* hf_link= is a secret of this gateway */
void access_cancel(struct exchange *ex);
/* "hf_link=…; Path=…" for the client that came by a link; NULL: none. out: 256 bytes. */
const char *access_cookie(const struct exchange *ex, char *out, size_t room);

#endif
