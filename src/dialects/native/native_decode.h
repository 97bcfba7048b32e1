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
#include "engine/session/session.h"
#include "engine/stream/share.h"
#include "engine/stream/viewer.h"
#include "transport/http.h"

/* The process that a reference names, if the caller may see it; see engine_find(). */
struct process *native_decode_find(const struct http_request *rq, const char *ref,
                                   struct hf_error *err);

/* The body as JSON; the caller owns the tree. NULL: err says why. */
json_t *native_decode_json(struct http_request *rq, struct hf_error *err);
/* Absent, or JSON; anything else is unsupported_media_type. */
int native_decode_check_json_type(const struct http_request *rq, struct hf_error *err);

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

/* --- bodies; pure -------------------------------------------------------------------------- */

/* PATCH. *metadata is malloc'd or NULL, and the caller's; the rest borrows from the tree. */
int patch_decode(const json_t *body, struct process_patch *out, char **metadata,
                 struct hf_error *err);
/* POST …/links. The strings are borrowed from the tree. */
int links_decode(const json_t *tree, struct share_spec *out, struct hf_error *err);

/* POST /v1/sessions and POST …/run: the results borrow from the tree and from the structs. */
struct session_request {
    struct session_spec spec;
    struct spec_env *env;
};
/* Call session_request_fini() whether it succeeds or fails. */
int session_request_decode(struct session_request *a, const json_t *body, struct hf_error *err);
void session_request_fini(struct session_request *a);

struct session_run_request {
    struct session_run_spec spec;
    struct buf input; /* if it was base64 */
    bool base64;      /* output_encoding */
    bool keep;        /* "on_detach":"keep" */
};
int session_run_request_decode(struct session_run_request *a, const json_t *body,
                               struct hf_error *err);
void session_run_request_fini(struct session_run_request *a);

#endif
