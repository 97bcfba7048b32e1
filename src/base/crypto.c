/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crypto.c - SHA-1, SHA-256 (FIPS 180-4) and HMAC (RFC 2104), plain and portable
 *
 * Both hashes share their padding: blocks of 64 bytes, a one bit, zeros, and
 * the length in bits as 64 bits big-endian. Layer: base.
 */
#include "base/crypto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

#define HASH_BLOCK 64

typedef void block_fn(uint32_t *state, const uint8_t *block);

/* The text in up to two pieces, so that HMAC needs no copy of the message. */
struct hash_text {
    const uint8_t *first; /* whole blocks only */
    size_t first_len;
    const uint8_t *second;
    size_t second_len;
};

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static uint32_t rotl(uint32_t v, int n)
{
    return v << n | v >> (32 - n);
}

static uint32_t rotr(uint32_t v, int n)
{
    return v >> n | v << (32 - n);
}

static void hash_run(const struct hash_text *t, block_fn *block, uint32_t *state)
{
    uint64_t bits = ((uint64_t)t->first_len + t->second_len) * 8;
    size_t whole = t->second_len - t->second_len % HASH_BLOCK;
    size_t rest = t->second_len - whole;
    uint8_t tail[2 * HASH_BLOCK] = {0};
    size_t tail_len = rest + 9 <= HASH_BLOCK ? HASH_BLOCK : sizeof tail;

    for (size_t i = 0; i < t->first_len; i += HASH_BLOCK)
        block(state, t->first + i);
    for (size_t i = 0; i < whole; i += HASH_BLOCK)
        block(state, t->second + i);
    if (rest > 0)
        memcpy(tail, t->second + whole, rest);
    tail[rest] = 0x80;
    store_be32(tail + tail_len - 8, (uint32_t)(bits >> 32));
    store_be32(tail + tail_len - 4, (uint32_t)bits);
    for (size_t i = 0; i < tail_len; i += HASH_BLOCK)
        block(state, tail + i);
    hf_wipe(tail, sizeof tail);
}

static void hash_out(const uint32_t *state, int words, uint8_t *out)
{
    for (int i = 0; i < words; i++)
        store_be32(out + 4 * (size_t)i, state[i]);
}

static void sha1_block(uint32_t *h, const uint8_t *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (int i = 0; i < 16; i++)
        w[i] = load_be32(block + 4 * (size_t)i);
    for (int i = 16; i < 80; i++)
        w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f, k, next;

        if (i < 20) {
            f = (b & c) | (~b & d);
            k = 0x5a827999;
        } else if (i < 40) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1;
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdc;
        } else {
            f = b ^ c ^ d;
            k = 0xca62c1d6;
        }
        next = rotl(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotl(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sha1(const void *bytes, size_t len, uint8_t out[20])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    struct hash_text t = {.second = bytes, .second_len = len};

    hash_run(&t, sha1_block, h);
    hash_out(h, 5, out);
}

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha256_schedule(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = load_be32(block + 4 * (size_t)i);
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;

        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

static void sha256_block(uint32_t *state, const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t w[64];

    sha256_schedule(w, block);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + sha256_k[i] + w[i];
        uint32_t s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));

        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static void sha256_text(const struct hash_text *t, uint8_t out[32])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    hash_run(t, sha256_block, h);
    hash_out(h, 8, out);
}

void sha256(const void *bytes, size_t len, uint8_t out[32])
{
    struct hash_text t = {.second = bytes, .second_len = len};

    sha256_text(&t, out);
}

void hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len, uint8_t out[32])
{
    uint8_t pad[HASH_BLOCK] = {0}, inner[32];
    struct hash_text t = {.first = pad, .first_len = sizeof pad};

    if (key_len > sizeof pad)
        sha256(key, key_len, pad);
    else if (key_len > 0)
        memcpy(pad, key, key_len);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36;
    t.second = bytes;
    t.second_len = len;
    sha256_text(&t, inner);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    t.second = inner;
    t.second_len = sizeof inner;
    sha256_text(&t, out);
    hf_wipe(pad, sizeof pad);
    hf_wipe(inner, sizeof inner);
}

void crypto_random(void *out, size_t len)
{
    uint8_t *p = out;

    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno != EINTR)
            abort();
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < len; i++)
        diff |= x[i] ^ y[i];
    return diff == 0;
}

uint64_t crypto_hash(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    /* FNV-1a leaves its low bits, which tables use, poorly mixed. */
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}
