/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_decode.h - what is to be run, from a body or from a query, as a spawn_spec
 *
 * Borrows from the tree and from the strings held here. Pure but for the environment, in which the
 * variables of `cwd` are looked up. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_DECODE_H
#define HF_DIALECTS_OPENSANDBOX_OSB_DECODE_H

#include "base/buf.h"
#include "base/json.h"
#include "engine/spawn/spec.h"

struct command_ask {
    /* as given */
    const char *command, *cwd;
    json_t *argv, *envs;
    bool background, tty;
    int64_t timeout, uid, gid, cols, rows; /* uid, gid: -1 when not given */

    struct spawn_spec spec;
    const char **args;
    struct spec_env *env;
    struct buf path; /* cwd with its variables */
    char user[48];
};

/* 0, or bad_value and the like. Call osb_command_ask_fini() either way. */
int osb_command_ask_decode(struct command_ask *a, const json_t *body, struct hf_error *err);
void osb_command_ask_fini(struct command_ask *a);

/* {"command","cwd","timeout"} of a run in a session, {"cwd","command"} of a new one or of a PTY. */
struct osb_session_request {
    const char *command, *cwd;
    int64_t timeout;
    struct buf path;
};
int osb_session_ask_decode(struct osb_session_request *a, const json_t *body, bool run,
                           struct hf_error *err);
void osb_session_ask_fini(struct osb_session_request *a);

#endif
