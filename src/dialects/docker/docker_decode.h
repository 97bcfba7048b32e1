/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_decode.h - decodes the requests of Docker's clients into specs
 *
 * A container or an exec is created first and started later. The request is kept as a `config`, a
 * JSON object that a note can hold: kind ("exec" or "container"), argv, env, cwd, user, name,
 * image, tty, stdin, once (its input ends with the first client's), out, err, keys, labels, remove,
 * rows, cols. The process's metadata holds what still matters after the start. Unknown fields are
 * ignored; null counts as absent. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_DECODE_H
#define HF_DIALECTS_DOCKER_DOCKER_DECODE_H

#include "base/json.h"
#include "dialects/common/spec_decode.h"

struct detach_keys;

/* The config, owned by the caller; NULL: err has the reason. */
json_t *docker_decode_exec(const json_t *body, struct hf_error *err);
json_t *docker_decode_create(const json_t *body, const char *name, struct hf_error *err);

struct docker_start {
    bool detach, tty;
    int64_t rows, cols; /* 0: absent */
    json_t *console;    /* what these were decoded from */
};
int docker_decode_start(struct docker_start *out, const json_t *body, struct hf_error *err);

/* The detach keys: "ctrl-p,ctrl-q" if absent; "none" (an extension of ours) for none. */
int docker_decode_keys(struct detach_keys *keys, const char *text, struct hf_error *err);

/* Members of a config, or of its part in the metadata. A NULL config has none. */
bool docker_flag(const json_t *config, const char *name);
const char *docker_text(const json_t *config, const char *name); /* "": none */
int64_t docker_int(const json_t *config, const char *name);
void docker_set_size(json_t *config, int64_t rows, int64_t cols);

/* The config as a spec, which borrows from this struct. 0, or a negative errno with err; call
 * docker_spec_fini() in either case. */
struct docker_spec {
    struct spec_body body;
    json_t *tree; /* the config with all its variables */
    char *metadata;
};
int docker_spec_init(struct docker_spec *s, const json_t *config, const char *hostname,
                     struct hf_error *err);
void docker_spec_fini(struct docker_spec *s);

/* True except for "", 0, no, false and none, in upper or lower case; NULL is false. */
bool docker_truth(const char *value);
/* "v1.51" */
bool docker_version(const char *segment, int *minor);
/* Is this a valid container name? */
bool docker_name_ok(const char *name);
/* "10", "10.5": seconds since the epoch as milliseconds; false: not a time. */
bool docker_time(const char *text, int64_t *ms);

#endif
