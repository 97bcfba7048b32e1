/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mask.c - unmasking at every alignment and length
 */
#include "transport/ws_codec.h"

#include "test.h"

static const unsigned char key[4] = {0x11, 0x22, 0x44, 0x88};

static uint32_t key_word(size_t turn)
{
    unsigned char k[4];
    uint32_t word;

    for (size_t i = 0; i < 4; i++)
        k[i] = key[(i + turn) % 4];
    memcpy(&word, k, 4);
    return word;
}

/* Blocks of vectors in the middle, single bytes around them: no border may be off by one. */
TEST(every_alignment_and_length_is_exact)
{
    _Alignas(64) char buffer[512];

    for (size_t align = 0; align < 32; align++) {
        for (size_t len = 0; len < 300; len++) {
            char *p = buffer + 32 + align;
            uint32_t after;

            for (size_t i = 0; i < sizeof buffer; i++)
                buffer[i] = (char)(i * 31);
            after = ws_unmask(p, len, key_word(0));
            REQUIRE(after == key_word(len));
            for (size_t i = 0; i < sizeof buffer; i++) {
                size_t at = (size_t)(buffer + i - p);
                char want = (char)(i * 31);

                if (buffer + i >= p && at < len)
                    want = (char)(want ^ key[at % 4]);
                REQUIRE(buffer[i] == want);
            }
        }
    }
}

/* A frame that comes in two reads is unmasked with the mask turned in between. */
TEST(two_pieces_are_as_good_as_one)
{
    for (size_t cut = 0; cut <= 100; cut++) {
        char whole[100], parts[100];
        uint32_t mask;

        for (size_t i = 0; i < sizeof whole; i++)
            whole[i] = parts[i] = (char)(i * 7);
        ws_unmask(whole, sizeof whole, key_word(0));
        mask = ws_unmask(parts, cut, key_word(0));
        ws_unmask(parts + cut, sizeof parts - cut, mask);
        EXPECT_MEM(parts, sizeof parts, whole, sizeof whole);
    }
}
