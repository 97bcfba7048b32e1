/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_decode.h - the command of a body or a query, as a spawn_spec
 *
 * Borrows from the tree and from the strings held here. Pure except for the environment, which
 * supplies the variables of `cwd`. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_DECODE_H
#define HF_DIALECTS_OPENSANDBOX_OSB_DECODE_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/spec_decode.h"

struct command_request {
    struct spec_body body; /* with the spec */
    const char *line;      /* "command": for a shell */
    json_t *argv;          /* or this */
    bool background;
    int64_t uid, gid; /* -1 when absent */
    struct buf path;  /* cwd with its variables expanded */
    char user[48];
};

/* 0, or an error such as bad_value. Call osb_command_request_fini() in either case. */
int osb_command_request_decode(struct command_request *a, const json_t *body, struct hf_error *err);
void osb_command_request_fini(struct command_request *a);

/* {"command","cwd","timeout"} of a run in a session, {"cwd","command"} of a new one or of a PTY. */
struct osb_session_request {
    const char *command, *cwd;
    int64_t timeout;
    struct buf path;
};
int osb_session_request_decode(struct osb_session_request *a, const json_t *body, bool run,
                               struct hf_error *err);
void osb_session_request_fini(struct osb_session_request *a);

#endif
