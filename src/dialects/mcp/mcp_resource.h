/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_resource.h - outputs and screens as resources: process://{id}/output, process://{id}/screen
 *
 * {id} is what every call accepts: an id, tag:NAME or pid:N, percent-encoded. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_MCP_RESOURCE_H
#define HF_DIALECTS_MCP_MCP_RESOURCE_H

#include "dialects/mcp/mcp_call.h"

#define RESOURCE_URI_BYTES 512

enum resource_kind { RESOURCE_OUTPUT, RESOURCE_SCREEN };

/* Pure: parses the kind and {id}, decoded. id: RESOURCE_URI_BYTES. -1: not one of ours. */
int resource_uri_parse(const char *uri, enum resource_kind *kind, char *id);
/* The process it names; NULL and err if there is none. */
struct process *resource_find(struct mcp *m, const char *uri, enum resource_kind *kind,
                              struct hf_error *err);

/* Each replies to the call. */
void resources_list(struct mcp_call *c, const json_t *params);
void resources_templates(struct mcp_call *c, const json_t *params);
void resources_read(struct mcp_call *c, const json_t *params);
void resources_subscribe(struct mcp_call *c, const json_t *params);
void resources_unsubscribe(struct mcp_call *c, const json_t *params);

#endif
