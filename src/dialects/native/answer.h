/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - JSON answers, written into the dialect's scratch buffer
 *
 * answer_open() begins an object, answer_send() closes it and replies; nothing
 * may return to the loop in between. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_ANSWER_H
#define HF_DIALECTS_NATIVE_ANSWER_H

#include "base/json.h"
#include "dialects/common/write.h"
#include "dialects/native/context.h"
#include "engine/headtail.h"
#include "engine/process.h"

struct json_out answer_open(struct native *n);
void answer_send(struct http_request *rq, int status, struct json_out *o);

/* The process object as the whole answer. */
void answer_process(struct http_request *rq, int status, struct process *p);

/* A string of these bytes: with U+FFFD for what is not UTF-8, or base64. */
void write_text(struct json_out *o, const char *key, const char *bytes, size_t len, bool base64);
/* The same of a beginning and an end; returns how many bytes are missing between them. */
uint64_t write_headtail(struct native *n, struct json_out *o, const char *key, struct headtail *h,
                        bool base64);
/* "survivors". */
void write_survivors(struct json_out *o, const struct survivors *s);
/* The process object, left open so that members can be added. */
void write_process_open(struct json_out *o, struct process *p);

#endif
