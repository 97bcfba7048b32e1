/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_pty.h - PTY sessions: a tag, and the processes that have had it
 *
 * A session is created before its shell runs, and outlives it: each attach to a session whose shell
 * does not run starts the shell again, and offsets continue where the last life ended. So that
 * nothing has to be stored here, the session is its processes. The first one creates the session's
 * directory and does nothing else; its arguments record the request. Each later one is a life of
 * the shell, with the offset of its first byte in its metadata. Those that retention drops are
 * missing from the replay. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_PTY_H
#define HF_DIALECTS_OPENSANDBOX_OSB_PTY_H

#include "dialects/opensandbox/osb.h"

/* What a life needs; strings are borrowed from the process, except for cwd. */
struct pty_plan {
    const char *command; /* NULL: an interactive shell */
    char *cwd;           /* NULL: the daemon's; freed by osb_pty_plan_fini() */
    uint64_t base;       /* the session's offset of the process's first byte */
    bool launched;       /* false: it is the one that created the directory */
};
/* False: not part of a PTY session (and base is 0); call fini in either case. */
bool osb_pty_plan_read(struct process *p, struct pty_plan *plan);
void osb_pty_plan_fini(struct pty_plan *plan);

/* Starts the life after `last`; as engine_spawn(). */
struct pty_start {
    bool pipes;         /* no terminal: stdout and stderr separate */
    int64_t rows, cols; /* 0: default */
};
int osb_pty_launch(struct osb *o, struct process *last, const struct pty_start *start,
                   spawn_done_fn *done, void *arg, struct hf_error *err);

/* The life that has the first byte at or after this offset of the session, before `base`. NULL:
 * none is retained. *at is moved to that byte. */
struct process *osb_pty_earlier(struct osb *o, const char *tag, uint64_t base, uint64_t *at,
                                uint64_t *life_base);
/* Drops the records of p and of all lives of the session. */
void osb_pty_forget(struct osb *o, struct process *p, const char *tag);

#endif
