/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_prelude.h - what a session's shell is told beside its users' commands
 *
 * execd starts a new shell for each command, so `exit` in one ends nothing but that command. Here the
 * shell lives on, with functions and all; one that a command has ended must leave its
 * directory and exported variables to the next. So each shell of a session made here is first told
 * to save them when it exits, and to take over what the one before has saved. That is a command
 * of the session like any other, of source "system"; the session's log says whether the
 * present shell has had it. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_H
#define HF_DIALECTS_OPENSANDBOX_OSB_PRELUDE_H

#include "base/buf.h"
#include "engine/session/session_log.h"

enum prelude_cd {
    PRELUDE_STAY,
    PRELUDE_CD,   /* the directory must be there */
    PRELUDE_MAKE, /* or is made */
};

/* Is it one of the session's shells that has to be told first? */
bool osb_prelude_is_due(const struct session_log *log);
/* A session_ahead_fn: what a shell has to be told before it runs a command of ours. */
void osb_prelude_ahead(const struct session_log *log, struct buf *out);
/* The command; its status is 0 unless the directory cannot be entered. */
void osb_prelude_write(struct buf *out, bool due, enum prelude_cd what, const char *cwd);
/* A user's command: both streams in the order in which they are written. */
void osb_prelude_wrap(struct buf *out, const char *command);

#endif
