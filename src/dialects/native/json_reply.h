/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reply.h - parts of the JSON replies of several handlers, and errors. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_JSON_REPLY_H
#define HF_DIALECTS_NATIVE_JSON_REPLY_H

#include "base/json.h"
#include "dialects/common/process_json.h"
#include "dialects/native/native_context.h"
#include "engine/journal/headtail.h"
#include "engine/process.h"

/* Replies with the process object. */
void json_reply_process(struct http_request *rq, int status, struct process *p);

/* These bytes as a string: U+FFFD replaces what is not UTF-8; or base64. */
void json_reply_text(struct json_out *o, const char *key, const char *bytes, size_t len,
                     bool base64);
/* The same for a head and a tail; returns how many bytes are missing between them. */
uint64_t json_reply_headtail(struct native *n, struct json_out *o, const char *key,
                             struct headtail *h, bool base64);
/* The process object, left open so that members can be added. */
struct json_out json_reply_process_open(const struct http_request *rq, struct process *p,
                                        struct live_table *live);

/* Errors: the format of every refusal. Writes the members into an open object. */
void json_write_problem(struct json_out *o, const struct hf_error *err);
void json_reply_problem(struct http_request *rq, const struct hf_error *err);
/* The same for input that stopped half way: reports how much was consumed. */
void json_reply_problem_accepted(struct http_request *rq, const struct hf_error *err,
                                 uint64_t accepted_bytes);

#endif
