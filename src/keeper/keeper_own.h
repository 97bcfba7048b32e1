/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_own.h - the keeper's state, shared by its files
 *
 * One struct keeper is on the stack of keeper_run(). The loop in keeper.c polls its descriptors
 * (signals, the channels to the worker and the vault, the report pipes of children before exec) and
 * calls the functions declared here; each advances its own part of the state one step and returns.
 * Nothing blocks. Later work has a deadline, and the loop sleeps until the nearest one, or
 * indefinitely.
 *
 * Layer: keeper; only the .c files of this folder and their tests include it.
 */
#ifndef HF_KEEPER_KEEPER_OWN_H
#define HF_KEEPER_KEEPER_OWN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/list.h"
#include "keeper/cgroup.h"
#include "keeper/channel.h"
#include "keeper/deposit.h"
#include "keeper/entry_table.h"
#include "keeper/inherited.h"
#include "keeper/keeper.h"
#include "keeper/proc_census.h"
#include "keeper/streams.h"
#include "keeper/tree.h"
#include "vault/guard.h"
#include "vault/zombie.h"

#define DEADLINE_NONE UINT64_MAX

struct child_stack;
struct k_reload;

/* Children that were cloned and not yet executed; spawn.c. */
struct spawns {
    struct list flying; /* struct spawn */
    size_t count;
    struct child_stack *stacks;
    size_t stack_count; /* idle ones */
    int null_fd;        /* /dev/null for reading, or a pipe at its end */
    bool can_cut;       /* high_can_cut() */
    struct spares spares;
};

/* The worker, or the wait for the next one; worker.c. */
struct worker {
    pid_t pid; /* 0: none */
    struct channel channel;
    bool ready;
    uint64_t ready_ms;
    uint32_t generation;
    bool refused;         /* the keeper killed it for misbehaving */
    bool inherited;       /* an earlier keeper started it: the vault is its parent */
    unsigned faults;      /* consecutive deaths at or right after the start, by its own fault */
    unsigned early_ends;  /* the same, for any cause */
    unsigned crashes;     /* of these faults, those by a signal */
    uint64_t start_at_ms; /* DEADLINE_NONE: no start is due */
    struct keeper_io past[KEEPER_IO_PAST]; /* earlier workers, newest first */
};

/* Shutdown; keeper_shutdown.c. */
enum keeper_shutdown_phase {
    SHUTDOWN_NONE,      /* serving */
    SHUTDOWN_REQUESTED, /* the worker was requested to terminate all processes */
    SHUTDOWN_TERM,      /* it failed: the keeper itself sent SIGTERM to the trees */
    SHUTDOWN_KILL,      /* SIGKILL was sent; waiting for exits */
    SHUTDOWN_DONE,
    SHUTDOWN_LEFT, /* only the keeper itself ends */
};
struct keeper_shutdown {
    enum keeper_shutdown_phase phase;
    uint64_t deadline_ms;
    bool orderly; /* the worker terminated everything as requested */
    struct signal_once term;
    int code;
};

/* Replacing the binary; upgrade.c. */
enum upgrade_phase {
    UPGRADE_NOT,
    UPGRADE_CHECK,  /* the new binary is checking whether it can take over */
    UPGRADE_RETIRE, /* the worker was requested to leave */
    UPGRADE_SETTLE, /* waiting for started children to finish their exec */
};
struct upgrade {
    enum upgrade_phase phase;
    bool leaving; /* without a new binary: the vault keeps everything for a later keeper */
    pid_t check_pid;
    int report_fd; /* output of the check; -1: none */
    uint64_t deadline_ms;
    uint64_t began_ms; /* the trial */
    int32_t well_ms;   /* the new binary gets so long to serve; 0: no trial has passed */
};

/* A child that reads the credentials; credentials_reload.c. */
struct reload {
    pid_t pid; /* 0: none */
    int fd;    /* what it writes */
    uint64_t deadline_ms;
    uint32_t req;      /* the newest request that it serves; 0: none */
    bool again;        /* requested again since it began */
    bool cancelled;    /* for an upgrade */
    int64_t grace_ms;  /* of the newest request: as in struct k_reload, -1: unset */
    uint32_t next_req; /* the request that set `again` */
};

/* Work that can wait; deferred.c. */
struct deferred {
    struct list entries; /* executed or exited since the last run */
    uint64_t deadline_ms;
};

struct keeper {
    const struct keeper_options *options;
    pid_t pid;
    bool resumed; /* there was a previous keeper */
    int signal_fd;
    int state_fd;
    int siding[2]; /* buffers what a worker was copying when it died; -1: none */
    struct guard guard;
    struct rlimit nofile; /* our initial limit, which children get */
    struct table table;
    struct cgroup cgroup;
    struct spawns spawns;
    struct worker worker;
    struct keeper_shutdown shutdown;
    struct upgrade upgrade;
    struct reload reload;
    struct deferred deferred;
    uint64_t flood_retry_at_ms; /* DEADLINE_NONE: no weight change is pending; flood_weight.c */
    struct census census;
    struct deposit deposit;
    struct inherited inherited;
    struct list tree_signals; /* signals to trees to be sent in this turn */
    struct pollfd *polls;
    size_t poll_cap;
};

/* requests.c: handles what the worker sent, at most one turn's worth. */
void requests_read(struct keeper *k);
/* The remaining messages of a dead worker: all but spawn requests are carried out. */
void requests_drain(struct keeper *k);
void requests_report_exit(struct keeper *k, const struct entry *e);
void requests_report_signaled(struct keeper *k, const struct k_signal *m, int rc, uint32_t count);
void requests_report_spawned(struct keeper *k, uint32_t req, const struct entry *e);
void requests_report_spawn_failed(struct keeper *k, uint32_t req, uint32_t stage, int error,
                                  uint32_t path);

/* reap.c: reaps every dead child. */
void reap_children(struct keeper *k);
/* SIGCHLD named this child: if it is a leader, its exit is reported before anything else. */
void reap_hinted(struct keeper *k, pid_t pid);
/* A child of the vault, started by an earlier keeper. The vault reaps it. */
void reap_inherited(struct keeper *k, const struct zombie *d);
/* It is dead, and nobody can say how it ended. */
void reap_lost(struct keeper *k, struct entry *e);

/*
 * deferred.c: starting a new program keeps everything else waiting for some time. That is when the
 * keeper releases cgroups and creates the next process's pipes, rather than while a client waits
 * for an exit.
 */
void deferred_init(struct keeper *k);
void deferred_add(struct keeper *k, struct entry *e); /* it was executed, or has exited */
void deferred_wake(struct keeper *k);                 /* schedules a run */
void deferred_run(struct keeper *k);
void deferred_step(struct keeper *k, uint64_t now_ms);
uint64_t deferred_deadline(const struct keeper *k);

/* shared_state.c */
int keeper_open_state(struct keeper *k);   /* creates k->state_fd or enlarges it; 0 or -errno */
void keeper_renew_state(struct keeper *k); /* its contents are lost */

/* worker.c */
void worker_init(struct keeper *k);
void worker_kill(struct keeper *k, const char *why);    /* NULL: nothing to log */
void worker_kill_for_channel(struct keeper *k, int rc); /* sending failed */
void worker_note_io(struct keeper *k);                  /* it is dead and not yet reaped */
void worker_on_ready(struct keeper *k);
void worker_on_exit(struct keeper *k, int status);
void worker_step(struct keeper *k, uint64_t now_ms); /* starts one when it is due */
unsigned worker_backoff_ms(unsigned faults, unsigned early_ends);

/* keeper_shutdown.c */
void keeper_shutdown_begin(struct keeper *k); /* SIGTERM or SIGINT; the second one kills at once */
void keeper_shutdown_step(struct keeper *k, uint64_t now_ms);
uint64_t keeper_shutdown_deadline(const struct keeper *k);

/* upgrade.c */
void upgrade_begin(struct keeper *k);
void upgrade_leave(struct keeper *k); /* the vault stays alone */
void upgrade_cancel(struct keeper *k);
bool upgrade_on_exit(struct keeper *k, const struct zombie *d); /* true: it was the check */
void upgrade_step(struct keeper *k, uint64_t now_ms);
uint64_t upgrade_deadline(const struct keeper *k);

/* credentials_reload.c */
void reload_begin(struct keeper *k, const struct k_reload *m); /* NULL: no request */
bool reload_on_exit(struct keeper *k, pid_t pid, int status);  /* true: it was the reader */
void reload_cancel(struct keeper *k);
void reload_restart(struct keeper *k); /* the cancelled one, when no binary took over */
void reload_step(struct keeper *k, uint64_t now_ms);
uint64_t reload_deadline(const struct keeper *k);

#endif
