/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_decode.h - bodies, queries and frames of Fly's clients
 *
 * What is not known is passed over, as the originals do: clients of different age differ in it. All
 * return 0, or a negative errno with err filled. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_DECODE_H
#define HF_DIALECTS_FLY_FLY_DECODE_H

#include <stdbool.h>

#include "base/json.h"
#include "dialects/fly/fly_shell_words.h"
#include "engine/spawn/spec.h"

/* Of each process, so that those can be found that came by this dialect. */
#define FLY_METADATA "{\"via\":\"fly\"}"

/* --- a machine's exec ------------------------------------------------------------------------ */

/* The spec borrows from the body and from here: both live until engine_spawn() has returned. */
struct fly_ask {
    struct spawn_spec spec;
    struct fly_words words; /* of `cmd` */
    const char **args;      /* of `command` */
};
int fly_ask_exec(struct fly_ask *a, const json_t *body, struct hf_error *err);
void fly_ask_fini(struct fly_ask *a); /* in any case */

/* --- a sprite's ------------------------------------------------------------------------------ */

/* A query is given pair by pair; values are borrowed until engine_spawn() has returned. */
struct sprite_ask { /* {0}: nothing was asked yet */
    struct spawn_spec spec;
    const char **cmd;
    size_t cmd_count;
    struct spec_env *env;
    size_t env_count;
    const char *path;
    bool tty, detachable, limited; /* limited: max_run_after_disconnect was given */
    bool input;
    int64_t rows, cols, alone_ms;
};
int sprite_ask_pair(struct sprite_ask *a, const char *name, const char *value,
                    struct hf_error *err);
/* There are no more: makes the spec. `tty` is what may be; by HTTP there is no terminal. */
int sprite_ask_spec(struct sprite_ask *a, bool tty, struct hf_error *err);
void sprite_ask_fini(struct sprite_ask *a); /* in any case */

/* "true", "1", "" and their like. */
bool fly_is_true(const char *value);
/* As Go writes them: "10s", "1m30s", "1.5h", "250ms"; "0" is the only one without a unit. */
bool fly_duration(const char *text, int64_t *ms);

/* --- frames of a session --------------------------------------------------------------------- */

/* The first byte of a binary message where there is no terminal. */
enum sprite_channel {
    SPRITE_STDIN,
    SPRITE_STDOUT,
    SPRITE_STDERR,
    SPRITE_EXIT,
    SPRITE_STDIN_EOF,
};

/* Messages come in pieces; {0} stands between two of them. */
struct sprite_message {
    bool inside;
    unsigned char channel;
};
/* How many bytes of this piece are the message's head: 1 in its first one, else 0. */
size_t sprite_message_head(struct sprite_message *m, const void *piece, size_t len);

struct sprite_control {
    int signum; /* 0: it is a size */
    int64_t rows, cols;
};
int sprite_ask_control(struct sprite_control *c, const char *text, size_t len,
                       struct hf_error *err);

#endif
