/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_top_columns.h - the table that ps would print: the requested columns and their cells
 *
 * No ps is run, since a sandbox may have none: -ef, aux and -o with the names of common columns are
 * supported. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_TOP_COLUMNS_H
#define HF_DIALECTS_DOCKER_DOCKER_TOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

#define TOP_COLUMNS_MAX 32

struct top_columns {
    int list[TOP_COLUMNS_MAX];
    size_t count;
};

struct top_row {
    int64_t pid, ppid, pgid, sid, uid;
    char user[64];
    char state;
    unsigned tty; /* device number; 0: none */
    uint64_t cpu_ms, age_ms;
    int64_t start_wall_ms;
    int64_t vsz_kib, rss_kib, nice, threads;
    uint64_t total_kib; /* of the machine */
    char comm[64];
    struct buf args; /* "" if it has none */
    bool member;     /* of the container */
};

/* ps_args NULL: -ef. 0, or err. PID must be among the columns, as Docker requires. */
int top_columns_parse(struct top_columns *c, const char *ps_args, struct hf_error *err);
const char *top_title(const struct top_columns *c, size_t i);
void top_cell(const struct top_columns *c, size_t i, const struct top_row *r, struct buf *out);

/*
 * The fields of /proc/PID/stat; false: malformed. Times require the clock's ticks per second and
 * the machine's uptime.
 */
bool top_parse_stat(struct top_row *r, const char *text, long ticks, uint64_t uptime_ms);

#endif
