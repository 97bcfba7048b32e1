/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h - the one shape of a refusal: application/problem+json. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PROBLEM_H
#define HF_DIALECTS_NATIVE_PROBLEM_H

#include "base/json.h"
#include "transport/http.h"

#define PROBLEM_TYPE "application/problem+json"

/* The members, into an object that is open. */
void problem_write(struct json_out *o, const struct hf_error *err);
void problem_reply(struct http_request *rq, const struct hf_error *err);
/* The same for input that stopped half way: tells how much was taken. */
void problem_reply_accepted(struct http_request *rq, const struct hf_error *err,
                            uint64_t accepted_bytes);

#endif
