/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crypto.h - SHA-1 (WebSocket handshake), SHA-256 and HMAC (cookies, body hashes), randomness,
 * constant-time compare
 *
 * Our own code because the static binary must stay small: libcrypto alone is larger than everything
 * else together. It has no key exchange and no cipher; TLS is OpenSSL's. Layer: base.
 */
#ifndef HF_BASE_CRYPTO_H
#define HF_BASE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void sha1(const void *bytes, size_t len, uint8_t out[20]);
void sha256(const void *bytes, size_t len, uint8_t out[32]);
void hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len, uint8_t out[32]);
void crypto_random(void *out, size_t len); /* getrandom(2); aborts if it fails */
bool crypto_equal(const void *a, const void *b, size_t len);
uint64_t crypto_hash(const void *bytes, size_t len); /* for hash tables, not for secrets; stable */

#endif
