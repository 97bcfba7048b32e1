/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - one cgroup per process tree, where we may make any
 *
 * Nothing leaves a cgroup by forking, setsid or dying parents, so it is the
 * surest way to find a tree. We make holdfast-PID below our own cgroup and in it
 * one directory ("slot") per entry. Making and removing a directory costs
 * more than a tenth of a spawn, so empty slots are kept and used again, but
 * only those that are as good as new. Where no directory can be made, or
 * children cannot be born into it (clone3), `dir_fd` is -1 and trees are found by other
 * means; see tree.c. Layer: keeper.
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
    int dir_fd;       /* to be born into; -1 once somebody was: copying our table costs */
    /* Never used again: it had limits, was killed (see cgroup_kill()), or may have been. */
    bool used_up;
};

struct cgroup {
    int dir_fd; /* of holdfast-PID; -1: no cgroups */
    char path[PATH_MAX];
    bool has_memory, has_pids; /* those controllers are there for our slots */
    uint32_t last_number;
    struct list idle;      /* empty slots */
    struct list lingering; /* their entry is forgotten but somebody lives on in them */
    size_t idle_count;
};

/* Finds a place and makes our directory. Says so in the log if there is none. */
void cgroup_init(struct cgroup *c, pid_t pid);
/* Takes over what cgroup_init() of an older keeper made; "" for none. 0, or -errno and no cgroup. */
int cgroup_resume(struct cgroup *c, const char *path, uint32_t last_number);
/* With `remove` the directories go, as far as they are empty. */
/* Forgets the slot and leaves the cgroup as it is, for the next keeper. */
void cgroup_abandon(struct cgroup_slot *slot);
void cgroup_fini(struct cgroup *c, bool remove);
void cgroup_disable(struct cgroup *c, const char *why);

/* NULL: none to be had. `fresh` slots were never used, so that limits can be set. */
struct cgroup_slot *cgroup_take(struct cgroup *c, bool fresh);
/* One that the keeper before has handed out. NULL: none to be had. */
struct cgroup_slot *cgroup_reopen(struct cgroup *c, uint32_t number);
/* Open a file of the slot: a descriptor or -1. */
int cgroup_open(const struct cgroup *c, const struct cgroup_slot *slot, const char *file,
                int flags);
/* The entry needs it no more: used again when empty. */
void cgroup_release(struct cgroup *c, struct cgroup_slot *slot);
/* It went bad: not used again. */
void cgroup_discard(struct cgroup *c, struct cgroup_slot *slot);
/* Releases the slot and sets *slot to NULL if nobody is in it. */
void cgroup_release_if_empty(struct cgroup *c, struct cgroup_slot **slot);

/* 0 or -errno. UINT64_MAX: no limit asked for. */
int cgroup_limit(struct cgroup *c, struct cgroup_slot *slot, uint64_t memory_bytes,
                 uint64_t processes);
bool cgroup_is_empty(const struct cgroup *c, const struct cgroup_slot *slot);
/* Somebody in it was killed for want of memory since it was handed out. */
bool cgroup_had_oom(const struct cgroup *c, const struct cgroup_slot *slot);
/* SIGKILL to all in it: 0 or -errno. */
int cgroup_kill(const struct cgroup *c, struct cgroup_slot *slot);
/* Pids of its members, malloc'd; NULL and 0 when there are none. */
pid_t *cgroup_members(const struct cgroup *c, const struct cgroup_slot *slot, size_t *count);

/* From the text of /proc/self/mountinfo and /proc/self/cgroup: where our own cgroup is. */
bool cgroup_find(const char *mountinfo, const char *self, char *out, size_t out_size);

#endif
