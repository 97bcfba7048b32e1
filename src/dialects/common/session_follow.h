/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_follow.h - a command in a session's shell, with its output as it comes
 *
 * What the streaming "exec" of platforms with sessions is. The output is read from the
 * shell's journal by a lossless viewer, so a client that stops taking it holds
 * the command, and nothing is lost or copied. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_SESSION_FOLLOW_H
#define HF_DIALECTS_COMMON_SESSION_FOLLOW_H

#include "engine/session/session.h"
#include "engine/stream/viewer.h"

struct session_follow;

struct session_followed {
    struct exit_record exit;
    bool shell_ended; /* the command ended the shell; the next one has a new one */
};

struct session_follow_ops {
    /* Before the first byte. NULL: not wanted. */
    void (*started)(void *arg, const struct session_begin *b);
    bool (*ready)(void *arg);
    void (*bytes)(void *arg, const struct slice *s);
    void (*gap)(void *arg, uint64_t from, uint64_t to);
    /* It has ended; not all of its output may have been taken yet. NULL: not wanted. */
    void (*result)(void *arg, const struct session_result *r);
    /* Exactly one of these comes, after the last byte; the follower is gone after it. */
    void (*failed)(void *arg, const struct hf_error *err); /* it was never run */
    void (*done)(void *arg, const struct session_followed *f);
};

/* `began` of the spec does not count. 0, or err and nothing was begun. */
int session_follow_start(struct engine *e, struct session *s, const struct session_run_spec *spec,
                         const struct session_follow_ops *ops, void *arg,
                         struct session_follow **out, struct hf_error *err);
void session_follow_pump(struct session_follow *f); /* there is room again */
/* Nobody looks any more. `cancel`: the command is ended, or not begun. */
void session_follow_leave(struct session_follow *f, bool cancel);

#endif
