/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - a long-lived shell for one conversation, and a log of its commands
 *
 * Commands run one after the other in the same shell, so directory, variables, functions and
 * aliases persist. The shell is a process like any other (it has a journal, it is listed, it
 * survives the worker). It reports through a separate socket, so its output contains nothing but
 * output. A session also groups all processes that were created with its id.
 *
 * A shell that a command has ended is replaced when the next command arrives, and the results of
 * both commands report that. Everything that must survive a worker is in the shell's record: the
 * session's definition (in the metadata) and the log of commands (session_log.h). Owned by the
 * engine. Layer: engine.
 */
#ifndef HF_ENGINE_SESSION_SESSION_H
#define HF_ENGINE_SESSION_SESSION_H

#include "engine/engine.h"
#include "engine/journal/headtail.h"
#include "engine/session/session_log.h"

struct session;
struct session_run;

#define SESSION_NAME_MAX 64 /* of a command's name */

struct session_spec {
    const char *id;  /* NULL: generated */
    const char *cwd; /* NULL: the daemon's */
    const struct spec_env *env;
    size_t env_count;
    const char *shell;     /* NULL: bash if available, else sh */
    const char *metadata;  /* the creator's, as JSON; NULL: none */
    int64_t history_bytes; /* ring of its shells; 0: default */
};

/* Like engine_spawn(): 0 and `done` later, once; or a negative errno and err. */
typedef void session_done_fn(void *arg, struct session *s, const struct hf_error *err);
int session_create(struct engine *e, const struct session_spec *spec, session_done_fn *done,
                   void *arg, struct hf_error *err);

/* NULL and no_such_session. */
struct session *session_find(struct engine *e, const char *id, struct hf_error *err);
/* For the reader of a session.deleted event, who may still describe it; NULL: too late. */
struct session *session_find_deleted(struct engine *e, const char *id);
/* Newest first: NULL returns the newest; after the oldest comes NULL. */
struct session *session_next(struct engine *e, const struct session *after);
const char *session_id(const struct session *s);
/* What it was created with; borrowed. */
const struct session_spec *session_definition(const struct session *s);
/* The shell's directory, as last reported; NULL: unknown. */
const char *session_cwd(const struct session *s);
/* The current shell, running or exited; NULL until the first one runs. */
struct process *session_shell(const struct session *s);
int64_t session_created_ms(const struct session *s);
bool session_is_busy(const struct session *s); /* a command is running in its shell */
/* What a dialect stores with it; "" if nothing. Kept for the next worker. */
const char *session_metadata(const struct session *s);
int session_set_metadata(struct session *s, const char *json, struct hf_error *err);
void session_write_json(struct session *s, struct json_out *o);
/* The commands so far; valid until control returns to the loop. */
const struct session_log *session_commands(const struct session *s);
/* Whether this process belongs to the session and is not one of its shells. */
bool session_has_process(const struct session *s, struct process *p);

/* --- commands ----------------------------------------------------------------- */
/*
 * Called once, when it is a command's turn: writes what the current shell must run first. That text
 * runs directly before the command, as a separate command with the source "system". Write nothing
 * if nothing is needed.
 */
typedef void session_ahead_fn(const struct session_log *log, struct buf *out);

/* It is the command's turn: reports where its output begins, before the first byte of it. Called
 * with the arg of `done`. */
typedef void session_began_fn(void *arg, const struct session_begin *b);

struct session_run_spec {
    const char *command;
    enum process_source source;
    int64_t timeout_ms; /* from its start; 0: none */
    int64_t grace_ms;   /* -1: default */
    const void *input;  /* NULL: /dev/null */
    size_t input_len;
    bool typed;                /* instead of `input`: its input stays open, for session_type() */
    bool echo;                 /* what is typed is output as well */
    const char *name;          /* stored in the log; at most SESSION_NAME_MAX bytes; NULL: none */
    uint64_t max_output_bytes; /* kept of each stream, and of both together */
    session_ahead_fn *ahead;   /* NULL: nothing */
    session_began_fn *began;   /* NULL: not needed */
};

/* The result of a command. Borrowed for the call. */
struct session_result {
    uint64_t number;
    const char *process_id; /* the shell's */
    struct exit_record exit;
    bool shell_replaced; /* the previous shell is gone, and with it its state */
    uint64_t from, to;   /* its output in the shell's journal */
    int64_t started_wall_ms, ended_wall_ms;
    struct headtail *all, *out, *err;
    struct session_text cwd; /* the shell's directory now; len 0: unknown */
};

/*
 * Queues a command. `done` runs once, later: with a result, or with NULL and a reason if the
 * command never ran. Until then *out is the caller's handle.
 */
typedef void session_run_fn(void *arg, const struct session_result *r, const struct hf_error *err);
int session_run(struct session *s, const struct session_run_spec *spec, session_run_fn *done,
                void *arg, struct session_run **out, struct hf_error *err);
/* The caller leaves, and `done` will not be called. `cancel`: also abort the command, or do not
 * start it. */
void session_run_leave(struct session_run *r, bool cancel);
uint64_t session_run_number(const struct session_run *r); /* 0: still queued */

/*
 * Types input to the running command, if it was started with `typed`. Returns the number of bytes
 * accepted: fewer if there is no room, for which process_wait_for_room() of the shell waits.
 * -ESRCH: it is not running, or no longer; -EPIPE: it was not started with `typed`.
 */
ssize_t session_type(struct session *s, uint64_t number, const void *bytes, size_t len,
                     struct hf_error *err);

/* --- deletion -------------------------------------------------------------------- */
/* Terminates the shell and all processes of the session, then drops it. `done` runs once. */
typedef void session_end_fn(void *arg, const struct survivors *s, size_t ended);
void session_delete(struct session *s, int64_t grace_ms, session_end_fn *done, void *arg);
/* the caller has left; the deletion continues */
void session_delete_leave(struct session *s, void *arg);

#endif
