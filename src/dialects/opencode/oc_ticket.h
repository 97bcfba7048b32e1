/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_ticket.h - single-use tickets of the opencode dialect. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENCODE_OC_TICKET_H
#define HF_DIALECTS_OPENCODE_OC_TICKET_H

#include "dialects/opencode/opencode.h"

void oc_ticket_new(struct http_request *rq, const char *process, char out[37]);
/* The role that a request's ticket grants, for the gate. */
enum role oc_ticket_role(const struct http_request *rq, struct auth_grant *g);
/* True: it was valid for this process and request, and is now consumed. */
bool oc_ticket_spend(const struct http_request *rq, const char *process);
void oc_tickets_free(struct oc *oc);

#endif
