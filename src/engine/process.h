/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - one process: its life, its journal, its input
 *
 * The engine's table owns it. Others hold it by process_ref(), or look it up each time. It stays in
 * the table until it is deleted or its retention ends; a reference keeps the memory (and the
 * journal) valid beyond that. Layer: engine.
 */
#ifndef HF_ENGINE_PROCESS_H
#define HF_ENGINE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "base/list.h"
#include "base/usage.h"
#include "engine/journal/journal.h"
#include "engine/spawn/spec.h"

struct engine;
struct live_table;
struct process;

enum exit_kind {
    EXIT_NONE,
    EXIT_EXITED,
    EXIT_SIGNALED,
    EXIT_TIMED_OUT,
    EXIT_KILLED,
    EXIT_OUT_OF_MEMORY,
    EXIT_LOST,
};
const char *exit_kind_name(enum exit_kind kind);

struct exit_record {
    enum exit_kind kind; /* EXIT_NONE while running */
    int exit_code;       /* 0..255, 128+n for signal n; -1 when lost */
    int code;            /* as passed to exit(); -1 if killed by a signal or lost */
    int signum;          /* 0: none */
    bool core_dumped;
    char by[48];     /* what ended it: "timeout", "idle_timeout", "api", "detach", "shutdown"; "" */
    uint64_t offset; /* where the last byte before the exit ends */
    int64_t at_wall_ms;
};

/* A view of a process; strings are borrowed until control returns to the loop. */
struct process_view {
    const char *id, *tag, *label, *command, *cwd, *session_id, *title;
    char *const *args;
    size_t arg_count;
    const char *metadata_json; /* "{}" if none */
    enum process_source source;
    enum size_policy size_policy;
    pid_t pid;
    bool pty, running, output_open;
    uint16_t rows, cols;
    const struct exit_record *exit;
    const struct usage *usage; /* NULL: it runs, or nothing is known */
    size_t viewers;
    uint64_t first, next; /* held output is [first, next) */
    int64_t created_ms, exited_ms, last_input_ms, last_output_ms, retain_ms;
    const char *idempotency_key, *request_hash;
};
void process_view(struct process *p, struct process_view *v);
/* Writes the process object of docs/PROTOCOL.md, the description that all our clients get. */
void process_write_json(struct process *p, struct json_out *o);
/* The same, with the present usage of a running process from this table; NULL: without. */
void process_write_json_live(struct process *p, struct json_out *o, struct live_table *live);
/* Writes an abridged object of a few KiB, however large the spec was: without arguments and
 * metadata, and with only the start of the command. */
void process_write_abridged(struct process *p, struct json_out *o);
/* What an ended process used; NULL: it runs, or nothing is known. */
const struct usage *process_usage(const struct process *p);
/* Writes the value of "usage"; NULL: null. */
void process_write_usage(struct json_out *o, const struct usage *u);
/* The program in the terminal's foreground right now, according to the kernel; "" if unknown. */
void process_foreground(struct process *p, char *out, size_t size);

struct process *process_ref(struct process *p);
void process_unref(struct process *p);
struct engine *process_engine(struct process *p);
struct journal *process_journal(struct process *p);
const char *process_id(const struct process *p);
bool process_has_terminal(const struct process *p);
bool process_is_running(const struct process *p); /* no exit record yet */

/* --- change it ------------------------------------------------------------- */
struct process_patch {
    const char *label, *tag, *title,
        *metadata_json; /* NULL: unchanged; "" clears (metadata: "{}") */
    bool set_retain, set_size_policy;
    int64_t retain_ms;
    enum size_policy size_policy;
};
int process_patch(struct process *p, const struct process_patch *patch, struct hf_error *err);

/* Sets the size of the terminal itself; viewers resize their windows by viewer_resize(). */
int process_resize(struct process *p, int64_t rows, int64_t cols, const char *by,
                   struct hf_error *err);

enum signal_target { TARGET_LEADER, TARGET_GROUP, TARGET_FOREGROUND, TARGET_TREE };
typedef void signal_done_fn(void *arg, int rc, const struct hf_error *err); /* rc 0: delivered */
int process_signal(struct process *p, int signum, enum signal_target target, signal_done_fn *done,
                   void *arg, struct hf_error *err);

/* --- input ------------------------------------------------------------------ */
/* Queues as many bytes as there is room for and returns their number (may be 0). -EPIPE and err
 * (stdin_closed, not_running) when the process accepts no input. */
ssize_t process_input(struct process *p, const void *bytes, size_t len, struct hf_error *err);
/* Queues end of file after the pending input: closes the pipe, or sends the terminal's EOF
 * character. */
int process_input_eof(struct process *p, struct hf_error *err);
/* How many bytes were ever queued; it survives the worker. */
uint64_t process_input_offset(const struct process *p);
bool process_app_cursor(struct process *p); /* DECCKM, for named keys */
/* `fn` runs once, when the queue has room again or no more input is possible. */
struct input_waiter {
    struct list link;
    void (*fn)(void *arg);
    void *arg;
};
void process_wait_for_room(struct process *p,
                           struct input_waiter *w); /* initialise it with list_init(&w->link) */
void input_waiter_cancel(struct input_waiter *w);

/* --- termination -------------------------------------------------------------- */
#define SURVIVORS_MAX 64
struct survivor {
    pid_t pid;
    char comm[16];
};
struct survivors {
    size_t count, total;
    struct survivor list[SURVIVORS_MAX];
};
typedef void end_done_fn(void *arg, struct process *p, const struct survivors *s);
/*
 * Terminates the whole tree: TERM, after grace_ms (-1: the process's own) KILL, then a survey of
 * the survivors. For an exited process it terminates the children that are left. Each caller's
 * `done` runs once, after the exit record is made; NULL: the caller does not wait.
 */
void process_terminate(struct process *p, int64_t grace_ms, const char *by, end_done_fn *done,
                       void *arg);
/* The same, and drops the record afterwards, whether or not a caller waits. If this worker exits
 * first, the next one drops it. */
void process_delete(struct process *p, int64_t grace_ms, const char *by, end_done_fn *done,
                    void *arg);
/* the caller has left; the termination continues */
void process_end_cancel(struct process *p, void *arg);
/* Drops the record of an exited process; viewers that are still attached keep it until they
 * leave. */
void process_forget(struct process *p);

/* --- waiting for the exit -------------------------------------------------------- */
struct exit_waiter {
    struct list link;
    void (*fn)(void *arg, struct process *p);
    void *arg;
};
void process_wait_exit(struct process *p,
                       struct exit_waiter *w); /* runs in a later turn if already exited */
void exit_waiter_cancel(struct exit_waiter *w);

#endif
