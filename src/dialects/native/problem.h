/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h - the format of every refusal: application/problem+json. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PROBLEM_H
#define HF_DIALECTS_NATIVE_PROBLEM_H

#include "base/json.h"
#include "transport/http.h"

#define PROBLEM_TYPE "application/problem+json"

/* Writes the members into an open object. */
void problem_write(struct json_out *o, const struct hf_error *err);
void problem_reply(struct http_request *rq, const struct hf_error *err);
/* The same for input that stopped half way: reports how much was consumed. */
void problem_reply_accepted(struct http_request *rq, const struct hf_error *err,
                            uint64_t accepted_bytes);

#endif
