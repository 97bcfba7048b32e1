/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - who may pass
 *
 * Nobody, unless one of these says so: a token of the gateway's or the sandbox's own (as Bearer, or
 * as the sub-protocol holdfast.bearer.BASE64URL where a browser cannot set headers), a signed
 * link, or the operator's hook, a sub-request whose answers are kept for a while.
 * What opened the gateway is not told to the sandbox. The cookie of a link counts for pages of the
 * sandbox itself: a browser would send it for other pages' requests, too. Layer: gateway.
 */
#ifndef HF_GATEWAY_ACCESS_H
#define HF_GATEWAY_ACCESS_H

#include "base/error.h"
#include "gateway/gateway.h"

struct access;
struct exchange;
struct fetch;

struct access_ask {      /* of an exchange; {0} */
    struct fetch *fetch; /* the hook's, while it is asked */
    uint8_t key[32];     /* of its answer in the cache */
    int status;          /* of its answer */
    bool spent_authorization, spent_protocol;
    bool sets_cookie;
    bool foreign_page; /* a good cookie, but whose page asks? */
    int64_t link_expires_s;
};

enum access_verdict { ACCESS_NO, ACCESS_YES, ACCESS_LATER };

struct access *access_new(const struct gateway_options *o, struct hf_error *err);
void access_free(struct access *a);
/* Nothing that could let anybody in: no need to find out where the sandbox is. */
bool access_is_hopeless(const struct exchange *ex);
/* NO: err. LATER: exchange_permitted(), or an answer, comes by itself. */
enum access_verdict access_check(struct exchange *ex, struct hf_error *err);
bool access_has_links(const struct access *a); /* hf_link= is a secret of this gateway */
void access_cancel(struct exchange *ex);
/* "hf_link=…; Path=…" for the client that came by a link; NULL: none. out: 256 bytes. */
const char *access_cookie(const struct exchange *ex, char *out, size_t room);

#endif
