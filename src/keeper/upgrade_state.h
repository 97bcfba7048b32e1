/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_state.h - carries the table and related state through execve(2)
 *
 * The old keeper writes a memory file and leaves its number in the environment; the new one, which
 * is the same process with another program, reads it. Descriptors keep their numbers.
 * KEEPER_STATE_VERSION fixes the layout, whatever the two binaries were built from. Layer: keeper.
 */
#ifndef HF_KEEPER_UPGRADE_STATE_H
#define HF_KEEPER_UPGRADE_STATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper/keeper.h"

#define STATE_MAGIC "hfkeeper"

struct state_head {
    char magic[8];
    uint32_t version;
    uint32_t entry_count;
    uint32_t last_number;
    uint32_t generation;
    int32_t state_fd;
    uint32_t dumpable;
    uint64_t nofile_cur, nofile_max;
    uint64_t io_read, io_written;
    uint32_t io_known;
    uint32_t cgroup_last;
    uint32_t carry_len;
    uint32_t carry_fd_count;
    int32_t carry_fds[KEEPER_CARRY_FDS_MAX];
    char cgroup_path[PATH_MAX]; /* "": none */
};

/* entry_count of them, then the carried bytes. */
struct state_entry {
    uint32_t entry;
    int32_t pid;
    char id[32];
    uint32_t exited, oom;
    int32_t status;
    uint32_t slot; /* of the cgroup; 0: none */
    int64_t exited_wall_ms;
    uint64_t usage[USAGE_WORDS]; /* see usage_pack() */
    int32_t record_fd, tty_fd, stdin_fd, stdout_fd, stderr_fd;
    int32_t side_fd; /* plus one; 0: none, as in older versions */
};

struct keeper;

/* NULL, or what is wrong with the bytes. `bytes` is aligned for the structs. */
const char *state_fault(const void *bytes, size_t len);

int state_save(const struct keeper *k, int *out_fd); /* 0 or -errno; *out_fd is inheritable */
int state_load(struct keeper *k, int fd);            /* 0 or -errno */
/* Sets whether execve(2) closes the descriptors that the new keeper needs. */
void state_set_cloexec(const struct keeper *k, bool on);
/* In the child that is about to execute a candidate: keeps what keeper_try() reads. Terminals
 * and pipes stay closed: a copy would delay their end of file. */
void state_lend(const struct keeper *k);

#endif
