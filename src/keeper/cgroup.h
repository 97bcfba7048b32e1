/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - one cgroup per process tree, where cgroups can be created
 *
 * A process cannot leave its cgroup by forking, by setsid or by the death of its parent, so a
 * cgroup is the most reliable way to find a tree. The keeper creates holdfast-PID below its own
 * cgroup, and in it one directory ("slot") per entry. Creating and removing a directory costs more
 * than a tenth of a spawn, so empty slots are reused, but only those that are as good as new. Where
 * no directory can be created, or children cannot be started in it (clone3), `dir_fd` is -1 and
 * trees are found by other means; see tree.c. Layer: keeper.
 */
#ifndef HF_KEEPER_CGROUP_H
#define HF_KEEPER_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

#define CGROUP_IDLE_MAX 16 /* empty slots kept for the next processes */
#define CGROUP_OFF_ENV "HOLDFAST_NO_CGROUP"

struct cgroup_slot {
    struct list link; /* among idle or lingering */
    uint32_t number;  /* its name */
    int dir_fd;       /* for clone3; -1 once used, since every open one slows clone down */
    /* Never reused: it had limits, or it was or may have been killed (see cgroup_kill()). */
    bool used_up;
};

struct cgroup {
    int dir_fd; /* of holdfast-PID; -1: no cgroups */
    char path[PATH_MAX];
    bool has_memory, has_pids; /* these controllers are available to our slots */
    uint32_t last_number;
    struct list idle;      /* empty slots */
    struct list lingering; /* slots of forgotten entries in which processes still run */
    size_t idle_count;
};

/* Finds our own cgroup and creates our directory in it. Logs it if that is not possible. */
void cgroup_init(struct cgroup *c, pid_t pid);
/* Takes over the directory of an older keeper; "" for none. 0, or -errno and no cgroup. */
int cgroup_resume(struct cgroup *c, const char *path, uint32_t last_number);
/* Forgets the slot and leaves the cgroup as it is, for the next keeper. */
void cgroup_abandon(struct cgroup_slot *slot);
/* With `remove`, removes the directories that are empty. */
void cgroup_fini(struct cgroup *c, bool remove);
void cgroup_disable(struct cgroup *c, const char *why);

/* NULL: not available. `fresh` slots were never used, so limits can be set on them. */
struct cgroup_slot *cgroup_take(struct cgroup *c, bool fresh);
/* A slot that the previous keeper assigned. NULL: not available. */
struct cgroup_slot *cgroup_reopen(struct cgroup *c, uint32_t number);
/* Open a file of the slot: a descriptor or -1. */
int cgroup_open(const struct cgroup *c, const struct cgroup_slot *slot, const char *file,
                int flags);
/* The entry no longer needs it. It is reused once it is empty. */
void cgroup_release(struct cgroup *c, struct cgroup_slot *slot);
/* It is unusable and is not reused. */
void cgroup_discard(struct cgroup *c, struct cgroup_slot *slot);
/* Releases the slot and sets *slot to NULL if no process is in it. */
void cgroup_release_if_empty(struct cgroup *c, struct cgroup_slot **slot);

/* 0 or -errno. UINT64_MAX: no limit requested. */
int cgroup_limit(struct cgroup *c, struct cgroup_slot *slot, uint64_t memory_bytes,
                 uint64_t processes);
bool cgroup_is_empty(const struct cgroup *c, const struct cgroup_slot *slot);
/* The OOM killer has killed a process in it since it was assigned. */
bool cgroup_had_oom(const struct cgroup *c, const struct cgroup_slot *slot);
/* Sends SIGKILL to every process in it: 0 or -errno. */
int cgroup_kill(const struct cgroup *c, struct cgroup_slot *slot);
/* Pids of its members, malloc'd; NULL and 0 when there are none. */
pid_t *cgroup_members(const struct cgroup *c, const struct cgroup_slot *slot, size_t *count);

/* From the text of /proc/self/mountinfo and /proc/self/cgroup: where our own cgroup is. */
bool cgroup_find(const char *mountinfo, const char *self, char *out, size_t out_size);

#endif
