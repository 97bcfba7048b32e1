/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - a long-lived shell for one conversation, and what was done in it
 *
 * Commands run one after the other in the same shell, so directory, variables,
 * functions and aliases stay. The shell is a process like any other (it has a
 * journal, it is listed, it survives the worker); what it reports comes through a socket of its
 * own, so the output is the output and nothing else. A session also groups all
 * processes that were made with its id.
 *
 * A shell that a command has ended is replaced when the next command comes, and both
 * are told so. Everything that must survive a worker is in the shell's record: what
 * the session is (its metadata) and what was run (session_log.h).
 * Owned by the engine. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_H
#define HF_ENGINE_SESSION_SESSION_H

#include "engine/engine.h"
#include "engine/journal/headtail.h"
#include "engine/session/session_log.h"

struct session;
struct session_run;

#define SESSION_NAME_MAX 64 /* of a command */

struct session_spec {
    const char *id;  /* NULL: made here */
    const char *cwd; /* NULL: the daemon's */
    const struct spec_env *env;
    size_t env_count;
    const char *shell;     /* NULL: bash where there is one, else sh */
    const char *metadata;  /* of whoever made it, as JSON; NULL: none */
    int64_t history_bytes; /* the ring of its shells; 0: default */
};

/* As engine_spawn(): 0 and `done` later, once; or a negative errno and err. */
typedef void session_done_fn(void *arg, struct session *s, const struct hf_error *err);
int session_create(struct engine *e, const struct session_spec *spec, session_done_fn *done,
                   void *arg, struct hf_error *err);

/* NULL and no_such_session. */
struct session *session_find(struct engine *e, const char *id, struct hf_error *err);
/* Newest first: NULL gives the newest, NULL comes after the oldest. */
struct session *session_next(struct engine *e, const struct session *after);
const char *session_id(const struct session *s);
/* What it was made with; borrowed. */
const struct session_spec *session_definition(const struct session *s);
/* Of its shell, as far as it was told; NULL: unknown. */
const char *session_cwd(const struct session *s);
/* The shell that it has now, dead or alive; NULL until the first is there. */
struct process *session_shell(const struct session *s);
int64_t session_created_ms(const struct session *s);
bool session_is_busy(const struct session *s); /* a command runs in its shell */
/* What a dialect wants to remember of it; "" if nothing. Kept for the next worker. */
const char *session_metadata(const struct session *s);
int session_set_metadata(struct session *s, const char *json, struct hf_error *err);
void session_write_json(struct session *s, struct json_out *o);
/* The commands so far; good until the next return to the loop. */
const struct session_log *session_commands(const struct session *s);
/* Is this process one that belongs to the session, and not its shell? */
bool session_has_process(const struct session *s, struct process *p);

/* --- commands ----------------------------------------------------------------- */
/*
 * Asked once, when a command's turn has come: what the shell of that moment has to be told
 * first. That runs right in front of it, as a command of its own with the source "system".
 * Nothing written: nothing has to be.
 */
typedef void session_ahead_fn(const struct session_log *log, struct buf *out);

/* Its turn has come: where its output begins, before the first byte of it. With the arg of `done`. */
typedef void session_began_fn(void *arg, const struct session_begin *b);

struct session_run_spec {
    const char *command;
    enum process_source source;
    int64_t timeout_ms; /* from its start; 0: none */
    int64_t grace_ms;   /* -1: default */
    const void *input;  /* NULL: /dev/null */
    size_t input_len;
    bool typed;                /* instead: its input stays open, for session_type() */
    bool echo;                 /* and what is typed is output as well */
    const char *name;          /* kept in the log; SESSION_NAME_MAX bytes at most; NULL: none */
    uint64_t max_output_bytes; /* kept of each stream and of both */
    session_ahead_fn *ahead;   /* NULL: nothing */
    session_began_fn *began;   /* NULL: who asked does not care */
};

/* What came of a command. Borrowed for the call. */
struct session_result {
    uint64_t number;
    const char *process_id; /* the shell's */
    struct exit_record exit;
    bool shell_replaced; /* the shell before is gone, and what it had kept */
    uint64_t from, to;   /* its output in the shell's journal */
    int64_t started_wall_ms, ended_wall_ms;
    struct headtail *all, *out, *err;
    struct session_text cwd; /* the shell's directory now; len 0: unknown */
};

/*
 * Queues a command. `done` runs once, later: with a result, or with NULL and a
 * reason when it was never run. Until then *out is the caller's handle.
 */
typedef void session_run_fn(void *arg, const struct session_result *r, const struct hf_error *err);
int session_run(struct session *s, const struct session_run_spec *spec, session_run_fn *done,
                void *arg, struct session_run **out, struct hf_error *err);
/* The caller is gone and `done` will not be called. `cancel`: the command is ended, or not begun. */
void session_run_leave(struct session_run *r, bool cancel);
uint64_t session_run_number(const struct session_run *r); /* 0: it still waits */

/*
 * Input for the command that runs, if it is one that is typed to. How many bytes were taken: fewer
 * when there is no room, for which process_wait_for_room() of the shell waits. -ESRCH: it does not
 * run, or no longer; -EPIPE: it is not typed to.
 */
ssize_t session_type(struct session *s, uint64_t number, const void *bytes, size_t len,
                     struct hf_error *err);

/* --- the end --------------------------------------------------------------------- */
/* Ends the shell and all processes of the session, then drops it. `done` runs once. */
typedef void session_end_fn(void *arg, const struct survivors *s, size_t ended);
void session_delete(struct session *s, int64_t grace_ms, session_end_fn *done, void *arg);
void session_delete_leave(struct session *s, void *arg); /* the caller is gone; the end goes on */

#endif
