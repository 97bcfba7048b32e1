/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registration.h - entries that daemons write about themselves: keys, signatures, tokens
 *
 * The gateway's operator holds one registration key. A sandbox gets a key of its own, derived from
 * that one and its id, so it can sign its own entry and no other:
 *
 *   key   = HMAC-SHA256(registration key, "holdfast-sandbox-key-1\n" ID)
 *   entry = "hf1 " HEX(HMAC-SHA256(key, "holdfast-registration-1\n" ID "\n" JSON)) " " JSON
 *   token = HEX(HMAC-SHA256(key, "holdfast-daemon-token-1\n"))
 *
 * The token admits the gateway to the daemon. Both sides compute it, so it is never stored in
 * Redis. JSON is what endpoint_from_json() reads, with `expires_ms` (wall clock) and `share_token`
 * (send the token to `address`). Pure. Layer: gateway.
 */
#ifndef HF_GATEWAY_REGISTRATION_H
#define HF_GATEWAY_REGISTRATION_H

#include "base/error.h"
#include "gateway/endpoint.h"

#define REGISTRATION_KEY_BYTES 32
#define REGISTRATION_KEY_MIN_BYTES 32 /* of the operator's */
#define REGISTRATION_HEX_BYTES (2 * REGISTRATION_KEY_BYTES + 1)

/* Which entries a gateway trusts. */
struct registration_trust {
    struct buf key;      /* the operator's; empty: none */
    bool takes_unsigned; /* without a key: every writer to Redis is trusted */
};

void registration_key(const struct buf *operator_key, const char *id,
                      uint8_t out[REGISTRATION_KEY_BYTES]);
/* A sandbox's key as in its file: 64 hex digits, with or without a line end. */
bool registration_key_parse(const char *text, size_t len, uint8_t out[REGISTRATION_KEY_BYTES]);
void registration_token(const uint8_t key[REGISTRATION_KEY_BYTES],
                        char out[REGISTRATION_HEX_BYTES]);
/* Appends the entry. */
void registration_sign(const uint8_t key[REGISTRATION_KEY_BYTES], const char *id,
                       const struct buf *json, struct buf *out);
/* The endpoint that an entry describes; *expires_ms: wall clock, 0 if it does not expire by itself.
 * NULL: err says why the entry is not trusted or not valid. */
struct endpoint *registration_read(const struct registration_trust *trust, const char *id,
                                   const char *text, size_t len, int64_t now_ms,
                                   int64_t *expires_ms, struct hf_error *err);

#endif
