/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_decode.h - bodies and frames of Vercel Sandbox's clients
 *
 * Fields that are not known are passed over, as the original does. All return 0, or a negative
 * errno with err filled. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_VERCEL_VC_DECODE_H
#define HF_DIALECTS_VERCEL_VC_DECODE_H

#include <limits.h>

#include "base/json.h"
#include "engine/spawn/spec.h"

/* A command or a terminal. The spec borrows from the tree that was asked and from here: both
 * live until engine_spawn() has returned. */
struct vc_command {
    struct spawn_spec spec;
    const char **args;
    struct spec_env *env;
    json_t *variables; /* the sandbox's and the command's together */
    bool wait, logs, sudo;
};
/* `own`: variables of the sandbox, or NULL. Call vc_command_fini() in any case. */
int vc_ask_command(struct vc_command *c, const json_t *body, const json_t *own,
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
int vc_ask_frame(struct vc_frame *f, const char *text, size_t len, const json_t *own,
                 struct hf_error *err);
void vc_frame_fini(struct vc_frame *f); /* in any case */

/* What a sandbox is to be called, and be. Strings are borrowed from the tree. */
struct vc_create {
    const char *name;   /* NULL: one is made up */
    int64_t timeout_ms; /* 0: as usual */
    json_t *env;        /* NULL: none */
};
int vc_ask_create(struct vc_create *c, const json_t *body, struct hf_error *err);
/* Letters, digits, '.', '_' and '-', not too many; and none of the words that paths have there. */
bool vc_name_is_valid(const char *name);

int vc_ask_signal(const json_t *body, int *signum,
                  struct hf_error *err); /* TERM if none is named */
int vc_ask_duration(const json_t *body, int64_t *ms, struct hf_error *err);
/* `path`, below the body's `cwd` or else below this one. */
int vc_ask_path(const json_t *body, const char *cwd, char out[PATH_MAX], struct hf_error *err);

#endif
