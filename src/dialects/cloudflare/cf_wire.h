/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_wire.h - frames that Cloudflare's clients send, decoded. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_WIRE_H
#define HF_DIALECTS_CLOUDFLARE_CF_WIRE_H

#include "base/buf.h"
#include "base/json.h"

/* --- the multiplex: {"type":"request"|"cancel","id",…} --- */
struct cf_mux_frame {
    json_t *tree;
    bool cancel;
    const char *id, *method, *path, *session; /* in the tree; id also when the rest is wrong */
    json_t *body;                             /* in the tree; NULL: none */
};
/* NULL, or what is wrong with it and under which code. cf_mux_frame_fini() either way. */
const char *cf_mux_decode(struct cf_mux_frame *f, const char *text, size_t len, const char **code);
void cf_mux_frame_fini(struct cf_mux_frame *f);

/* --- what a terminal's client says: {"type":"resize","cols","rows"} and the like --- */
enum cf_control {
    CF_CONTROL_BAD,     /* no JSON, or not what it should be */
    CF_CONTROL_UNKNOWN, /* of a type that is not known */
    CF_CONTROL_SIZE,    /* a size that is none */
    CF_CONTROL_RESIZE,
    CF_CONTROL_INTERRUPT,
    CF_CONTROL_TERMINATE,
};
enum cf_control cf_control_decode(const char *text, size_t len, int64_t *cols, int64_t *rows);

/* A list of words that can be a program and its arguments. */
bool cf_is_argv(const json_t *v);

/* --- shells --- */
bool cf_is_name(const char *text); /* of a variable that a shell takes */
/*
 * A command with a directory and variables of its own, in a shell that keeps neither afterwards
 * but all else that the command does. `env` is an object of strings, or NULL.
 */
void cf_wrap_command(struct buf *out, const char *command, const char *cwd, const json_t *env);

/* --- text in pieces: characters stay whole --- */
struct cf_text {
    char open[2][4]; /* of standard output and error: the beginning of a character */
    unsigned char len[2];
};
/* Appends to out what is whole of what is open and these bytes; the rest is kept. */
void cf_text_feed(struct cf_text *t, bool is_err, const char *bytes, size_t len, struct buf *out);
/* What is left open will not be completed. */
void cf_text_end(struct cf_text *t, bool is_err, struct buf *out);

#endif
