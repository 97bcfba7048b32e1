/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - the processes that belong to an entry, and signals to them
 *
 * The tree of an entry consists of its cgroup, its session, its process group, the processes on its
 * terminal, all descendants of those, and orphans that carry the entry's mark in the environment
 * they were executed with. It never includes the keeper, the worker, or processes below another
 * entry's leader.
 *
 * The pid of a reaped leader may be reused. While its session or group has members the kernel
 * reserves the number. So if any process has that pid now, the number was reused and session and
 * group mean nothing; and a process found by session or group alone must descend from the keeper
 * and not carry another entry's mark. One case remains: an orphan with a wiped environment in a
 * session of a recycled, again dead leader.
 *
 * Without /proc only the leader's group can be reached, by its number. Layer: keeper.
 */
#ifndef HF_KEEPER_TREE_H
#define HF_KEEPER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "keeper/keeper_proto.h"
#include "keeper/signalled.h"

struct keeper;
struct entry;
struct proc;
struct proc_list;

/* 0 or -errno. On success the members are marked in *out, which the census owns (proc_census.h). */
int tree_find(struct keeper *k, const struct entry *e, struct proc_list **out);
bool tree_is_living_member(const struct proc *p);
/* Does the member descend from the leader through a child that was started since then? */
bool tree_is_recent(const struct entry *e, const struct proc_list *l, const struct proc *p,
                    uint64_t since_ticks);

/* Signals the leader or a group: 0 or -errno (-ESRCH: no process is left); *count is how many
 * received it. tree_signal.h signals whole trees. */
int tree_signal(struct keeper *k, struct entry *e, const struct k_signal *m, uint32_t *count);

/* Without /proc: the leader's group. */
int tree_signal_group_blind(const struct entry *e, int signum, uint32_t *count);

/* Fills total, count and list with the living members. */
void tree_survey(struct keeper *k, struct entry *e, struct k_surveyed *out);

/* Is fn true for any living member? */
bool tree_any(struct keeper *k, struct entry *e, bool (*fn)(void *arg, pid_t pid), void *arg);

/* Signals every process of every tree; 0 sends nothing. Returns how many are alive. With `once`,
 * which starts empty, each process receives it once: at the first search or, if it could not be
 * identified then, at a later one. A process that did not exist at the first search does not
 * receive it: programs start others to shut down cleanly. */
struct signal_once {
    struct signalled present, sent;
    bool begun;
};
size_t tree_signal_every(struct keeper *k, int signum, struct signal_once *once);
void tree_signal_once_fini(struct signal_once *once);

#endif
