/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - the process API of sandbox-agent 0.4.2, as its own client speaks it
 *
 * Facts: docs/dialects/sandbox-agent.md. Ids are the daemon's own, so every dialect sees what is
 * started here, and vice versa. Log entries are the journal's runs, whose numbers are never reused.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_SANDBOX_AGENT_AGENT_H
#define HF_DIALECTS_SANDBOX_AGENT_AGENT_H

#include "dialects/common/dialect_base.h"
#include "dialects/common/spec_decode.h"

extern const struct dialect sandbox_agent_dialect;

/* What POST /v1/processes/config sets, as in the original. All are above zero. */
struct agent_config {
    int64_t max_concurrent, default_run_ms, max_run_ms, max_output, max_log, max_input;
};

struct agent {
    struct dialect_base base;
    struct agent_config config;
};

static inline struct agent *agent_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* agent.c: a body of JSON; the caller owns it. NULL: replied. */
json_t *agent_body(struct http_request *rq);

void agent_logs(struct http_request *rq);
void agent_terminal(struct http_request *rq);

/* agent_files.c */
void agent_fs_entries(struct http_request *rq);
void agent_fs_read(struct http_request *rq);
void agent_fs_write(struct http_request *rq);
void agent_fs_delete(struct http_request *rq);
void agent_fs_mkdir(struct http_request *rq);
void agent_fs_move(struct http_request *rq);
void agent_fs_stat(struct http_request *rq);
void agent_fs_upload(struct http_request *rq);

/* --- agent_decode.c. Unknown fields are ignored, as in the original. Pure. ------------------- */

int agent_decode_config(struct agent_config *c, const json_t *body, struct hf_error *err);
json_t *agent_config_json(const struct agent_config *c);

struct agent_request {
    struct spec_body body; /* call spec_body_fini() in either case */
    bool interactive;
    int64_t max_output; /* of a run */
};
int agent_decode_create(struct agent_request *a, const json_t *body, struct hf_error *err);
int agent_decode_run(struct agent_request *a, const json_t *body, const struct agent_config *c,
                     struct hf_error *err);

/* Appends at most `max` bytes to *bytes; in `encoding` unless the body names another. */
int agent_decode_input(const json_t *body, const char *encoding, int64_t max, struct buf *bytes,
                       struct hf_error *err);
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
