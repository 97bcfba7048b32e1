/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_usage.h - what running processes use at this moment, from /proc
 *
 * The table is one reading of /proc, made only for a request and by the worker, so that no start of
 * a process waits for it. The tree of a process consists of its descendants and the members of its
 * session. Times include those of children that ended and were waited for. Owned by the caller.
 * Layer: engine.
 */
#ifndef HF_ENGINE_LIVE_USAGE_H
#define HF_ENGINE_LIVE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"

struct live_usage {
    uint64_t user_us, system_us; /* in steps of the kernel's clock tick, mostly 10 ms */
    uint64_t rss_bytes;
    bool has_io; /* false: this worker may not read it; that of another user's process */
    uint64_t read_bytes, written_bytes; /* from and to block devices */
    size_t processes;
    bool complete; /* false: the table was full, so some may be missing */
};

struct live_process {
    pid_t pid, ppid, sid;
    uint64_t user_ticks, system_ticks, rss_pages;
    /* for the table: */
    const struct live_process *parent; /* NULL: it is not in the table */
    bool member;
};

struct live_table;
/* At most so many processes of the machine; empty without /proc. */
struct live_table *live_table_read(size_t most);
void live_table_free(struct live_table *t);
/* False: the process is not there. */
bool live_table_usage(struct live_table *t, pid_t leader, struct live_usage *out);
size_t live_table_count(const struct live_table *t);
/* Writes the value of "usage"; NULL: null. */
void live_usage_write(struct json_out *o, const struct live_usage *u);

/* The texts of /proc/PID/stat and /proc/PID/io; false: malformed. */
bool live_parse_stat(const char *text, struct live_process *out);
bool live_parse_io(const char *text, uint64_t *read_bytes, uint64_t *written_bytes);

#endif
