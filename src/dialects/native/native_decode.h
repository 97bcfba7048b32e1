/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_decode.h - strict decoding of requests
 *
 * Functions that return int return 0, or a negative errno with err filled. An absent parameter
 * leaves its target unchanged. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_NATIVE_DECODE_H
#define HF_DIALECTS_NATIVE_NATIVE_DECODE_H

#include "base/json.h"
#include "dialects/common/request_checks.h"
#include "engine/process.h"
#include "engine/stream/viewer.h"
#include "transport/http.h"

/* The process that a reference names, if the caller may see it; see engine_find(). */
struct process *native_decode_find(const struct http_request *rq, const char *ref,
                                   struct hf_error *err);

/* The body as JSON; the caller owns the tree. NULL: err says why. */
json_t *native_decode_json(struct http_request *rq, struct hf_error *err);
/* Absent, or JSON; anything else is unsupported_media_type. */
int native_decode_check_json_type(const struct http_request *rq, struct hf_error *err);
bool native_decode_is_json_type(
    const struct http_request *rq); /* Content-Type is present and is JSON */

int native_decode_i64(const struct http_request *rq, const char *name, int64_t min, int64_t max,
                      int64_t *out, struct hf_error *err);
int native_decode_bool(const struct http_request *rq, const char *name, bool *out,
                       struct hf_error *err);
/* One of `names` (NULL-terminated): its index. */
int native_decode_choice(const struct http_request *rq, const char *name, const char *const *names,
                         int *out, struct hf_error *err);
/* `rows` and `cols`: both or none. */
int native_decode_size(const struct http_request *rq, int64_t *rows, int64_t *cols,
                       struct hf_error *err);

/* Where to begin: an offset, "-N" (the last N bytes), "now" or "screen". */
struct since {
    enum since_kind kind;
    uint64_t n;
};
int native_decode_since(const struct http_request *rq, struct since *out, struct hf_error *err);

#endif
