/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_probe.h - probes what a process does with its terminal, and which tree has a socket open
 *
 * The kernel reveals these facts to an ancestor of a process, and not to the worker, which runs
 * unprivileged. Probes run only on request. Layer: keeper.
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
 * Fills group, reading and cwd. Input that was written to the terminal before the call reaches its
 * reader before any process is inspected, so a process that is found reading is waiting for more
 * input.
 */
void tty_probe_terminal(const struct entry *e, struct k_probed *out);

/* Does a process of the tree have one of these sockets open? */
bool tty_probe_holds(struct keeper *k, struct entry *e, const uint64_t *inodes, size_t count);

/* The line of /proc/PID/syscall: "NR ARG0 .. ARG5 SP PC"; false if it is in no call. */
struct tty_probe_call {
    long nr;
    uint64_t args[6];
};
bool tty_probe_parse_syscall(const char *text, struct tty_probe_call *out);
/* Parses /proc/PID/fdinfo/N of an epoll: stores the descriptors that it waits on for reading in
 * `fds`; returns how many, at most `max`. */
size_t tty_probe_parse_epoll(const char *text, int *fds, size_t max);

#endif
