/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - who of several may type
 *
 * Without a lease everybody's input counts, as it comes. While one is held only
 * its holder's does: that of other viewers, and what comes by other ways, is refused.
 * Anyone who may type can take a lease that is free, or take it over from a holder
 * of the same or a lower role; all viewers are told. It ends when its holder
 * releases it or goes; a holder with a client id has LEASE_GRACE_MS to come back,
 * also when it was the worker that went. Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_LEASE_H
#define HF_ENGINE_STREAM_LEASE_H

#include "engine/stream/viewer.h"

struct lease_view {
    char client[130]; /* as the viewer that asks may see it */
    bool has_client;
    const char *name; /* borrowed; may be NULL */
    enum viewer_role role;
    int64_t since_ms;
    bool mine; /* of the viewer that asks */
};
/* False: nobody holds it. v may be NULL. */
bool process_lease(const struct process *p, const struct viewer *v, struct lease_view *out);

/* forbidden for one that only watches; lease_held if the holder's role is higher. */
int viewer_lease_take(struct viewer *v, struct hf_error *err);
/* forbidden if it is not this viewer's. */
int viewer_lease_release(struct viewer *v, struct hf_error *err);
/* Takes it if it is free; otherwise the holder is told that somebody would like it. */
int viewer_lease_request(struct viewer *v, struct hf_error *err);

/* Input of a viewer: counted if it has a client id. As process_input(); lease_held
 * if another has the lease. */
ssize_t viewer_input(struct viewer *v, const void *bytes, size_t len, struct hf_error *err);
/* Bytes that were refused because of the lease: counted as taken, so that a client
 * that comes back does not send them again, long after they were meant. */
void viewer_input_pass(struct viewer *v, size_t len);
int viewer_input_eof(struct viewer *v, struct hf_error *err);
uint64_t viewer_input_offset(const struct viewer *v); /* taken of its client so far; 0: unknown */

#endif
