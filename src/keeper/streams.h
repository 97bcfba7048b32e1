/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - the terminal or the pipes of a new process
 *
 * Our ends are the master, or our ends of the pipes: non-blocking and close-on-exec. The child's
 * three may be the same descriptor. Pipes keep their default size here; the reader may enlarge them
 * when it pays. Layer: keeper.
 */
#ifndef HF_KEEPER_STREAMS_H
#define HF_KEEPER_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "keeper/keeper_proto.h"

/*
 * Pipes and a terminal created ahead, while there was nothing else to do: a process that is started
 * alone does not wait for their creation. They are used only while no child is between clone and
 * exec: a child that was cloned earlier has a copy of the ends that another process is to get, and
 * until its exec that process's output would not seem to end.
 */
#define SPARE_PIPES 3 /* report, stdout, stderr */
struct spares {
    int pipes[SPARE_PIPES][2];
    int pipe_count;
    int master, slave; /* -1: none */
    bool want_tty;     /* a terminal was requested before */
};
void spare_streams_init(struct spares *s);
void spare_streams_fini(struct spares *s);
void spare_streams_fill(struct spares *s); /* as far as possible */
/* Both ends close-on-exec. `spares` may be NULL. 0 or -errno. */
int spare_streams_take_pipe(struct spares *s, int pair[2]);

#define STREAMS_CHILD 4 /* descriptors 0 to 2, and 3 where a socket is requested */
struct streams {
    int tty, stdin_fd, stdout_fd, stderr_fd; /* ours; -1: none */
    int side;                                /* our end of the socket; -1: none */
    int child[STREAMS_CHILD];                /* the child's; see streams_take_child() */
};

/*
 * `null_fd` becomes the child's input where none is requested; `spares` may be NULL. 0 or -errno,
 * with nothing left open.
 */
int streams_open(struct streams *s, const struct k_spawn *m, int null_fd, struct spares *spares);
/* The child's ends, each once and without null_fd, for the caller to close; -1: none. */
void streams_take_child(struct streams *s, int out[STREAMS_CHILD]);
void streams_close(struct streams *s); /* all */

/* A descriptor that reads as end of file: /dev/null or, where there is none, a pipe. */
int streams_open_null(void);

#endif
