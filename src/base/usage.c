/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - packs the usage of an ended process into three words. Layer: base.
 */
#include "base/usage.h"

#include <string.h>

#define TIME_BITS 46 /* more than two years of CPU time */
#define RSS_BITS 36  /* 64 TiB */
/* A number of blocks plus one has 32 bits: 2 TiB. The low ones are behind a time, the others behind
 * the resident set. */
#define LOW_BITS (64 - TIME_BITS)
#define HIGH_BITS (32 - LOW_BITS)

static uint64_t low(uint64_t v, int bits)
{
    return v & ((1ULL << bits) - 1);
}

/* 0: unknown, or more than there is room for. */
static uint64_t packed_blocks(const struct usage *u, uint64_t blocks)
{
    return u->has_blocks && u->in_blocks < UINT32_MAX && u->out_blocks < UINT32_MAX ? blocks + 1
                                                                                    : 0;
}

void usage_pack(const struct usage *u, uint64_t words[USAGE_WORDS])
{
    uint64_t in = packed_blocks(u, u->in_blocks), out = packed_blocks(u, u->out_blocks);

    memset(words, 0, USAGE_WORDS * sizeof *words);
    if (u->user_us >> TIME_BITS != 0 || u->system_us >> TIME_BITS != 0 ||
        u->max_rss_kib >> RSS_BITS != 0)
        return;
    words[0] = u->user_us | low(in, LOW_BITS) << TIME_BITS;
    words[1] = u->system_us | low(out, LOW_BITS) << TIME_BITS;
    words[2] =
        u->max_rss_kib | in >> LOW_BITS << RSS_BITS | out >> LOW_BITS << (RSS_BITS + HIGH_BITS);
}

struct usage usage_unpack(const uint64_t words[USAGE_WORDS])
{
    struct usage u = {.user_us = low(words[0], TIME_BITS),
                      .system_us = low(words[1], TIME_BITS),
                      .max_rss_kib = low(words[2], RSS_BITS)};
    uint64_t in = words[0] >> TIME_BITS | low(words[2] >> RSS_BITS, HIGH_BITS) << LOW_BITS;
    uint64_t out = words[1] >> TIME_BITS | words[2] >> (RSS_BITS + HIGH_BITS) << LOW_BITS;

    u.has_blocks = in > 0 && out > 0;
    u.in_blocks = u.has_blocks ? in - 1 : 0;
    u.out_blocks = u.has_blocks ? out - 1 : 0;
    return u;
}
