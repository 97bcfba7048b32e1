/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idempotency.h - the Idempotency-Key of a request that starts a process
 *
 * The engine keeps the key, and a hash of the request's body, with the process. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_IDEMPOTENCY_H
#define HF_DIALECTS_COMMON_IDEMPOTENCY_H

#include "engine/engine.h"
#include "transport/http.h"

#define IDEMPOTENCY_HASH_LEN 64

struct idempotency {
    const char *key; /* borrowed from the request; NULL: none */
    char hash[IDEMPOTENCY_HASH_LEN + 1];
};

int idempotency_decode(struct idempotency *i, const struct http_request *rq, struct hf_error *err);
/* 1 and the process that was started with this key; 0: the key is new, or there is none; negative:
 * the key belongs to another body. */
int idempotency_find(const struct idempotency *i, struct engine *e, struct process **out,
                     struct hf_error *err);
/* The same check for another use of the key: 0, or negative and err. */
int idempotency_check(const struct idempotency *i, const char *hash, struct hf_error *err);

#endif
