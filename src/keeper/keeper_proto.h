/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_proto.h - the messages between worker and keeper
 *
 * One SOCK_SEQPACKET socketpair; each packet is one of the structs below, of exact length (K_SPAWN
 * is followed by its strings). Both ends are the same binary, so layout and byte order agree by
 * construction. The keeper still trusts nothing: it kills a worker that sends a wrong type, length,
 * count or entry. Descriptors travel by SCM_RIGHTS.
 *
 * Layer: keeper (the engine includes this header and no other of this folder but keeper.h).
 */
#ifndef HF_KEEPER_KEEPER_PROTO_H
#define HF_KEEPER_KEEPER_PROTO_H

#include <stdint.h>

#include "base/usage.h"

#define K_INLINE_MAX (60 * 1024)        /* strings up to here travel in the packet */
#define K_STRINGS_MAX (4 * 1024 * 1024) /* beyond the kernel's own 2 MiB of argv and env */
#define K_GROUPS_MAX 64
#define K_SURVEY_MAX 64
#define K_ID_LEN 32
#define K_CWD_MAX 1024 /* with its NUL; a longer path is not reported */
#define K_HOLDS_MAX 8  /* sockets in one request */
#define K_UNSET UINT64_MAX

enum k_type {
    /* worker -> keeper */
    K_READY = 1, /* serving; struct k_simple */
    K_SPAWN,     /* struct k_spawn + strings; fds: record [, memfd with the strings] */
    K_SIGNAL,    /* struct k_signal; reply: K_SIGNALED */
    K_SURVEY,    /* struct k_simple: lists the living processes of the tree; reply: K_SURVEYED */
    K_CLOSE,     /* struct k_close: the keeper closes its copy of these descriptors */
    K_FORGET,    /* struct k_simple: removes the entry and its descriptors; only after exit */
    K_UPGRADE,   /* struct k_simple: replace the binary, as SIGHUP does */
    K_PROBE,     /* struct k_simple: probes its terminal; reply: K_PROBED */
    K_HOLDS,     /* struct k_holds: does the tree have this socket open? reply: K_HELD */
    K_FLOOD,     /* struct k_flood: it started or stopped writing as fast as it can */
    K_RELOAD,    /* struct k_reload: reads the credentials again; reply: K_CREDENTIALS */
    /* keeper -> worker */
    K_SPAWNED,  /* struct k_spawned; fds: master, or [stdin] stdout stderr; [side] */
    K_EXITED,   /* struct k_exited; once per entry, after its K_SPAWNED */
    K_SIGNALED, /* struct k_signaled */
    K_SURVEYED, /* struct k_surveyed */
    K_STOP,     /* struct k_stop: terminate all processes and exit with code 0 */
    K_RETIRE,   /* struct k_simple: exit at once with code 0, terminate no process */
    K_PROBED,   /* struct k_probed */
    K_HELD,     /* struct k_held */
    /* struct k_credentials; fd: the memory file, unless there is an error. Also sent without a
     * request: after SIGHUP. */
    K_CREDENTIALS,
};

/* Descriptors of an entry, as bits of k_close.which and k_spawned.fds. */
enum {
    K_FD_TTY = 1,    /* terminal master: input and output */
    K_FD_STDIN = 2,  /* write end */
    K_FD_STDOUT = 4, /* read end */
    K_FD_STDERR = 8, /* read end */
    K_FD_SIDE = 16,  /* our end of the socket that the child has as descriptor 3 */
};
#define K_FDS 5

/* K_RECENT: the tree without the leader, and without subtrees below those of its children that
 * are older than k_signal.since_ticks. */
enum k_target { K_LEADER, K_GROUP, K_FOREGROUND, K_TREE, K_RECENT };

/* The step at which the child failed. */
enum k_stage {
    K_STAGE_NONE,
    K_STAGE_TABLE,
    K_STAGE_PTY,
    K_STAGE_PIPE,
    K_STAGE_FORK,
    K_STAGE_SESSION,
    K_STAGE_TTY,
    K_STAGE_LIMITS,
    K_STAGE_USER,
    K_STAGE_CWD,
    K_STAGE_EXEC,
};

struct k_simple {
    uint32_t type;
    uint32_t req;   /* echoed in the reply; 0 where there is none */
    uint32_t entry; /* 0 where there is none */
};

enum { K_STDIN_NULL, K_STDIN_PIPE };

struct k_spawn {
    uint32_t type;
    uint32_t req;
    char id[K_ID_LEN];  /* NUL-terminated [a-z0-9_]: cgroup name, orphan marker */
    uint8_t pty;        /* else pipes */
    uint8_t stdin_mode; /* K_STDIN_*; pipes only */
    uint8_t set_user;   /* uid, gid and groups below count */
    uint8_t set_nice;
    uint8_t set_oom;
    uint8_t side;        /* a socket as its descriptor 3 */
    uint8_t quiet;       /* no client waits for K_SPAWNED: it may be merged with K_EXITED */
    uint16_t rows, cols; /* pty only */
    uint32_t uid, gid;
    uint32_t group_count;
    uint32_t groups[K_GROUPS_MAX];
    int32_t nice, oom_score_adj;
    uint64_t cpu_s, memory_bytes, processes, open_files, file_bytes; /* K_UNSET: as the keeper */
    uint32_t path_count; /* candidates for execve, in order, at least one */
    uint32_t arg_count;  /* at least one */
    uint32_t env_count;
    uint32_t strings_len; /* cwd ("" for none), paths, args, env: each NUL-terminated */
};

struct k_spawned {
    uint32_t type;
    uint32_t req;
    uint32_t entry; /* 0: failed, and nothing is left */
    int32_t pid;
    int32_t error;  /* errno, 0 when started */
    uint32_t stage; /* enum k_stage of the failure */
    uint32_t path;  /* index of the candidate that failed, for K_STAGE_EXEC */
    uint32_t fds;   /* K_FD_* bits, in the order of the attached descriptors */
};

/* The exit status could not be collected. waitpid(2) has no such status. */
#define K_STATUS_LOST (-1)

struct k_exited {
    uint32_t type;
    uint32_t entry;
    int32_t status; /* as from waitpid(2), or K_STATUS_LOST */
    uint32_t oom;   /* 1: the kernel's OOM killer did it (known from the cgroup only) */
    int64_t at_wall_ms;
    struct usage usage;
};

/* Replaces K_SPAWNED and K_EXITED when both are known at once; recognised by its length. */
struct k_ran {
    struct k_spawned spawned;
    struct k_exited exited;
};

struct k_signal {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    int32_t signum;
    uint32_t target;      /* enum k_target */
    uint64_t since_ticks; /* K_RECENT: as field 22 of /proc/PID/stat */
};

struct k_signaled {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    int32_t error;  /* errno; ESRCH: no process is left */
    uint32_t count; /* processes (or groups) signalled */
};

struct k_close {
    uint32_t type;
    uint32_t entry;
    uint32_t which; /* K_FD_* bits */
};

struct k_flood {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    uint32_t on; /* 0 or 1 */
};

struct k_survivor {
    int32_t pid;
    char comm[16];
};

struct k_surveyed {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    uint32_t total; /* alive in the tree, zombies not counted */
    uint32_t count; /* of them listed below */
    struct k_survivor list[K_SURVEY_MAX];
};

/* Is a process of the foreground waiting for input from the terminal? */
enum { K_LOOK_NO, K_LOOK_YES, K_LOOK_UNKNOWN };

struct k_probed {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    int32_t group;       /* process group in the foreground; 0: none */
    uint32_t reading;    /* K_LOOK_* */
    char cwd[K_CWD_MAX]; /* of the group's leader; "": not known */
};

struct k_holds {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    uint32_t count; /* at least one */
    uint64_t inodes[K_HOLDS_MAX];
};

struct k_held {
    uint32_t type;
    uint32_t req;
    uint32_t entry;
    uint32_t held; /* 1: a process of the tree has one of them open */
};

#define K_GRACE_UNSET UINT64_MAX /* replaced tokens end now; earlier ones keep their time */
struct k_reload {
    uint32_t type;
    uint32_t req;
    uint64_t grace_ms; /* how long replaced tokens stay valid; 0 also ends earlier ones */
};

struct k_credentials {
    uint32_t type;
    uint32_t req;  /* the last K_RELOAD that this replies to, and all before it; 0: none */
    int32_t error; /* errno; 0: the descriptor is attached */
};

struct k_stop {
    uint32_t type;
    uint32_t grace_ms;
};

#endif
