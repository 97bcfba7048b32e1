/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - the child between clone(2) and execve(2)
 *
 * The child shares the keeper's memory (like vfork) but the keeper does not wait for it: a chdir or
 * exec that hangs on a dead file server must not stop the daemon. So everything the child needs is
 * prepared in a struct child_plan that nothing else writes to. The plan stays until the kernel
 * closes the report pipe, which it does after it has released the memory, at exec and at exit
 * alike.
 *
 * One thing must not be shared along with the memory: writing oom_score_adj would change the
 * keeper's too, so such a child gets a copy of the memory (`own_memory`). Because the keeper's
 * memory is not dumpable (guard.h), processes of the child's user cannot trace the child. Layer:
 * keeper.
 */
#ifndef HF_KEEPER_CHILD_H
#define HF_KEEPER_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define CHILD_LIMITS_MAX 8
#define CHILD_STACK_BYTES (16 * 1024)

struct child_limit {
    int which; /* RLIMIT_* */
    struct rlimit value;
};

/*
 * What the child writes to the report pipe: K_STAGE_NONE once it has its own descriptor table, any
 * other stage if it failed there. End of file without a failure means that exec succeeded.
 */
struct child_report {
    uint32_t stage; /* enum k_stage */
    int32_t error;
    uint32_t path;
};

struct child_plan {
    int side;     /* becomes descriptor 3; -1: none */
    int stdio[3]; /* all above 2, below HIGH_FD; for a terminal three times the same */
    int report_fd;
    bool tty;
    bool own_memory;
    bool share_files; /* starts with our table and cuts it at HIGH_FD; needs high_can_cut() */
    bool set_user, set_nice, set_oom;
    uid_t uid;
    gid_t gid;
    uint32_t group_count;
    const gid_t *groups;
    int nice;
    char oom_score_adj[12]; /* decimal text */
    struct child_limit limits[CHILD_LIMITS_MAX];
    uint32_t limit_count;
    const char *cwd; /* NULL: stay */
    char **paths;    /* path_count candidates */
    uint32_t path_count;
    char **argv, **envp;
    int32_t *pid_at; /* where the kernel stores the pid before the child runs; NULL: nowhere */
    volatile uint32_t stage; /* progress, reported when the keeper gives up waiting */
};

/*
 * Starts a child that carries out the plan on a stack of CHILD_STACK_BYTES, in the cgroup of
 * directory `cgroup_fd` (-1: in ours). Returns its pid or -errno.
 */
pid_t child_start(struct child_plan *plan, void *stack, int cgroup_fd);

#endif
