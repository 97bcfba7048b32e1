/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - `holdfast serve`: sockets and tokens, then the keeper. Layer: cli.
 */
#ifndef HF_CLI_SERVE_H
#define HF_CLI_SERVE_H

#include <limits.h>

#include "cli/credentials.h"
#include "cli/greeting.h"
#include "cli/options.h"
#include "cli/pickup.h"
#include "keeper/keeper.h"
#include "transport/listen.h"

#define SERVE_LISTEN_MAX 32

/* Everything a worker needs to know; prepared before the first fork. */
struct serve {
    struct serve_options options;
    struct credentials credentials; /* the keeper wipes them once they are saved */
    int credentials_fd;             /* a sealed memory file with them, replaced at each reload */
    struct listen_socket listeners[SERVE_LISTEN_MAX];
    int dialect[SERVE_LISTEN_MAX]; /* of that listener: index in dialects_all; -1: everything */
    size_t listener_count;
    uid_t worker_uid;
    gid_t worker_gid;
    struct keeper_user *users; /* the users that processes may run as; see --allow-users */
    size_t user_count;
    uid_t spawn_uid;            /* of processes that name no user */
    char history_dir[PATH_MAX]; /* resolved; options point to it */
    bool resumed;               /* taken over from an older binary */
    bool had_tls;               /* which spoke TLS: a TCP socket must not fall back to plaintext */
    struct greeting *greeting;  /* NULL: none is printed */
    char name[LISTEN_NAME_BYTES]; /* finds the vault; "": not known yet */
    struct pickup earlier;        /* what an earlier daemon at this address left */
    bool announce, greet; /* a launcher waits for the listening addresses, and for the greeting */
};

int serve_main(int argc, char **argv);
/* The same under another command line: an upgrade is executed with `real`. */
int serve_main_as(int argc, char **argv, char **real);

/* A candidate's trial: serve_main() does everything but serve, and returns KEEPER_CHECK_YES or
 * prints a reason on standard error. */
void serve_try(void);

/* upgrade_carry.c: what a newer binary receives with the listening sockets. */
int carry_write(struct buf *out, void *serve);
/* Keeps current values that are missing. Nonzero, after a message: there are no sockets to
 * continue with. */
int carry_take(struct serve *s, int resume_fd);

/* serve_worker.c: the forked child's whole life. */
struct keeper_boot;
int worker_main(const struct keeper_boot *boot, void *arg);
/* Checks the allowed origins and the confinement once, so that a mistake ends the command
 * instead of one worker after the other. 0 or an exit code. */
int worker_check(const struct serve *s);

#endif
