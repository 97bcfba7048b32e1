/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - the resources that an ended process used
 *
 * As the kernel reports them with the exit status (struct rusage): those of the process and of the
 * descendants that were waited for. Layer: base.
 */
#ifndef HF_BASE_USAGE_H
#define HF_BASE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#define USAGE_BLOCK_BYTES 512

struct usage {
    uint64_t user_us, system_us; /* CPU time */
    uint64_t max_rss_kib;        /* the largest resident set of one of them */
    /* Blocks read from and written to block devices; false: not known, as from an older daemon. */
    bool has_blocks;
    uint64_t in_blocks, out_blocks;
};

/* A process that ran has a resident set. Zeros mean that nothing is known. */
static inline bool usage_is_known(const struct usage *u)
{
    return u->max_rss_kib > 0;
}

/*
 * The ledger, the state that an upgrade carries and the vault's messages have three words for it,
 * and their layout never changes. Their low bits are the two times and the resident set, as in
 * versions that stored nothing else and did not interpret them; the high bits are the blocks. A
 * usage that has no room is unknown when it is read again.
 */
#define USAGE_WORDS 3
void usage_pack(const struct usage *u, uint64_t words[USAGE_WORDS]);
struct usage usage_unpack(const uint64_t words[USAGE_WORDS]);

#endif
