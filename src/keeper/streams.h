/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - the terminal or the pipes of a new process
 *
 * Ours are the master, or our ends of the pipes: non-blocking and close-on-exec.
 * The child's three may be the same descriptor. Pipes keep their default size
 * here; whoever reads them may widen them when it pays. Layer: keeper.
 */
#ifndef HF_KEEPER_STREAMS_H
#define HF_KEEPER_STREAMS_H

#include <stdint.h>

#include "keeper/proto.h"

struct streams {
    int tty, stdin_fd, stdout_fd, stderr_fd; /* ours; -1: none */
    int child[3];                            /* the child's; see streams_close_child() */
};

/* `null_fd` becomes the child's input where none is wanted. 0 or -errno, with nothing left open. */
int streams_open(struct streams *s, const struct k_spawn *m, int null_fd);
void streams_close_child(struct streams *s); /* all but null_fd */
void streams_close(struct streams *s);       /* ours as well */

/* A descriptor that is at its end when read: /dev/null, or where there is none, a pipe. */
int streams_open_null(void);

#endif
