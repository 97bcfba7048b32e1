/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - the parent process that spawns, reaps and never talks to the network
 *
 * keeper_run() is the whole life of the keeper process. It forks the worker, holds a copy of every
 * descriptor the worker needs (journals, terminals, pipes, listening sockets, shared state), and
 * forks a new worker when one dies. The state from which a worker continues is in struct
 * keeper_boot, which the child inherits by the fork itself: no message can be lost.
 *
 * The keeper never blocks, parses nothing from the network, and allocates only when it creates an
 * entry. Layer: keeper; includes base only.
 */
#ifndef HF_KEEPER_KEEPER_H
#define HF_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/usage.h"

#define KEEPER_ENTRIES_MAX 65536
#define KEEPER_CARRY_FDS_MAX 64
#define KEEPER_SIDING_BYTES (1024 * 1024)

/* One process, running, or exited and not yet forgotten. Read-only for the worker, at boot. */
struct keeper_entry {
    uint32_t entry; /* number, never reused within one keeper; > 0 */
    char id[32];
    pid_t pid;
    bool exited;
    int status; /* waitpid status, when exited; K_STATUS_LOST */
    bool oom;
    int64_t exited_wall_ms;
    struct usage usage;                         /* when exited */
    int record_fd;                              /* memfd of the process's record and journal */
    int tty_fd, stdin_fd, stdout_fd, stderr_fd; /* -1: none or closed */
    int side_fd;
};

/* The I/O counts of a dead worker. */
#define KEEPER_IO_PAST 16 /* workers that may die in a row before one has processed these counts */
struct keeper_io {
    pid_t pid; /* 0: it was reaped under an earlier keeper */
    bool known;
    struct io_count count;
};

/* The initial state of a worker. The worker owns the inherited descriptors. */
struct keeper_boot {
    int channel_fd; /* SOCK_SEQPACKET to the keeper; non-blocking */
    int state_fd;   /* memfd of state_bytes, shared by all workers */
    int siding[2];  /* a pipe of KEEPER_SIDING_BYTES that survives a worker's death; -1: none */
    const struct keeper_entry *entries;
    size_t entry_count;
    uint32_t generation;                   /* 1 for the first worker */
    struct keeper_io past[KEEPER_IO_PAST]; /* the last worker and those before it, newest first */
    pid_t keeper_pid;
    bool has_cgroup; /* process trees are in cgroups (v2) */
    bool is_first;   /* no earlier worker of this keeper became ready, as far as a vault knows */
};

/* Descriptors that the command needs again after an upgrade (listening sockets). */
struct keeper_carry {
    int fds[KEEPER_CARRY_FDS_MAX];
    size_t fd_count;
};

/* A user that processes may run as, and the groups that they may have. */
#define KEEPER_USER_GROUPS_MAX 64
struct keeper_user {
    uint32_t uid, gid, group_count;
    uint32_t groups[KEEPER_USER_GROUPS_MAX];
};

/*
 * Credentials are files that change while the daemon runs. Reading one may hang, and its contents
 * may be wrong, so a forked child reads them: `read` writes what a worker needs to `fd`, an empty
 * memory file, and returns 0. The keeper then passes the file to `take`, which owns it from then
 * on, and a copy to the worker (K_CREDENTIALS). Both NULL: there are none.
 */
struct keeper_reload {
    int (*read)(int fd, int64_t grace_ms, void *arg); /* grace_ms: as in struct k_reload */
    void (*take)(int fd, void *arg);
    const int *keep_fd; /* the only inherited descriptor that `read` needs; NULL: none */
};

struct vault_ends;

struct keeper_options {
    /* Runs in the forked child and returns its exit code. */
    int (*worker_main)(const struct keeper_boot *boot, void *arg);
    void *arg;
    size_t state_bytes;
    uint32_t grace_ms; /* how long processes have after SIGTERM */
    struct keeper_carry carry;
    /* Appends the bytes that the command needs again (options, tokens). They may be secrets, so
     * they are produced when an upgrade needs them, and wiped. 0 or -errno. NULL: none. */
    int (*carry_write)(struct buf *out, void *arg);
    struct keeper_reload reload;
    const char *exe_path; /* absolute; what an upgrade executes */
    char *const *argv;    /* with these arguments */
    uid_t worker_uid;     /* ids the worker drops to, for io_count_of() */
    gid_t worker_gid;
    const char *pid_file;           /* NULL: none */
    const struct vault_ends *vault; /* NULL: none; then the keeper's death ends everything */
    bool replaced;   /* executed in place by the previous keeper; else started by the vault */
    bool users_only; /* processes run as one of `users`, else as any user */
    const struct keeper_user *users;
    size_t user_count;
};

/*
 * Runs until the daemon shuts down; returns the exit code. With `resume_fd` >= 0 this process was
 * executed by an older keeper (same pid, same children) and takes over its table.
 */
int keeper_run(const struct keeper_options *options, int resume_fd);

/* A memory file with the output of carry_write(), or -errno. */
int keeper_save_carry(const struct keeper_options *options);

/* In a keeper that the vault started: the table as the previous keeper left it, in the form that
 * keeper_run() resumes from. A descriptor or -errno. */
int keeper_resume_from_vault(const struct vault_ends *ends);

/* After an upgrade: the carried bytes and descriptors, to be read before keeper_run(). *bytes is
 * malloc'd. 0 or -errno. */
#define KEEPER_RESUME_ENV "HOLDFAST_RESUME_FD"
int keeper_resume_carry(int resume_fd, void **bytes, size_t *len, int *fds, size_t *fd_count);

/*
 * In a candidate that runs beside the old keeper: could this binary continue from its state? Reads
 * everything and changes nothing. The callbacks check the engine's data. NULL, or the fault.
 */
struct keeper_trial {
    bool (*record)(int fd, void *arg); /* of each process */
    bool (*state)(int fd, void *arg);  /* that all workers share */
    void *arg;
};
const char *keeper_try(int resume_fd, const struct keeper_trial *trial);

/*
 * Requests that the kernel kill the calling worker when the keeper dies; -ESRCH if it is dead
 * already. Called before worker_main(), but the kernel resets it when a process changes its user,
 * so a worker that drops privileges calls it again.
 */
int keeper_guard_worker(pid_t keeper_pid);

/*
 * `holdfast upgrade-check VERSION ARGV...`: can this binary take over state of that version, with
 * this command line? KEEPER_RESUME_ENV names a copy of the state. An older keeper omits both.
 */
#define KEEPER_STATE_VERSION 1
/* Its exit code for yes: not 0, which many programs return for any arguments. */
#define KEEPER_CHECK_YES 93

#endif
