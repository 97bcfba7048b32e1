/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - output reserved for clients that were cut off and may come back
 *
 * A claim is an offset, a deadline and a number of clients. Until the deadline, output from that
 * offset on is not overwritten, unless that many clients have come back. Claims are part of the
 * process's record, because the next worker needs them most. There are LIMIT_CLAIMS slots; when all
 * are in use, a new claim replaces the one that would expire first. Times are monotonic
 * milliseconds. Owned by struct record_head. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_CLAIM_H
#define HF_ENGINE_STREAM_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

struct claim {
    uint64_t at;
    uint64_t until_ms;
    uint32_t clients; /* 0: free */
    uint32_t any;     /* any client settles it, at whatever offset it attaches (hold_ms) */
};

void claims_add(struct claim *c, const struct claim *one, uint64_t now);
/* A client attached that resumes at `offset`. True: it settled a claim. */
bool claims_take(struct claim *c, uint64_t offset, uint64_t now);
void claims_take_any(struct claim *c); /* drops the claims that any client settles */
/* The lowest offset that is claimed now and not below `first`; `hold` if none is lower. */
uint64_t claims_hold(const struct claim *c, uint64_t first, uint64_t hold, uint64_t now);
/* When the next claim expires; 0: there is none. */
uint64_t claims_next_end(const struct claim *c, uint64_t now);
/* For a new worker: restarts the time of claims that have not expired, and drops invalid ones. */
void claims_renew(struct claim *c, uint64_t next, uint64_t now, uint64_t ms);

#endif
