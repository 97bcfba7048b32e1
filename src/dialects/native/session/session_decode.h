/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_decode.h - bodies of the session calls, decoded
 *
 * What comes out borrows from the JSON tree and from what is held here. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SESSION_SESSION_DECODE_H
#define HF_DIALECTS_NATIVE_SESSION_SESSION_DECODE_H

#include "base/json.h"
#include "engine/session/session.h"

struct session_request {
    struct session_spec spec;
    struct spec_env *env;
};
/* Call session_ask_fini() either way. */
int session_ask_decode(struct session_request *a, const json_t *body, struct hf_error *err);
void session_ask_fini(struct session_request *a);

struct session_run_ask {
    struct session_run_spec spec;
    struct buf input; /* when it came as base64 */
    bool base64;      /* output_encoding */
    bool keep;        /* "on_detach":"keep" */
};
int session_run_ask_decode(struct session_run_ask *a, const json_t *body, struct hf_error *err);
void session_run_ask_fini(struct session_run_ask *a);

#endif
