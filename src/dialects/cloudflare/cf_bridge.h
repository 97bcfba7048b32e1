/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge.h - /v1/sandbox/…: what the bridge's handlers share
 *
 * A sandbox of the bridge is the engine session with its id, and everything in the sandbox belongs
 * to that session. A named session of a sandbox is the engine session "SANDBOX.NAME".
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_BRIDGE_H
#define HF_DIALECTS_CLOUDFLARE_CF_BRIDGE_H

#include "dialects/cloudflare/cf_session.h"

#define BRIDGE_NAME_MAX 128
#define BRIDGE_ID_BYTES (2 * BRIDGE_NAME_MAX + 2)

void bridge_error(struct http_request *rq, int status, const char *code, const char *message);
void bridge_fail(struct http_request *rq, const struct hf_error *err);
/* The sandbox in the path. NULL: invalid, and the request has been replied to. */
const char *bridge_sandbox(struct http_request *rq);
/*
 * The engine's name for a session of the sandbox. NULL: the name is invalid, and the request has
 * been replied to.
 */
const char *bridge_session(struct http_request *rq, const char *sandbox, const char *name,
                           char out[BRIDGE_ID_BYTES]);
/* The body, decoded by the table; an empty one is an empty object. Its owner is the caller. NULL:
 * the request has been replied to. */
json_t *bridge_decode(struct http_request *rq, const struct json_field *fields, size_t count,
                      void *target);

#endif
