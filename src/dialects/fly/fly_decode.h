/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_decode.h - decodes bodies, queries and frames of Fly's clients
 *
 * Unknown fields are ignored, as in the originals: clients of different versions differ in them.
 * All functions return 0, or a negative errno with err filled. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_FLY_FLY_DECODE_H
#define HF_DIALECTS_FLY_FLY_DECODE_H

#include <stdbool.h>

#include "base/json.h"
#include "dialects/fly/fly_shell_words.h"
#include "engine/spawn/spec.h"

/* The metadata of each process, which marks those started by this dialect. */
#define FLY_METADATA "{\"via\":\"fly\"}"

/* --- a machine's exec ------------------------------------------------------------------------ */

/*
 * The spec borrows from the body and from this struct: both live until engine_spawn() has returned.
 */
struct fly_request {
    struct spawn_spec spec;
    struct fly_words words; /* of `cmd` */
    const char **args;      /* of `command` */
};
int fly_decode_exec(struct fly_request *a, const json_t *body, struct hf_error *err);
void fly_request_fini(struct fly_request *a); /* call in any case */

/* --- a sprite's exec ------------------------------------------------------------------------- */

/* Decodes a query pair by pair; values are borrowed until engine_spawn() has returned. */
struct sprite_request { /* {0}: nothing decoded yet */
    struct spawn_spec spec;
    const char **cmd;
    size_t cmd_count;
    struct spec_env *env;
    size_t env_count;
    const char *path;
    bool tty, detachable, limited; /* limited: max_run_after_disconnect is set */
    bool input;
    int64_t rows, cols, alone_ms;
};
int sprite_decode_pair(struct sprite_request *a, const char *name, const char *value,
                       struct hf_error *err);
/* After the last pair: makes the spec. `tty`: is a terminal allowed? By HTTP there is none. */
int sprite_decode_spec(struct sprite_request *a, bool tty, struct hf_error *err);
void sprite_request_fini(struct sprite_request *a); /* call in any case */

/* A boolean in the query (text_to_bool); its name alone is a yes. */
bool fly_is_true(const char *value);
/* As Go writes them: "10s", "1m30s", "1.5h", "250ms"; only "0" has no unit. */
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

/* Messages come in pieces; {0} between two messages. */
struct sprite_message {
    bool inside;
    unsigned char channel;
};
/* How many bytes of this piece are the message's head: 1 in its first piece, else 0. */
size_t sprite_message_head(struct sprite_message *m, const void *piece, size_t len);

struct sprite_control {
    int signum; /* 0: it is a size */
    int64_t rows, cols;
};
int sprite_decode_control(struct sprite_control *c, const char *text, size_t len,
                          struct hf_error *err);

#endif
