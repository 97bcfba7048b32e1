/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starts a process: from the worker's request to the reply
 *
 * A struct spawn exists from the request until the kernel has closed the child's report pipe, and
 * holds everything the child reads. Its entry is in the table as soon as there is a pid, with
 * entry->spawn set; it is reported to the worker when exec has succeeded. If exec fails, the entry
 * is removed and the dead child is reaped like any orphan. Layer: keeper.
 */
#ifndef HF_KEEPER_SPAWN_H
#define HF_KEEPER_SPAWN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "keeper/child.h"
#include "keeper/keeper_proto.h"

#define SPAWN_DEADLINE_MS 30000 /* for chdir and exec together: the file server may be dead */
#define SPAWN_QUIET_MS 2
#define SPAWN_STRINGS_MAX (64 * 1024) /* candidates, arguments and variables together: E2BIG */
#define SPAWN_MARK "HOLDFAST_PROCESS_ID="
#define SPAWN_LENT 5 /* report, and up to four streams */

struct keeper;
struct entry;
struct child_stack;

struct spawn {
    struct list link;    /* in keeper.spawns.flying */
    struct entry *entry; /* NULL: abandoned */
    uint32_t req;
    pid_t pid;
    int report_fd; /* our end */
    /* The child's ends, which we hold until it has its own table; -1: closed. */
    int lent[SPAWN_LENT];
    struct child_stack *stack;
    uint64_t deadline_ms;
    uint64_t quiet_until_ms; /* its pipe is not polled before */
    bool reported;
    struct child_report report;
    struct child_plan plan;
    gid_t groups[K_GROUPS_MAX];
    char mark[sizeof SPAWN_MARK + K_ID_LEN];
    char *pointers[]; /* paths, argv, envp; then the strings */
};

void spawns_init(struct keeper *k);
void spawns_fini(struct keeper *k);

/*
 * Carries out K_SPAWN; m is well-formed except for its strings, which are at `inline_strings` or,
 * if that is NULL, in fds[1]. Sets each of fds that it takes over to -1. False: the strings are
 * malformed.
 */
bool spawn_request(struct keeper *k, const struct k_spawn *m, const char *inline_strings, int *fds);

/*
 * Lays out the strings of `m` and plans the child; no descriptors, no limits. 0 or -errno: -EBADMSG
 * when they are malformed, -E2BIG when there are too many.
 */
int spawn_new(const struct k_spawn *m, const char *strings, int strings_fd, struct spawn **out);
void spawn_free(struct spawn *s);

/* allowed_users.c: may it run as that user, with those groups? */
bool spawn_user_is_allowed(const struct keeper *k, const struct k_spawn *m);

/* With many processes: moves the entry's descriptors out of the way of future children. */
void spawn_move_high(const struct keeper *k, struct entry *e);

/* The child has died or its pipe is readable: advances as far as possible. */
void spawn_step(struct keeper *k, struct spawn *s);
/* In a fork of the keeper, which has no use for them: closes its descriptors. */
void spawn_close_fds(struct spawn *s);
/* A child has died: closes the descriptors that we held for it. */
void spawns_on_death(struct keeper *k, pid_t pid);
/* Abandons all of them: the worker that requested them is dead. */
void spawns_abandon(struct keeper *k);
bool spawns_are_settled(const struct keeper *k); /* no spawn is pending */
void spawns_step(struct keeper *k, uint64_t now_ms);
uint64_t spawns_deadline(const struct keeper *k);

/* For the loop: `fds` has room for spawns.count. Advances those that poll(2) found ready. */
void spawns_poll_set(const struct keeper *k, struct pollfd *fds);
void spawns_poll_done(struct keeper *k, const struct pollfd *fds, size_t count);

#endif
