/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h - how much one sandbox, or one peer, may use at once and per second
 *
 * Counted in shared memory over all workers. Names are stored as hashes only. When the table has no
 * room near a hash, the name that was idle for longest is dropped; if all of them are in use, the
 * request is refused: no request is left uncounted. Layer: gateway.
 */
#ifndef HF_GATEWAY_QUOTA_H
#define HF_GATEWAY_QUOTA_H

#include "gateway/gateway_shared.h"

struct quota_hold {         /* {0}: nothing is reserved */
    uint32_t sandbox, peer; /* slot + 1 */
};

struct quota_limits {
    uint32_t connections, rate; /* at once, per second; 0: no limit */
};

/* True: counted, and *slot must be released; false: over the limit. `kind` separates names. */
bool quota_take(struct gateway_shared *s, size_t seat, char kind, const char *name,
                const struct quota_limits *limits, uint64_t now_ms, uint32_t *slot);
void quota_give(struct gateway_shared *s, size_t seat, uint32_t *slot);

#endif
