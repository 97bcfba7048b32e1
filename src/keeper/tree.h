/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - who belongs to a process, and signals to them
 *
 * The tree of an entry is: its cgroup, its session, its process group, who has
 * its terminal, all descendants of those, and orphans that carry the entry's
 * mark in the environment they were executed with. Never in it are the keeper,
 * the worker, and what stands below another entry's leader.
 *
 * A leader that has been reaped has a pid that may be given to somebody else.
 * While its session or group has members the kernel keeps the number, so: if
 * anybody has that pid now, the number was given away and session and group
 * say nothing; and who is found by session or group alone must descend from
 * the keeper and not carry another entry's mark. What is left is an orphan
 * with a wiped environment in a session of a recycled, again dead leader.
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

/* 0 or -errno. On success the members are marked in *out, which is the census' (proc_census.h). */
int tree_find(struct keeper *k, const struct entry *e, struct proc_list **out);
bool tree_is_living_member(const struct proc *p);
/* Does the member stand below the leader through a child that was started since then? */
bool tree_is_recent(const struct entry *e, const struct proc_list *l, const struct proc *p,
                    uint64_t since_ticks);

/* To the leader or to a group: 0 or -errno (-ESRCH: nobody there); *count is who got it. Whole
 * trees are tree_signal.h's. */
int tree_signal(struct keeper *k, struct entry *e, const struct k_signal *m, uint32_t *count);

/* Without /proc: the leader's group. */
int tree_signal_group_blind(const struct entry *e, int signum, uint32_t *count);

/* Fills total, count and list with those alive. */
void tree_survey(struct keeper *k, struct entry *e, struct k_surveyed *out);

/* Is fn true for one of those alive? */
bool tree_any(struct keeper *k, struct entry *e, bool (*fn)(void *arg, pid_t pid), void *arg);

/* To every process of every tree; 0 sends nothing. Returns how many are alive. With `farewell`, which
 * begins empty, each gets it once: at the first look, or, if it could not be told from others'
 * then, at a later one. Who was not there at the first look does not get it: programs start
 * others in order to end well. */
struct farewell {
    struct signalled there, told;
    bool begun;
};
size_t tree_signal_every(struct keeper *k, int signum, struct farewell *farewell);
void tree_farewell_fini(struct farewell *f);

#endif
