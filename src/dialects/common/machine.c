/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - reads the size of this machine, and when it started. Layer: dialects.
 */
#include "dialects/common/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"

#define PROC_FILE_BYTES (256 * 1024) /* /proc/stat has a line per CPU and a number per interrupt */
#define START_FIELD 22               /* of /proc/PID/stat */

/* The name of the program may contain spaces and parentheses, so fields count from its end. */
uint64_t machine_parse_start(const char *stat)
{
    const char *at = strrchr(stat, ')');

    for (int field = 2; at != NULL && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

uint64_t machine_parse_boot(const char *stat)
{
    const char *at = strstr(stat, "\nbtime ");

    return at != NULL ? strtoull(at + strlen("\nbtime "), NULL, 10) : 0;
}

static uint64_t parse_file(const char *path, uint64_t (*parse)(const char *))
{
    struct buf text = {0};
    uint64_t value = 0;

    if (io_read_file(path, PROC_FILE_BYTES, &text) == 0)
        value = parse(buf_cstr(&text));
    buf_fini(&text);
    return value;
}

/* Where /proc hides other users' processes, the boot has to do. */
static int64_t read_start(void)
{
    uint64_t boot = parse_file("/proc/stat", machine_parse_boot);
    uint64_t ticks = parse_file("/proc/1/stat", machine_parse_start);
    long hz = sysconf(_SC_CLK_TCK);

    return (int64_t)(boot * 1000 + (hz > 0 ? ticks * 1000 / (uint64_t)hz : 0));
}

void machine_read(struct machine *m)
{
    struct sysinfo si;
    struct statvfs fs;

    *m = (struct machine){.cpus = get_nprocs(), .started_ms = read_start()};
    if (m->cpus < 1)
        m->cpus = 1;
    if (sysinfo(&si) == 0)
        m->memory_bytes = (uint64_t)si.totalram * si.mem_unit;
    if (statvfs("/", &fs) == 0) {
        m->disk_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
        m->disk_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    }
}
