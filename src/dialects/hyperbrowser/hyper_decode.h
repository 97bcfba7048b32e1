/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_decode.h - decodes bodies and frames of Hyperbrowser's clients
 *
 * Unknown fields are ignored: clients may be newer or older than this. All functions return 0, or a
 * negative errno with err filled. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_HYPERBROWSER_HYPER_DECODE_H
#define HF_DIALECTS_HYPERBROWSER_HYPER_DECODE_H

#include "base/buf.h"
#include "base/json.h"
#include "engine/spawn/spec.h"

/*
 * The spec borrows from the tree and from this struct: both live until engine_spawn() has returned.
 */
struct hyper_request {
    struct spawn_spec spec;
    const char **args;
    struct spec_env *env;
    struct buf line; /* command and args as one line for the shell */
};
/* exec and start: a line for the shell, with pipes. */
int hyper_decode_process(struct hyper_request *a, const json_t *body, struct hf_error *err);
/* A terminal: a program with arguments, or a line for the shell. */
int hyper_decode_terminal(struct hyper_request *a, const json_t *body, struct hf_error *err);
void hyper_request_fini(struct hyper_request *a); /* call in any case */

struct hyper_wait_request {
    int64_t timeout_ms; /* -1: none */
    bool include_output;
};
int hyper_decode_wait(struct hyper_wait_request *a, const json_t *body, struct hf_error *err);
/* 0 in *signum: none was named. */
int hyper_decode_signal(const json_t *body, int *signum, struct hf_error *err);
int hyper_decode_size(const json_t *body, int64_t *rows, int64_t *cols, struct hf_error *err);
/* Appends to *bytes. */
int hyper_decode_stdin(const json_t *body, struct buf *bytes, bool *eof, struct hf_error *err);

struct hyper_frame {
    bool resize;      /* else input */
    struct buf bytes; /* of input; the caller frees them in any case */
    int64_t rows, cols;
};
int hyper_decode_frame(struct hyper_frame *f, const char *text, size_t len, struct hf_error *err);

#endif
