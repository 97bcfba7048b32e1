/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience.h - a short wait for what the kernel lacks for the moment
 *
 * For the few places that must not give up because memory was short: a keeper that takes over. The
 * wait blocks the caller, so it has a bound. Layer: base.
 */
#ifndef HF_BASE_PATIENCE_H
#define HF_BASE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct patience {
    uint64_t until_ms; /* 0: the first wait begins it */
};

/* Is this -errno about memory, descriptors or an interruption, and may pass? */
bool patience_is_passing(int rc);
/* Sleeps for a millisecond; false, without sleeping: LIMIT_PATIENCE_MS have passed. */
bool patience_wait(struct patience *p);

#endif
