/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_reply.h - JSON replies, written into the dialect's scratch buffer
 *
 * json_reply_open() begins an object, json_reply_send() closes it and replies; do not return to the
 * loop in between. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_JSON_REPLY_H
#define HF_DIALECTS_NATIVE_JSON_REPLY_H

#include "base/json.h"
#include "dialects/common/process_json.h"
#include "dialects/native/native_context.h"
#include "engine/journal/headtail.h"
#include "engine/process.h"

struct json_out json_reply_open(struct native *n);
void json_reply_send(struct http_request *rq, int status, struct json_out *o);

/* Replies with the process object. */
void json_reply_process(struct http_request *rq, int status, struct process *p);

/* These bytes as a string: U+FFFD replaces what is not UTF-8; or base64. */
void json_reply_text(struct json_out *o, const char *key, const char *bytes, size_t len,
                     bool base64);
/* The same for a head and a tail; returns how many bytes are missing between them. */
uint64_t json_reply_headtail(struct native *n, struct json_out *o, const char *key,
                             struct headtail *h, bool base64);
/* The process object, left open so that members can be added. */
void json_reply_process_open(struct json_out *o, struct process *p);

#endif
