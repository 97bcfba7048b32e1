/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_probe.h - what a process is doing with its terminal, and whose a socket is
 *
 * Facts that the kernel tells a process's ancestor and not the worker, who runs
 * as nobody in particular. Only looked at when asked. Layer: keeper.
 */
#ifndef HF_KEEPER_TTY_PROBE_H
#define HF_KEEPER_TTY_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/keeper_proto.h"

struct keeper;
struct entry;

/*
 * Fills group, reading and cwd. Input that was written to the terminal before the call has
 * reached whoever reads it before anybody is looked at, so a process that is found
 * reading is waiting for more than that.
 */
void tty_probe_terminal(const struct entry *e, struct k_looked *out);

/* Does somebody of the tree have one of these sockets open? */
bool tty_probe_holds(struct keeper *k, struct entry *e, const uint64_t *inodes, size_t count);

/* The line of /proc/PID/syscall: "NR ARG0 .. ARG5 SP PC"; false if it is in none. */
struct look_call {
    long nr;
    uint64_t args[6];
};
bool tty_probe_parse_syscall(const char *text, struct look_call *out);
/* Does the text of /proc/PID/fdinfo/N of an epoll name descriptors that are waited for to be
 * readable? They go to `fds`; returns how many, at most `max`. */
size_t tty_probe_parse_epoll(const char *text, int *fds, size_t max);

#endif
