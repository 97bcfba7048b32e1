/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_own.h - the part of a process that says which viewer may type
 *
 * Only lease.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_LEASE_OWN_H
#define HF_ENGINE_STREAM_LEASE_OWN_H

#include "engine/stream/lease.h"

/* See lease.h. Held without a holder: its client may still come back. */
struct lease {
    bool held;
    enum viewer_role role;
    struct viewer *holder;
    char *client, *name;
    int64_t since_ms;
    struct timer *grace;
};

int lease_check(const struct process *p, const struct viewer *v, struct hf_error *err);
void lease_on_attach(struct viewer *v);
void lease_on_detach(struct viewer *v);
void lease_fini(struct process *p);
void lease_write(const struct process *p, struct json_out *o); /* for the metadata */
void lease_load(struct process *p, const json_t *o);           /* NULL: none */

#endif
