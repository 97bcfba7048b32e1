/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_crypto.c - hashes against the published vectors (FIPS 180-4, RFC 4231, RFC 6455)
 */
#include "base/crypto.h"

#include "base/buf.h"
#include "base/text.h"
#include "test.h"

static const char *sha1_hex(const void *bytes, size_t len)
{
    static char hex[41];
    uint8_t out[20];

    sha1(bytes, len, out);
    hex_encode(hex, out, sizeof out);
    return hex;
}

static const char *sha256_hex(const void *bytes, size_t len)
{
    static char hex[65];
    uint8_t out[32];

    sha256(bytes, len, out);
    hex_encode(hex, out, sizeof out);
    return hex;
}

static const char *hmac_hex(const void *key, size_t key_len, const char *text)
{
    static char hex[65];
    uint8_t out[32];

    hmac_sha256(key, key_len, text, strlen(text), out);
    hex_encode(hex, out, sizeof out);
    return hex;
}

#define TWO_BLOCKS "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"

TEST(sha1_gives_the_published_values)
{
    EXPECT_STR(sha1_hex("", 0), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_STR(sha1_hex(NULL, 0), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_STR(sha1_hex("abc", 3), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_STR(sha1_hex(TWO_BLOCKS, 56), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

TEST(sha256_gives_the_published_values)
{
    EXPECT_STR(sha256_hex("", 0),
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_STR(sha256_hex("abc", 3),
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_STR(sha256_hex(TWO_BLOCKS, 56),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(a_million_bytes_hash_right)
{
    char *million = malloc(1000000);

    REQUIRE(million != NULL);
    memset(million, 'a', 1000000);
    EXPECT_STR(sha1_hex(million, 1000000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    EXPECT_STR(sha256_hex(million, 1000000),
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* The answer to a WebSocket handshake, the example of RFC 6455 section 1.3. */
TEST(the_websocket_example_comes_out)
{
    static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    struct buf b = {0};
    uint8_t out[20];

    sha1(key, sizeof key - 1, out);
    base64_encode(&b, out, sizeof out);
    EXPECT_STR(buf_cstr(&b), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    buf_fini(&b);
}

TEST(hmac_gives_the_values_of_rfc_4231)
{
    uint8_t key[131];

    memset(key, 0x0b, 20);
    EXPECT_STR(hmac_hex(key, 20, "Hi There"),
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_STR(hmac_hex("Jefe", 4, "what do ya want for nothing?"),
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    EXPECT_STR(hmac_hex(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First"),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(constant_time_compare_sees_every_byte)
{
    uint8_t a[33], b[33];

    crypto_random(a, sizeof a);
    memcpy(b, a, sizeof b);
    EXPECT(crypto_equal(a, b, sizeof a));
    for (size_t i = 0; i < sizeof a; i++) {
        b[i] ^= 1;
        EXPECT(!crypto_equal(a, b, sizeof a));
        b[i] ^= 1;
    }
    EXPECT(crypto_equal(a, b, 0));
}

TEST(random_bytes_differ)
{
    uint8_t a[32] = {0}, b[32] = {0};

    crypto_random(a, sizeof a);
    crypto_random(b, sizeof b);
    EXPECT(memcmp(a, b, sizeof a) != 0);
}

/* Tables take the low bits, so close keys must not share them. */
TEST(the_table_hash_spreads_close_keys)
{
    int used[256] = {0}, empty = 0;

    for (int i = 0; i < 2048; i++) {
        char key[16];
        int n = snprintf(key, sizeof key, "key-%d", i);

        used[crypto_hash(key, (size_t)n) & 255]++;
    }
    for (int i = 0; i < 256; i++) {
        EXPECT(used[i] < 32);
        empty += used[i] == 0;
    }
    EXPECT(empty < 5);
    EXPECT(crypto_hash("a", 1) != crypto_hash("b", 1));
}
