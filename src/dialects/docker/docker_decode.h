/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_decode.h - what Docker's clients say, in words of ours
 *
 * A container or an exec is asked for first and started later. What was asked is kept as a `config`, a
 * JSON object that a note can hold: kind ("exec" or "container"), argv, env, cwd, user, name, image,
 * tty, stdin, once (its input ends with the first client's), out, err, keys, labels, remove, rows,
 * cols. The process's metadata has what is still of interest after the start. Fields that are not
 * known are passed over, null is as good as nothing. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_DECODE_H
#define HF_DIALECTS_DOCKER_DOCKER_DECODE_H

#include "base/json.h"
#include "engine/spawn/spec.h"

struct detach_keys;

/* The config; NULL: err says why. The caller owns it. */
json_t *docker_ask_exec(const json_t *body, struct hf_error *err);
json_t *docker_ask_create(const json_t *body, const char *name, struct hf_error *err);

struct docker_start {
    bool detach, tty;
    int64_t rows, cols; /* 0: not told */
};
int docker_ask_start(struct docker_start *out, const json_t *body, struct hf_error *err);

/* By which one leaves: "ctrl-p,ctrl-q" where nothing is said; "none" (which is ours) for none. */
int docker_ask_keys(struct detach_keys *keys, const char *text, struct hf_error *err);

/* Members of a config, or of what the metadata has of one; NULL config: as if none were there. */
bool docker_flag(const json_t *config, const char *name);
const char *docker_text(const json_t *config, const char *name); /* "": none */
int64_t docker_int(const json_t *config, const char *name);

/* The config as a spec, which borrows from it and from this. */
struct docker_spec {
    struct spawn_spec spec;
    const char **args;
    struct spec_env *env;
    char **texts; /* of the variables */
    size_t text_count;
    char *metadata;
};
void docker_spec_init(struct docker_spec *s, const json_t *config, const char *hostname);
void docker_spec_fini(struct docker_spec *s);

/* Everything but "", 0, no, false and none, in any case; NULL is false. */
bool docker_truth(const char *value);
/* "v1.51" */
bool docker_version(const char *segment, int *minor);
/* A container may be called so. */
bool docker_name_ok(const char *name);
/* "10", "10.5": seconds of the epoch as milliseconds; false: no such thing. */
bool docker_time(const char *text, int64_t *ms);

#endif
