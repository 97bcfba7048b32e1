/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_result.h - what came of a command in a session. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SESSION_SESSION_RESULT_H
#define HF_DIALECTS_NATIVE_SESSION_SESSION_RESULT_H

#include "dialects/native/native_context.h"
#include "dialects/native/session/session_decode.h"

/* The members, into an object that is open. */
void session_result_write(struct native *n, struct json_out *o, const char *session_id, bool base64,
                          const struct session_result *r);

/* Why a command has no result when the daemon goes. 0: it was not begun. */
int session_run_going(uint64_t number, struct hf_error *err);

/* Runs it and answers with events; or a negative errno and err, and nothing is answered. */
int session_events_begin(struct http_request *rq, struct session *s, struct session_run_ask *ask,
                         struct hf_error *err);

#endif
