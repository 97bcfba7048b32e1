/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_decode.h - what Daytona's clients send, decoded: bodies, subprotocols, versions, lines of artifacts
 *
 * Pure: bytes in, values out. Functions that return int give 0 or a negative errno with err filled.
 * What is decoded borrows from the JSON tree. Layer: dialects.
 */
#ifndef HF_DIALECTS_DAYTONA_DT_DECODE_H
#define HF_DIALECTS_DAYTONA_DT_DECODE_H

#include "base/buf.h"
#include "base/json.h"
#include "engine/spawn/spec.h"

#define DT_PROTOCOL_BYTES 128
#define DT_TICKET_BYTES 40
#define DT_EXIT_CONTROL "X-Daytona-Pty-Exit-Control"
#define DT_ENVS_PROTOCOL "X-Daytona-Pty-Envs~"
#define DT_VERSION_PROTOCOL "X-Daytona-SDK-Version~"

/* How a client wants the two streams of a log. */
enum dt_split {
    DT_STRIPPED, /* plain text, nobody says which is which */
    DT_MARKED,   /* plain text with markers */
    DT_SPLIT,    /* JSON, with each by itself */
};
/* version: as it says, or NULL; split: X-Daytona-Split-Output, or NULL. */
enum dt_split dt_split_for(const char *version, const char *split);

/* One command, or a piece of code, that runs to its end. */
struct dt_execute_ask {
    const char *command, *cwd, *code, *language;
    int64_t timeout_s;
    const char **argv;
    size_t argc;
    struct spec_env *env;
    size_t env_count;
};
int dt_ask_execute(struct dt_execute_ask *a, const json_t *body, struct hf_error *err);
int dt_ask_code(struct dt_execute_ask *a, const json_t *body, struct hf_error *err);
void dt_execute_ask_fini(struct dt_execute_ask *a);

struct dt_exec_ask {
    const char *command;
    bool async, echo;
};
int dt_ask_exec(struct dt_exec_ask *a, const json_t *body, struct hf_error *err);

struct dt_pty_ask {
    const char *id, *cwd;
    int64_t rows, cols; /* 0: not given */
    bool lazy;
    struct spec_env *env;
    size_t env_count;
};
int dt_ask_pty(struct dt_pty_ask *a, const json_t *body, struct hf_error *err);
void dt_pty_ask_fini(struct dt_pty_ask *a);
int dt_ask_pty_id(const char *id, struct hf_error *err);
/* As in a query: NULL and 0 are "not given". */
int dt_ask_side(const char *text, const char *name, int64_t *out, struct hf_error *err);
int dt_ask_size(const json_t *body, int64_t *rows, int64_t *cols, struct hf_error *err);

/* Variables, each with a name that a shell can take. *out is malloc'd, also on failure. */
int dt_ask_env(const json_t *envs, struct spec_env **out, size_t *count, struct hf_error *err);
/* The variables among the offered subprotocols; *tree is NULL if there are none. */
int dt_ask_offered_env(const char *offered, json_t **tree, struct hf_error *err);
/* The version among them; NULL: none, else out. */
const char *dt_ask_offered_version(const char *offered, char out[DT_PROTOCOL_BYTES]);

/* Takes the lines of artifacts out of a result; the charts in them, as a new array. */
json_t *dt_take_artifacts(struct buf *result);

/* What a Socket.IO client says over its WebSocket. */
enum dt_packet { DT_PACKET_OTHER, DT_PACKET_CONNECT, DT_PACKET_PING, DT_PACKET_DISCONNECT };
/* CONNECT: `token` is what came with it, "" if nothing; new memory. */
enum dt_packet dt_ask_packet(const char *text, size_t len, char **token);

#endif
