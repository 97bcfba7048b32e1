/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_own.h - the keeper's state, shared by its files
 *
 * One struct keeper is on the stack of keeper_run(). The loop in keeper.c polls
 * three kinds of descriptors (signals, the link to the worker, the report pipes
 * of children that have not been executed yet) and calls the functions named
 * here; each moves its own part of the state one step and returns. Nobody
 * waits. What must happen later is a deadline, and the loop sleeps until the
 * nearest one, or for good.
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

/* Children that have been cloned and not yet executed; spawn.c. */
struct spawns {
    struct list flying; /* struct spawn */
    size_t count;
    struct child_stack *stacks;
    size_t stack_count; /* idle ones */
    int null_fd;        /* /dev/null for reading, or a pipe at its end */
    bool can_cut;       /* high_can_cut() */
    struct spares spares;
};

/* The one worker, or the wait for the next; worker.c. */
struct worker {
    pid_t pid; /* 0: none */
    struct channel link;
    bool ready;
    uint64_t ready_ms;
    uint32_t generation;
    bool refused;         /* the keeper killed it for what it did */
    bool inherited;       /* an earlier keeper started it: the vault is its parent */
    unsigned faults;      /* deaths in a row at or right after the start that were its own doing */
    unsigned early_ends;  /* the same, whoever's doing */
    unsigned crashes;     /* of the faults in a row, those by a signal */
    uint64_t start_at_ms; /* DEADLINE_NONE: not waiting to start one */
    struct keeper_io past[KEEPER_IO_PAST]; /* those before it, newest first */
};

/* The way out; keeper_shutdown.c. */
enum ending_phase {
    ENDING_NOT,   /* serving */
    ENDING_ASKED, /* the worker has been told to end everything */
    ENDING_TERM,  /* it did not: the keeper has sent SIGTERM to the trees itself */
    ENDING_KILL,  /* SIGKILL has been sent; waiting for the dead */
    ENDING_DONE,
    ENDING_LEFT, /* nothing has ended but the keeper itself */
};
struct keeper_shutdown {
    enum ending_phase phase;
    uint64_t deadline_ms;
    bool orderly; /* the worker did what it was asked */
    struct farewell farewell;
    int code;
};

/* The way into another binary; upgrade.c. */
enum upgrade_phase {
    UPGRADE_NOT,
    UPGRADE_CHECK,  /* the new binary is asked whether it can take over */
    UPGRADE_RETIRE, /* the worker has been told to leave */
    UPGRADE_SETTLE, /* children under way are let finish their exec */
};
struct upgrade {
    enum upgrade_phase phase;
    bool leaving; /* into no binary: the vault keeps everything for a later keeper */
    pid_t check_pid;
    int report_fd; /* what the check has to say; -1: none */
    uint64_t deadline_ms;
};

/* A child that reads the credentials; credentials_reload.c. */
struct reload {
    pid_t pid; /* 0: none */
    int fd;    /* what it writes */
    uint64_t deadline_ms;
    uint32_t req;      /* the newest request that it answers; 0: none */
    bool again;        /* asked for once more since it began */
    bool cancelled;    /* for an upgrade */
    int64_t grace_ms;  /* of the newest request: as in struct k_reload, -1: unset */
    uint32_t next_req; /* for what `again` asks */
};

/* What can wait until there is time; deferred.c. */
struct chores {
    struct list entries; /* that have been executed or have exited since */
    uint64_t deadline_ms;
};

struct keeper {
    const struct keeper_options *options;
    pid_t pid;
    bool resumed; /* there was a keeper before */
    int signal_fd;
    int state_fd;
    int siding[2]; /* holds what a worker was copying when it died; -1: none */
    struct guard guard;
    struct rlimit nofile; /* as we were started: what children get */
    struct table table;
    struct cgroup cgroup;
    struct spawns spawns;
    struct worker worker;
    struct keeper_shutdown ending;
    struct upgrade upgrade;
    struct reload reload;
    struct chores chores;
    uint64_t ease_at_ms; /* DEADLINE_NONE: every session has the weight it should; flood_weight.c */
    struct census census;
    struct deposit deposit;
    struct inherited inherited;
    struct list volley; /* signals to trees that this turn has to send */
    struct pollfd *polls;
    size_t poll_cap;
};

/* requests.c: reads what the worker sent, at most a turn's worth. */
void requests_read(struct keeper *k);
/* The last words of a worker that is dead: everything but spawning still counts. */
void requests_drain(struct keeper *k);
void requests_tell_exit(struct keeper *k, const struct entry *e);
void requests_tell_signaled(struct keeper *k, const struct k_signal *m, int rc, uint32_t count);
void requests_tell_spawned(struct keeper *k, uint32_t req, const struct entry *e);
void requests_tell_spawn_failed(struct keeper *k, uint32_t req, uint32_t stage, int error,
                                uint32_t path);

/* reap.c: every child that has died. */
void reap_children(struct keeper *k);
/* SIGCHLD named this one: if it is a leader, its exit is told before anything else is done. */
void reap_hinted(struct keeper *k, pid_t pid);
/* A child of the vault, which an earlier keeper started. The vault reaps it. */
void reap_inherited(struct keeper *k, const struct zombie *d);

/*
 * deferred.c: a new program keeps everybody else waiting for some time. That is when cgroups are
 * looked into and the next one's pipes are made, rather than while somebody waits for an exit.
 */
void deferred_init(struct keeper *k);
void deferred_add(struct keeper *k, struct entry *e); /* it was executed, or has exited */
void deferred_wake(struct keeper *k);                 /* something can be done soon */
void deferred_run(struct keeper *k);
void deferred_step(struct keeper *k, uint64_t now_ms);
uint64_t deferred_deadline(const struct keeper *k);

/* shared_state.c */
int keeper_open_state(
    struct keeper *k); /* makes k->state_fd, or makes it large enough; 0 or -errno */
void keeper_renew_state(struct keeper *k); /* what was in it is gone */

/* worker.c */
void worker_init(struct keeper *k);
void worker_kill(struct keeper *k, const char *why); /* NULL: nothing to log */
void worker_kill_for_link(struct keeper *k, int rc); /* channel_send() or channel_flush() failed */
void worker_note_io(struct keeper *k);               /* dead and not reaped yet */
void worker_on_ready(struct keeper *k);
void worker_on_exit(struct keeper *k, int status);
void worker_step(struct keeper *k, uint64_t now_ms); /* starts one when it is time */
unsigned worker_backoff_ms(unsigned faults, unsigned early_ends);

/* keeper_shutdown.c */
void keeper_shutdown_begin(struct keeper *k); /* SIGTERM or SIGINT; the second time at once */
void keeper_shutdown_step(struct keeper *k, uint64_t now_ms);
uint64_t keeper_shutdown_deadline(const struct keeper *k);

/* upgrade.c */
void upgrade_begin(struct keeper *k);
void upgrade_leave(struct keeper *k); /* the vault goes on alone */
void upgrade_cancel(struct keeper *k);
bool upgrade_on_exit(struct keeper *k, pid_t pid, int status); /* true: it was the check */
void upgrade_step(struct keeper *k, uint64_t now_ms);
uint64_t upgrade_deadline(const struct keeper *k);

/* credentials_reload.c */
void reload_begin(struct keeper *k, const struct k_reload *m); /* NULL: by nobody's request */
bool reload_on_exit(struct keeper *k, pid_t pid, int status);  /* true: it was the reader */
void reload_cancel(struct keeper *k);
void reload_restart(struct keeper *k); /* what was cancelled, when nobody has taken over */
void reload_step(struct keeper *k, uint64_t now_ms);
uint64_t reload_deadline(const struct keeper *k);

#endif
