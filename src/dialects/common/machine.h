/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - what the control planes of platforms report about the sandbox itself
 *
 * To a platform, this machine is the sandbox: its size is the machine's, and it was created when
 * the machine's first process started. The values are read anew at each call. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_MACHINE_H
#define HF_DIALECTS_COMMON_MACHINE_H

#include <stdint.h>

struct machine {
    int64_t cpus;                         /* that the daemon may run on; at least 1 */
    uint64_t memory_bytes;                /* 0: unknown, as are the following */
    uint64_t disk_bytes, disk_free_bytes; /* of the file system at / */
    int64_t started_ms;                   /* wall clock: the start of process 1 */
};
void machine_read(struct machine *m);

/* The start of a process in ticks after the boot, from /proc/PID/stat. 0: malformed. */
uint64_t machine_parse_start(const char *stat);
/* The boot in seconds, from /proc/stat. 0: malformed. */
uint64_t machine_parse_boot(const char *stat);

#endif
