/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - who was cut off and may come back for output
 *
 * A claim is an offset, a time and a number of clients: until then output from that offset on is
 * not overwritten, unless as many have come back. Claims lie in the record of the process, because the next
 * worker needs them most. There is an array of LIMIT_CLAIMS of them; one more takes the place of the one that
 * would end first. Times are monotonic milliseconds. Owned by struct record_head. Layer: engine.
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
    uint32_t any;     /* whoever comes is meant, whatever it asks for (hold_ms) */
};

void claims_add(struct claim *c, const struct claim *one, uint64_t now);
/* A client came that asks for what follows `offset`. True: it was one of those who are waited for. */
bool claims_take(struct claim *c, uint64_t offset, uint64_t now);
void claims_take_any(struct claim *c); /* ends those that anybody ends */
/* The least offset that is claimed now and not below `first`; `hold` if none is less. */
uint64_t claims_hold(const struct claim *c, uint64_t first, uint64_t hold, uint64_t now);
/* When the next one ends; 0: there is none. */
uint64_t claims_next_end(const struct claim *c, uint64_t now);
/* Another worker: those that have not ended get their time again. What makes no sense is dropped. */
void claims_renew(struct claim *c, uint64_t next, uint64_t now, uint64_t ms);

#endif
