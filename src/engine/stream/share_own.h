/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_own.h - the part of a process that its links are in
 *
 * Only share.c touches the struct. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SHARE_OWN_H
#define HF_ENGINE_STREAM_SHARE_OWN_H

#include "base/list.h"
#include "engine/stream/share.h"

struct process_links {
    struct list list; /* struct share */
    struct timer *timer;
};

void share_init(struct process *p);
void share_free_all(struct process *p);
void share_write(const struct process *p, struct json_out *o); /* for the metadata */
void share_load(struct process *p, const json_t *links);       /* NULL: none */

#endif
