/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - `holdfast serve`: sockets and tokens, then the keeper. Layer: cli.
 */
#ifndef HF_CLI_SERVE_H
#define HF_CLI_SERVE_H

#include <limits.h>

#include "cli/greeting.h"
#include "cli/options.h"
#include "keeper/keeper.h"
#include "transport/listen.h"

#define SERVE_LISTEN_MAX 32

/* Everything a worker needs to know; made before the first fork, unchanged after. */
struct serve {
    struct serve_options options;
    struct buf tokens;
    struct listen_socket listeners[SERVE_LISTEN_MAX];
    int dialect[SERVE_LISTEN_MAX]; /* of the same listener: which of dialects_all; -1: everything */
    size_t listener_count;
    uid_t worker_uid;
    gid_t worker_gid;
    struct keeper_user *users; /* as whom processes may run; see --allow-users */
    size_t user_count;
    uid_t spawn_uid;            /* of processes that name no user */
    char history_dir[PATH_MAX]; /* resolved; options point to it */
    bool resumed;               /* an older binary handed over */
    struct greeting *greeting;  /* NULL: none is printed */
};

int serve_main(int argc, char **argv);
/* The same under another command line: a newer binary is executed with `real`. */
int serve_main_as(int argc, char **argv, char **real);

/* worker.c: the forked child's whole life. */
struct keeper_boot;
int worker_main(const struct keeper_boot *boot, void *arg);
/* Would a worker start with these options? Asked once, so that a mistake ends
 * the command instead of one worker after the other. 0 or an exit code. */
int worker_check(struct serve *s);

#endif
