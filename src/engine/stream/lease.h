/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - which one of several viewers may type
 *
 * Without a lease, input from everyone counts, in order of arrival. While a viewer holds the lease,
 * only its input counts: input from other viewers, or by other routes, is refused. Any viewer that
 * may type can take a free lease, or take it over from a holder of the same or a lower role. All
 * viewers are notified. The lease ends when its holder releases it or disconnects. A holder with a
 * client id has LEASE_GRACE_MS to come back, also when the worker was replaced. Owned by struct
 * process. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_LEASE_H
#define HF_ENGINE_STREAM_LEASE_H

#include "engine/stream/viewer.h"

struct lease_view {
    char client[130]; /* as the requesting viewer may see it */
    bool has_client;
    const char *name; /* borrowed; may be NULL */
    enum viewer_role role;
    int64_t since_ms;
    bool mine; /* held by the requesting viewer */
};
/* False: nobody holds the lease. v may be NULL. */
bool process_lease(const struct process *p, const struct viewer *v, struct lease_view *out);

/* forbidden for a viewer that only watches; lease_held if the holder's role is higher. */
int viewer_lease_take(struct viewer *v, struct hf_error *err);
/* forbidden if this viewer does not hold the lease. */
int viewer_lease_release(struct viewer *v, struct hf_error *err);
/* Takes the lease if it is free; otherwise notifies the holder of the request. */
int viewer_lease_request(struct viewer *v, struct hf_error *err);

/* Input of a viewer, counted if it has a client id. As process_input(), plus lease_held if
 * another viewer holds the lease. */
ssize_t viewer_input(struct viewer *v, const void *bytes, size_t len, struct hf_error *err);
/* Counts bytes that were refused because of the lease as accepted, so that a reconnecting client
 * does not send them again, long after they were meant. */
void viewer_input_pass(struct viewer *v, size_t len);
int viewer_input_eof(struct viewer *v, struct hf_error *err);
uint64_t viewer_input_offset(const struct viewer *v); /* accepted so far; 0: unknown */

#endif
