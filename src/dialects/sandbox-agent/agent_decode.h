/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_decode.h - bodies and frames of sandbox-agent's clients
 *
 * Unknown fields are ignored, as in the original. All functions return 0, or a negative errno with
 * err filled. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_SANDBOX_AGENT_AGENT_DECODE_H
#define HF_DIALECTS_SANDBOX_AGENT_AGENT_DECODE_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/spec_decode.h"

/* What POST /v1/processes/config sets, as in the original. All are above zero. */
struct agent_config {
    int64_t max_concurrent, default_run_ms, max_run_ms, max_output, max_log, max_input;
};
/* Its members by their original names, for reading and writing. */
extern const struct json_field agent_config_fields[];
#define AGENT_CONFIG_FIELDS 6
int64_t *agent_config_at(struct agent_config *c, size_t i);
int agent_decode_config(struct agent_config *c, const json_t *body, struct hf_error *err);

struct agent_request {
    struct spec_body body;
    bool interactive;
    int64_t max_output; /* of a run */
};
int agent_decode_create(struct agent_request *a, const json_t *body, struct hf_error *err);
int agent_decode_run(struct agent_request *a, const json_t *body, const struct agent_config *c,
                     struct hf_error *err);
/* In either case. */
static inline void agent_request_fini(struct agent_request *a)
{
    spec_body_fini(&a->body);
}

/* Appends at most `max` bytes to *bytes; base64 unless `encoding` specifies otherwise. */
int agent_decode_input(const json_t *body, int64_t max, struct buf *bytes, struct hf_error *err);
/* Sixteen bits each; zero is valid. */
int agent_decode_size(const json_t *body, int64_t *rows, int64_t *cols, struct hf_error *err);

enum agent_frame_kind { AGENT_FRAME_INPUT, AGENT_FRAME_RESIZE, AGENT_FRAME_CLOSE };
struct agent_frame {
    enum agent_frame_kind kind;
    struct buf bytes; /* of input, at most `max`; the caller frees them in either case */
    int64_t rows, cols;
};
int agent_decode_frame(struct agent_frame *f, const char *text, size_t len, int64_t max,
                       struct hf_error *err);

#endif
