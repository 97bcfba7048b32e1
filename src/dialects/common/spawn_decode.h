/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_decode.h - decodes a create or run body into a spawn_spec
 *
 * The spec borrows from the JSON tree and from the arrays here: both must live until engine_spawn()
 * has returned. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_SPAWN_DECODE_H
#define HF_DIALECTS_COMMON_SPAWN_DECODE_H

#include "base/buf.h"
#include "base/json.h"
#include "engine/spawn/spec.h"

struct spawn_request {
    struct spawn_spec spec;
    const char **args;
    struct spec_env *env;
    char *metadata;
    struct buf input; /* when it came as base64 */
    /* run only */
    int64_t max_output_bytes;
    bool base64; /* output_encoding */
    bool keep;   /* "on_detach":"keep" */
};

/* `run`: accept the fields of POST /v1/processes/run as well. Call spawn_request_fini() even on
 * failure. */
int spawn_request_decode(struct spawn_request *a, const json_t *body, bool run,
                         struct hf_error *err);
void spawn_request_fini(struct spawn_request *a);

/* `args` as words, `env` as variables, borrowed from the tree; *out is malloc'd, also on failure,
 * and untouched if there are none. */
int spawn_request_args(const json_t *args, const char ***out, size_t *count, struct hf_error *err);
int spawn_request_env(const json_t *env, struct spec_env **out, size_t *count,
                      struct hf_error *err);
/* "utf8" (false, also for NULL) or "base64" (true). */
int spawn_request_encoding(const char *name, const char *field, bool *base64, struct hf_error *err);

/* `v`, named `field`, as bytes: text, or base64 as "FIELD_encoding" says, then kept in *own. *bytes
 * is unchanged if v is NULL. */
int spawn_request_bytes(const json_t *v, const char *field, const char *encoding, struct buf *own,
                        const void **bytes, size_t *len, struct hf_error *err);

#endif
