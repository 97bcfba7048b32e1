/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_follow.h - runs a command in a session's shell and follows its output
 *
 * This is the streaming "exec" of platforms with sessions. A lossless viewer reads the output from
 * the shell's journal, so a client that stops reading pauses the command, and nothing is lost or
 * copied. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_SESSION_FOLLOW_H
#define HF_DIALECTS_COMMON_SESSION_FOLLOW_H

#include "engine/session/session.h"
#include "engine/stream/viewer.h"

struct session_follow;

struct session_followed {
    struct exit_record exit;
    bool shell_ended; /* the command ended the shell; the next command gets a new one */
};

struct session_follow_ops {
    /* Before the first byte. NULL: not wanted. */
    void (*started)(void *arg, const struct session_begin *b);
    bool (*ready)(void *arg);
    void (*bytes)(void *arg, const struct slice *s);
    void (*gap)(void *arg, uint64_t from, uint64_t to);
    /* It has ended; some of its output may not be delivered yet. NULL: not wanted. */
    void (*result)(void *arg, const struct session_result *r);
    /* Exactly one of these is called, after the last byte; then the follower is freed. */
    void (*failed)(void *arg, const struct hf_error *err); /* the command was not run */
    void (*done)(void *arg, const struct session_followed *f);
    /* As in viewer_options. */
    size_t slice_bytes;
    bool heavy;
};

/* `began` of the spec is ignored. 0, or err and nothing was started. */
int session_follow_start(struct engine *e, struct session *s, const struct session_run_spec *spec,
                         const struct session_follow_ops *ops, void *arg,
                         struct session_follow **out, struct hf_error *err);
void session_follow_pump(struct session_follow *f); /* there is room again */
/* The client has disconnected. `cancel`: terminate the command, or do not start it. */
void session_follow_leave(struct session_follow *f, bool cancel);

#endif
