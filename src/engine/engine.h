/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - all processes of this daemon, and how to start one
 *
 * The engine owns the table of processes, the channel to the keeper, the event log and the limits.
 * There is one per worker. A new worker builds it from the state that the keeper passes on (struct
 * keeper_boot): processes, journals and events continue exactly where the last worker stopped, to
 * the byte. Layer: engine; includes base and keeper.
 */
#ifndef HF_ENGINE_ENGINE_H
#define HF_ENGINE_ENGINE_H

#include "base/error.h"
#include "base/loop.h"
#include "engine/process.h"
#include "engine/spawn/spec.h"
#include "keeper/keeper.h"

struct engine;
struct events;

struct engine_options {
    size_t max_processes; /* running */
    size_t max_viewers;   /* per process */
    size_t journal_bytes; /* default ring */
    uint64_t journal_memory_bytes;
    const char *history_dir;     /* for rings larger than journal_bytes; NULL: keep all in memory */
    uint64_t history_disk_bytes; /* total of all files */
    size_t retain_count;
    int64_t retain_ms;
    size_t event_log_bytes;
    const char *spawn_user; /* user for specs that name none; NULL: the keeper's */
};
void engine_options_default(struct engine_options *o);

/* Size of the shared state that the keeper must hold for these options. */
size_t engine_state_bytes(const struct engine_options *o);

struct engine *engine_new(struct loop *loop, const struct keeper_boot *boot,
                          const struct engine_options *o);
void engine_free(struct engine *e);
void engine_ready(struct engine *e); /* reports to the keeper that we serve */
/* Whether this worker or an earlier one has announced that the daemon serves.
 * engine_set_announced() records it. */
bool engine_is_announced(const struct engine *e);
void engine_set_announced(struct engine *e);

/* Called when the keeper asks this worker to exit: stop (terminate the processes first, within
 * grace_ms) or retire (leave them running). */
struct engine_hooks {
    void (*on_stop)(void *arg, uint32_t grace_ms);
    void (*on_retire)(void *arg);
    /* The keeper has re-read the credentials. `req`: the last engine_request_reload() that this
     * completes; 0: none. `error`: an errno, and nothing has changed; otherwise `fd`, borrowed,
     * holds them. */
    void (*on_credentials)(void *arg, uint32_t req, int error, int fd);
    void *arg;
};
void engine_set_hooks(struct engine *e, const struct engine_hooks *hooks);
/* Terminates all processes. `done` runs when none is left, or when those left cannot be killed. */
void engine_terminate_all(struct engine *e, uint32_t grace_ms, task_fn *done, void *arg);
int engine_request_upgrade(struct engine *e);
/* grace_ms: how long removed tokens stay valid; -1: see K_GRACE_UNSET. 0 or -errno. */
int engine_request_reload(struct engine *e, uint32_t req, int64_t grace_ms);

/*
 * Starts a process. Returns 0 and calls `done` later, exactly once, with the process, or with NULL
 * and the reason. Or returns a negative errno at once (err filled, nothing started, `done` not
 * called). The spec is copied as far as needed.
 */
typedef void spawn_done_fn(void *arg, struct process *p, const struct hf_error *err);
int engine_spawn(struct engine *e, const struct spawn_spec *spec, spawn_done_fn *done, void *arg,
                 struct hf_error *err);

/*
 * `ref`: "proc_…", "tag:NAME" (the running one, else the latest) or "pid:N"; NULL and err
 * no_such_process. engine_find() and engine_next() hide helpers (spec.h), because their output is
 * what role `own` reads from files and ports. The _all forms return every process, for the owner
 * and for code that terminates everything.
 */
struct process *engine_find(struct engine *e, const char *ref, struct hf_error *err);
struct process *engine_find_all(struct engine *e, const char *ref, struct hf_error *err);
/* The process created with this Idempotency-Key, or NULL. */
struct process *engine_find_idempotent(struct engine *e, const char *key);
/* Newest first: NULL returns the newest; after the oldest comes NULL. */
struct process *engine_next(struct engine *e, const struct process *after);
struct process *engine_next_all(struct engine *e, const struct process *after);
/* The same in order of creation: NULL returns the oldest; after the newest comes NULL. */
struct process *engine_next_oldest(struct engine *e, const struct process *after);

struct events *engine_events(struct engine *e);
struct loop *engine_loop(struct engine *e);

struct engine_stats {
    size_t running, exited, viewers;
    size_t starting; /* requested, not running yet */
    uint64_t spawned_total, spawn_failed_total, exited_total;
    uint64_t output_bytes_total, input_bytes_total;
    uint64_t used_user_us, used_system_us; /* sums of what ended processes used; see usage.h */
    uint64_t used_in_blocks, used_out_blocks;
    uint64_t journal_bytes;        /* reserved by rings in memory */
    uint64_t history_bytes;        /* reserved by rings in files */
    int64_t last_activity_wall_ms; /* input, output, spawn, exit, attach */
    uint32_t generation;           /* of this worker */
    bool has_cgroup, exact_recovery;
};
void engine_stats(const struct engine *e, struct engine_stats *out);
const struct engine_options *engine_options(const struct engine *e);

#endif
