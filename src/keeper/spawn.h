/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starting a process: from the worker's request to the answer
 *
 * A struct spawn exists from the request until the kernel has closed the
 * child's report pipe, and holds everything the child looks at. Its entry is in
 * the table as soon as there is a pid, with entry->spawn set; the worker hears of
 * it when exec has worked. When exec fails the entry goes and the dead child is
 * reaped like any orphan. Layer: keeper.
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

#define SPAWN_DEADLINE_MS 30000 /* for chdir and exec together: a dead file server */
#define SPAWN_QUIET_MS 2
#define SPAWN_STRINGS_MAX (64 * 1024) /* candidates, arguments and variables together: E2BIG */
#define SPAWN_MARK "HOLDFAST_PROCESS_ID="
#define SPAWN_LENT 5 /* report, and up to four streams */

struct keeper;
struct entry;
struct child_stack;

struct spawn {
    struct list link;    /* in keeper.spawns.flying */
    struct entry *entry; /* NULL: nobody waits for it any more */
    uint32_t req;
    pid_t pid;
    int report_fd; /* our end */
    /* The child's ends, ours until it has a table of its own; -1: closed. */
    int lent[SPAWN_LENT];
    struct child_stack *stack;
    uint64_t deadline_ms;
    uint64_t quiet_until_ms; /* until then its pipe is not looked at */
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
 * Carries out K_SPAWN; m is well-formed but for its strings, which are at
 * `inline_strings` or, if that is NULL, in fds[1]. Takes what it needs of fds and sets
 * that to -1. False: the strings are malformed.
 */
bool spawn_request(struct keeper *k, const struct k_spawn *m, const char *inline_strings, int *fds);

/*
 * Lays out the strings of `m` and plans the child; no descriptors, no limits.
 * 0 or -errno: -EBADMSG when they are malformed, -E2BIG when there are too many.
 */
int spawn_new(const struct k_spawn *m, const char *strings, int strings_fd, struct spawn **out);
void spawn_free(struct spawn *s);

/* allowed_users.c: may it run as that user, with those groups? */
bool spawn_user_is_allowed(const struct keeper *k, const struct k_spawn *m);

/* When processes are many: all that the entry holds, out of the way of children to come. */
void spawn_move_high(const struct keeper *k, struct entry *e);

/* The child has died or its pipe has something: moves on as far as it goes. */
void spawn_step(struct keeper *k, struct spawn *s);
/* In a fork of the keeper, to which they would mean nothing: closes its descriptors. */
void spawn_close_fds(struct spawn *s);
/* Some child has died; if it had been lent something, that is closed. */
void spawns_on_death(struct keeper *k, pid_t pid);
/* Nobody will hear of them any more: the worker that asked is gone. */
void spawns_abandon(struct keeper *k);
bool spawns_are_settled(const struct keeper *k); /* nobody is waited for */
void spawns_step(struct keeper *k, uint64_t now_ms);
uint64_t spawns_deadline(const struct keeper *k);

/* For the loop: `fds` has room for spawns.count. Step those that poll(2) found ready. */
void spawns_poll_set(const struct keeper *k, struct pollfd *fds);
void spawns_poll_done(struct keeper *k, const struct pollfd *fds, size_t count);

#endif
