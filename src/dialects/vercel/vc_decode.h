/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_decode.h - bodies and frames of Vercel Sandbox's clients
 *
 * Unknown fields are ignored, as in the original. All functions return 0, or a negative errno with
 * err filled. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VC_DECODE_H
#define HF_DIALECTS_VERCEL_VC_DECODE_H

#include <limits.h>

#include "base/json.h"
#include "dialects/common/spec_decode.h"

/* A command or a terminal. The spec borrows from the decoded tree and from here: keep both until
 * engine_spawn() has returned. */
struct vc_command {
    struct spec_body body;
    json_t *variables;   /* the sandbox's and the command's merged */
    const json_t *given; /* the command's own */
    bool wait, logs, sudo, attach;
};
/* `own`: variables of the sandbox, or NULL. Call vc_command_fini() in either case. */
int vc_decode_command(struct vc_command *c, const json_t *body, const json_t *own,
                      struct hf_error *err);
void vc_command_fini(struct vc_command *c);

/* Text frames of a terminal. */
enum vc_frame_kind { VC_FRAME_START, VC_FRAME_RESIZE };
struct vc_frame {
    enum vc_frame_kind kind;
    int64_t rows, cols;
    struct vc_command start;
    json_t *tree;
};
int vc_decode_frame(struct vc_frame *f, const char *text, size_t len, const json_t *own,
                    struct hf_error *err);
void vc_frame_fini(struct vc_frame *f); /* in either case */

/* The requested properties of a sandbox. Strings are borrowed from the tree. */
struct vc_create {
    const char *name;   /* NULL: generate one */
    int64_t timeout_ms; /* 0: default */
    json_t *env;        /* NULL: none */
    json_t *tags;       /* strings; NULL: none */
};
int vc_decode_create(struct vc_create *c, const json_t *body, struct hf_error *err);
/* The same of a change; a name is ignored. */
int vc_decode_update(struct vc_create *c, const json_t *body, struct hf_error *err);
/* A network policy of a session: only the one that allows all. */
int vc_check_policy(const json_t *policy, struct hf_error *err);
/* Letters, digits, '.', '_' and '-', limited in length; and none of the words that are paths of the
 * API. */
bool vc_name_is_valid(const char *name);

int vc_decode_signal(const json_t *body, int *signum, struct hf_error *err); /* TERM by default */
int vc_decode_duration(const json_t *body, int64_t *ms, struct hf_error *err);
/* `path`, relative to the body's `cwd` or else to this one. */
int vc_decode_path(const json_t *body, const char *cwd, char out[PATH_MAX], struct hf_error *err);

#endif
