/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - what a request asks, decoded strictly
 *
 * Functions that return int give 0 or a negative errno with err filled. A
 * parameter that is not given leaves its target untouched. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_ASK_H
#define HF_DIALECTS_NATIVE_ASK_H

#include "base/json.h"
#include "dialects/common/checks.h"
#include "engine/process.h"
#include "engine/viewer.h"
#include "transport/http.h"

/* The process of {id}; NULL: the request has been answered. */
struct process *ask_process(struct http_request *rq);
/* The process that a reference names, as far as the caller may see it; engine_find(). */
struct process *ask_find(const struct http_request *rq, const char *ref, struct hf_error *err);

/* The body as JSON; the caller owns the tree. NULL: err says why. */
json_t *ask_json(struct http_request *rq, struct hf_error *err);
/* Absent, or JSON; anything else is unsupported_media_type. */
int ask_check_json_type(const struct http_request *rq, struct hf_error *err);
bool ask_is_json_type(const struct http_request *rq); /* Content-Type is there and is JSON */

int ask_i64(const struct http_request *rq, const char *name, int64_t min, int64_t max, int64_t *out,
            struct hf_error *err);
int ask_bool(const struct http_request *rq, const char *name, bool *out, struct hf_error *err);
/* One of `names` (NULL-terminated): its index. */
int ask_choice(const struct http_request *rq, const char *name, const char *const *names, int *out,
               struct hf_error *err);
/* `rows` and `cols`: both or none. */
int ask_size(const struct http_request *rq, int64_t *rows, int64_t *cols, struct hf_error *err);

/* Where to begin: an offset, "-N" (the last N bytes), "now" or "screen". */
struct since {
    enum since_kind kind;
    uint64_t n;
};
int ask_since(const struct http_request *rq, struct since *out, struct hf_error *err);

#endif
