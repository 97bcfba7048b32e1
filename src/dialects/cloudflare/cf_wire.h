/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_wire.h - decodes the frames that Cloudflare's clients send. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_WIRE_H
#define HF_DIALECTS_CLOUDFLARE_CF_WIRE_H

#include "base/buf.h"
#include "base/json.h"

/* --- the multiplex: {"type":"request"|"cancel","id",…} --- */
struct cf_mux_frame {
    json_t *tree;
    bool cancel;
    const char *id, *method, *path, *session; /* in the tree; id even if the rest is wrong */
    json_t *body;                             /* in the tree; NULL: none */
};
/* NULL, or the error text and its code. Call cf_mux_frame_fini() in either case. */
const char *cf_mux_decode(struct cf_mux_frame *f, const char *text, size_t len, const char **code);
void cf_mux_frame_fini(struct cf_mux_frame *f);

/* --- control messages of a terminal's client: {"type":"resize","cols","rows"} etc. --- */
enum cf_control {
    CF_CONTROL_BAD,     /* not JSON, or malformed */
    CF_CONTROL_UNKNOWN, /* of an unknown type */
    CF_CONTROL_SIZE,    /* an invalid size */
    CF_CONTROL_RESIZE,
    CF_CONTROL_INTERRUPT,
    CF_CONTROL_TERMINATE,
};
enum cf_control cf_control_decode(const char *text, size_t len, int64_t *cols, int64_t *rows);

/* A list of strings that can be a program and its arguments. */
bool cf_is_argv(const json_t *v);

/* --- shells --- */
bool cf_is_name(const char *text); /* of a variable that a shell accepts */
/*
 * A command with its own directory and variables, in a shell that keeps neither afterwards but
 * keeps everything else that the command does. `env` is an object of strings, or NULL.
 */
void cf_wrap_command(struct buf *out, const char *command, const char *cwd, const json_t *env);

#endif
