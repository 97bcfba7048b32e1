/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.h - one flood, through one way, added to a tally
 */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include "term.h"

struct tally {
    uint64_t bytes;
    uint64_t wall_ns;
    uint64_t cpu_ns; /* of what stands between writer and client */
};

uint64_t bulk_pty_bytes(const struct env *env);
void bulk(const struct env *env, enum way way, bool pty, uint64_t bytes, struct tally *sum);

#endif
