/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_prelude.h - what a session's shell runs besides its users' commands
 *
 * execd starts a new shell for each command, so `exit` in one ends only that command. Here the
 * shell lives on, functions included; when a command ends it, it must pass its directory and
 * exported variables to the next. So each shell of a session created here first runs a prelude: it
 * saves them when it exits, and restores what the previous shell has saved. The prelude is a
 * command of the session like any other, of source "system"; the session's log shows whether the
 * current shell has run it. Pure, except for running it. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_H
#define HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_H

#include "base/buf.h"
#include "engine/session/session.h"
#include "engine/session/session_log.h"

enum prelude_cd {
    PRELUDE_STAY,
    PRELUDE_CD,   /* the directory must exist */
    PRELUDE_MAKE, /* or is created */
};

/* Does the current shell of the session still need the prelude? */
bool osb_prelude_is_due(const struct session_log *log);
/* A session_ahead_fn: what a shell must run before a command of ours. */
void osb_prelude_ahead(const struct session_log *log, struct buf *out);
/* The command; its status is 0 unless the directory cannot be entered. */
void osb_prelude_write(struct buf *out, bool due, enum prelude_cd what, const char *cwd);
/* A user's command: both streams in the order in which they are written. */
void osb_prelude_wrap(struct buf *out, const char *command);

/* --- osb_session.c: running one ------------------------------------------------ */
/* Embedded by the caller that waits. err NULL: done. bad_value: the directory cannot be entered,
 * with the shell's message. */
struct prelude_wait {
    void (*done)(void *arg, const struct hf_error *err);
    void *arg;
    struct session_run *run; /* NULL: not waiting */
};
/* 0, and t->done is called later, once; or a negative errno and err. t NULL: no caller waits. */
int osb_session_run_prelude(struct session *s, bool due, enum prelude_cd what, const char *cwd,
                            struct prelude_wait *t, struct hf_error *err);
/* Stops waiting; a prelude that has not begun never will. */
void osb_session_prelude_leave(struct prelude_wait *t);

#endif
