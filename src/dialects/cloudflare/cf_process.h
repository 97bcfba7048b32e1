/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_process.h - processes and their output as clients see them. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_PROCESS_H
#define HF_DIALECTS_CLOUDFLARE_CF_PROCESS_H

#include "dialects/cloudflare/cf_request.h"
#include "dialects/cloudflare/cf_wire.h"
#include "engine/process.h"

/* The id by which clients know a process: its tag if that is unambiguous, else its own id. */
const char *cf_process_id(struct cf *cf, struct process *p);
/* The process in the path. NULL: there is none, and the request has been replied to. */
struct process *cf_process_of(struct cf_request *q);
const char *cf_process_status(const struct process_view *v);
/* One event with a piece of output, whole characters only. process_id may be NULL. */
void cf_send_output(struct call *c, struct cf_text *t, const struct slice *s,
                    const char *process_id);
/* Flushes what is left at the end. */
void cf_send_output_end(struct call *c, struct cf_text *t, const char *process_id);
/* Reports lost output as text, because an error event would end the client's stream. */
void cf_send_gap(struct call *c, uint64_t from, uint64_t to, const char *process_id);

#endif
