/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_result.h - the result of a command in a session. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SESSION_SESSION_RESULT_H
#define HF_DIALECTS_NATIVE_SESSION_SESSION_RESULT_H

#include "dialects/native/native_context.h"
#include "dialects/native/session/session_decode.h"

/* Writes the members into an open object. */
void session_result_write(struct native *n, struct json_out *o, const char *session_id, bool base64,
                          const struct session_result *r);

/* Why a command has no result when the daemon shuts down. 0: it had not begun. */
int session_run_draining(uint64_t number, struct hf_error *err);

/* Runs the command and replies with events; or a negative errno and err, without a reply. */
int session_events_begin(struct http_request *rq, struct session *s,
                         struct session_run_request *request, struct hf_error *err);

#endif
