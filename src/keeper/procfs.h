/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procfs.h - the running processes, from /proc. Layer: keeper.
 */
#ifndef HF_KEEPER_PROCFS_H
#define HF_KEEPER_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
    pid_t pid, ppid, pgrp, sid;
    uint32_t tty_nr;
    char state;   /* 'Z' and 'X' are dead */
    uint8_t mark; /* for the caller's use */
    uint64_t start_ticks;
    char comm[16];
};

struct proc_list {
    struct proc *procs; /* by pid, rising */
    size_t count;
};

/* All visible processes; 0 or -errno (no /proc here). Free with procfs_list_fini(). */
int procfs_list_read(struct proc_list *out);
void procfs_list_fini(struct proc_list *l);
struct proc *procfs_list_find(const struct proc_list *l, pid_t pid);

/* The line of /proc/PID/stat. */
bool procfs_parse_stat(const char *text, size_t len, struct proc *out);

/*
 * Searches the environment that a process was executed with for the variable "NAME=value" (`prefix`
 * is "NAME="): 1 it has this value, 0 it has another, -1 it has none or cannot be read.
 */
int procfs_has_env(pid_t pid, const char *prefix, const char *value);
/* The same in the bytes of an environment. */
int procfs_find_env(const char *bytes, size_t len, const char *prefix, const char *value);

pid_t procfs_parent(pid_t pid); /* 0: not known */

/* Does it have a handler for this signal? Also false if it cannot be read. */
bool procfs_catches(pid_t pid, int signum);
/* The same in the text of /proc/PID/status. */
bool procfs_status_catches(const char *text, int signum);

#endif
