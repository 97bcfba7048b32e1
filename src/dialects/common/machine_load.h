/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_load.h - how busy this machine is: its processors, memory and disk
 *
 * To a platform, the machine is the sandbox. The values are those of the kernel at this moment; a
 * load needs two samples. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_MACHINE_LOAD_H
#define HF_DIALECTS_COMMON_MACHINE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* Counters since the start of the machine, of all processors together, in clock ticks. */
struct machine_cpu {
    uint64_t total, busy;  /* idle time counts in `total` only */
    uint64_t user, system; /* parts of `busy` */
    uint64_t at_ms;        /* monotonic; 0: never sampled */
};

struct machine_memory {
    uint64_t total_kib, available_kib, cached_kib;
};

/* False, and the sample is unchanged but for its time, if /proc does not tell. */
bool machine_read_cpu(struct machine_cpu *out);
/* All zero if /proc does not tell. */
void machine_read_memory(struct machine_memory *out);
/* Per cent of all processors between two samples, in hundredths; 0 if the second is not later. */
uint64_t machine_load_between(const struct machine_cpu *a, const struct machine_cpu *b);

/* All of it at this moment; what cannot be read is 0. */
struct machine_sample {
    int64_t at_ms;
    uint64_t load; /* since *last; the first time since the start of the machine */
    uint64_t memory_bytes, memory_used_bytes, memory_cached_bytes;
    uint64_t disk_bytes, disk_used_bytes, disk_free_bytes; /* of the file system at / */
};
void machine_read_sample(struct machine_cpu *last, struct machine_sample *out);
/* The load as a JSON number with two decimals. */
void machine_write_load(struct json_out *o, const char *key, const struct machine_sample *s);

/* The first line of /proc/stat, and /proc/meminfo; false: malformed. */
bool machine_parse_cpu(const char *text, struct machine_cpu *out);
bool machine_parse_memory(const char *text, struct machine_memory *out);

#endif
