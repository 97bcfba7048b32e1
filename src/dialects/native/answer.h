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
#include "engine/process.h"

struct json_out answer_open(struct native *n);
void answer_send(struct http_request *rq, int status, struct json_out *o);

/* The process object as the whole answer. */
void answer_process(struct http_request *rq, int status, struct process *p);

/* The process object, left open so that members can be added. */
void write_process_open(struct json_out *o, struct process *p);

#endif
