/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_decode.h - decodes what Daytona's clients send: bodies, subprotocols, versions, artifact lines
 *
 * Pure: bytes in, values out. Functions that return int return 0, or a negative errno with err
 * filled. Decoded values borrow from the JSON tree. Layer: dialects.
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
    DT_STRIPPED, /* plain text, streams not marked */
    DT_MARKED,   /* plain text with markers */
    DT_SPLIT,    /* JSON, each stream separately */
};
/* version: as the client sent it, or NULL; split: X-Daytona-Split-Output, or NULL. */
enum dt_split dt_split_for(const char *version, const char *split);

/* The bodies that clients send, and what a decoded one says; the rest is NULL or 0. */
enum dt_body {
    DT_EXECUTE, /* a command that runs to its end */
    DT_CODE,    /* the same for code */
    DT_EXEC,    /* a command for a session */
    DT_PTY,
    DT_SIZE, /* of a PTY */
    DT_BODIES,
};
struct dt_request {
    json_t *tree; /* owned, if the request came with one */
    const char *command, *cwd, *code, *language, *id;
    int64_t timeout_s, rows, cols;
    bool async, echo, lazy;
    const char **args;
    size_t arg_count;
    struct spec_env *env;
    size_t env_count;
    /* As sent. */
    json_t *argv, *envs, *timeout;
    bool run_async, suppress;
};
/* Call dt_request_fini() in either case. */
int dt_decode(struct dt_request *a, enum dt_body kind, const json_t *body, struct hf_error *err);
void dt_request_fini(struct dt_request *a);
int dt_decode_pty_id(const char *id, struct hf_error *err);
/* As in a query: NULL and 0 mean "absent". */
int dt_decode_side(const char *text, const char *name, int64_t *out, struct hf_error *err);

/* Variables whose names a shell accepts. *out is malloc'd, also on failure. */
int dt_decode_env(const json_t *envs, struct spec_env **out, size_t *count, struct hf_error *err);
/* The variables among the offered subprotocols; *tree is NULL if there are none. */
int dt_decode_offered_env(const char *offered, json_t **tree, struct hf_error *err);
/* The version among them: out, or NULL if there is none. */
const char *dt_decode_offered_version(const char *offered, char out[DT_PROTOCOL_BYTES]);

/* Removes the artifact lines from a result. Returns their charts as a new array. */
json_t *dt_take_artifacts(struct buf *result);

/* Packets that a Socket.IO client sends over its WebSocket. */
enum dt_packet { DT_PACKET_OTHER, DT_PACKET_CONNECT, DT_PACKET_PING, DT_PACKET_DISCONNECT };
/* CONNECT: `token` is the token sent with it, "" if none; malloc'd. */
enum dt_packet dt_decode_packet(const char *text, size_t len, char **token);

#endif
