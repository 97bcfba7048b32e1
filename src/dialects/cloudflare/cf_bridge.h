/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_bridge.h - /v1/sandbox/…: what the bridge's handlers share
 *
 * A sandbox of the bridge is an engine session by its id, and everything in it belongs to
 * that session; a named session of a sandbox is the engine session "SANDBOX.NAME". Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_BRIDGE_H
#define HF_DIALECTS_CLOUDFLARE_CF_BRIDGE_H

#include "dialects/cloudflare/cf_session.h"

#define BRIDGE_NAME_MAX 128
#define BRIDGE_ID_BYTES (2 * BRIDGE_NAME_MAX + 2)

void bridge_error(struct http_request *rq, int status, const char *code, const char *message);
void bridge_fail(struct http_request *rq, const struct hf_error *err);
/* The sandbox of the path; NULL: it is none, and that was answered. */
const char *bridge_sandbox(struct http_request *rq);
/* The engine's name for a session of it; NULL: the name is not allowed, and that was answered. */
const char *bridge_session(struct http_request *rq, const char *sandbox, const char *name,
                           char out[BRIDGE_ID_BYTES]);
/* The body, an object; NULL: answered. An empty body is an empty object. */
json_t *bridge_body(struct http_request *rq);

#endif
