/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_decode.h - bodies of the session calls, decoded
 *
 * The result borrows from the JSON tree and from the buffers in the request. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SESSION_SESSION_DECODE_H
#define HF_DIALECTS_NATIVE_SESSION_SESSION_DECODE_H

#include "base/json.h"
#include "engine/session/session.h"

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
