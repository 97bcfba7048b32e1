/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signed_link.h - signed links: temporary access to one port of one sandbox
 *
 * "hf_link=EXPIRES.SIGNATURE" in the query. EXPIRES is in seconds since 1970, SIGNATURE the
 * HMAC-SHA256 of "hf1\nID\nPORT\nEXPIRES" in base64url. A page opened so fetches more than its
 * first address, so the first response sets the same text as a cookie for everything below the
 * link. Neither is forwarded to the sandbox. Pure. Layer: gateway.
 */
#ifndef HF_GATEWAY_SIGNED_LINK_H
#define HF_GATEWAY_SIGNED_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define LINK_NAME "hf_link"
#define LINK_HOST_NAME "__Host-" LINK_NAME /* of a cookie that only this very host can have set */
#define LINK_TEXT_BYTES 80

/* "EXPIRES.SIGNATURE"; out holds LINK_TEXT_BYTES. */
void link_sign(const struct buf *key, const char *id, uint16_t port, int64_t expires_s, char *out);
/* Checks the text as it occurs in a query or a cookie; compared in constant time. */
bool link_is_good(const struct buf *key, const char *id, uint16_t port, const char *text,
                  size_t len, int64_t now_s, int64_t *expires_s);
/* The value in a raw query ("?a=1&hf_link=…") or, by its name, a Cookie header; NULL. */
const char *link_in_query(const char *query, size_t *len);
const char *link_in_cookie(const char *cookie, const char *name, size_t *len);
/* Copies all but the link: the query (with its '?', if anything is left), the whole Cookie line. */
void link_put_query(struct buf *out, const char *query);
void link_put_cookie(struct buf *out, const char *cookie);

#endif
