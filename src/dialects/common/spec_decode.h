/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_decode.h - decodes a platform's body straight into a spawn_spec, by the platform's table
 *
 * A table of SPEC_FIELD() rows names the members of the spec that its fields set. Arguments and
 * variables have rows of their own, because their arrays must be made first. A dialect with more
 * fields embeds a struct spec_body as the first member of its own struct and adds rows for these.
 * Fields that are not in the table are ignored, as platforms do. The spec borrows from the tree and
 * from here: keep both until engine_spawn() has returned. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_SPEC_DECODE_H
#define HF_DIALECTS_COMMON_SPEC_DECODE_H

#include "base/json.h"
#include "engine/spawn/spec.h"

struct spec_body {
    struct spawn_spec spec;
    const json_t *args; /* arguments: an array of strings */
    const json_t *argv; /* the same with the program as its first element */
    const json_t *env;  /* variables: an object, or an array of "NAME=value" */
    const char **arg_words;
    struct spec_env *env_vars;
    char *env_text; /* names of an array, cut at their "=" */
};

/* SPEC_FIELD("cwd", STR, spec.cwd), SPEC_FIELD("args", ARRAY, args), SPEC_FIELD("env", ANY, env) */
#define SPEC_FIELD(n, k, m, ...)                                                                   \
    JSON_FIELD_AS(n, k, struct spec_body, m, .nullable = true, __VA_ARGS__)

/* `b` begins the struct that the table describes; its spec has defaults or earlier values
 * (spec_body_init). 0, or a negative errno with err. Call spec_body_fini() in either case. */
void spec_body_init(struct spec_body *b);
int spec_body_decode(struct spec_body *b, const json_t *body, const struct json_field *fields,
                     size_t count, struct hf_error *err);
void spec_body_fini(struct spec_body *b);
/* For platforms whose terminals need no command: the shell of the daemon's user. */
const char *spec_default_shell(void);

#endif
