/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_load.c - how busy this machine is: its processors and memory. Layer: dialects.
 */
#include "dialects/common/machine_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"

#define PROC_FILE_BYTES (256 * 1024) /* /proc/stat has a line per CPU and a number per interrupt */
#define LOAD_FULL 10000              /* hundredths of a per cent */

enum { CPU_USER, CPU_NICE, CPU_SYSTEM, CPU_IDLE, CPU_IOWAIT, CPU_IRQ, CPU_SOFTIRQ, CPU_STEAL };
#define CPU_FIELDS (CPU_STEAL + 1)

bool machine_parse_cpu(const char *text, struct machine_cpu *out)
{
    uint64_t v[CPU_FIELDS] = {0}, total = 0;

    if (strncmp(text, "cpu ", 4) != 0)
        return false;
    text += 4;
    for (int i = 0; i < CPU_FIELDS; i++) {
        char *end;

        v[i] = strtoull(text, &end, 10);
        if (end == text)
            break;
        total += v[i];
        text = end;
    }
    out->total = total;
    out->busy = total - v[CPU_IDLE] - v[CPU_IOWAIT];
    out->user = v[CPU_USER] + v[CPU_NICE];
    out->system = v[CPU_SYSTEM] + v[CPU_IRQ] + v[CPU_SOFTIRQ];
    return total > 0;
}

static bool parse_line(const char *text, const char *name, uint64_t *out)
{
    const char *at = strstr(text, name);
    char *end;

    while (at != NULL && at != text && at[-1] != '\n')
        at = strstr(at + 1, name);
    if (at == NULL)
        return false;
    at += strlen(name);
    *out = strtoull(at, &end, 10);
    return end != at;
}

bool machine_parse_memory(const char *text, struct machine_memory *out)
{
    struct machine_memory m = {0};

    if (!parse_line(text, "MemTotal:", &m.total_kib) ||
        !parse_line(text, "MemAvailable:", &m.available_kib) || m.available_kib > m.total_kib)
        return false;
    (void)parse_line(text, "Cached:", &m.cached_kib);
    *out = m;
    return true;
}

bool machine_read_cpu(struct machine_cpu *out)
{
    hf_autobuf struct buf text = {0};

    out->at_ms = clock_mono_ms();
    return io_read_file("/proc/stat", PROC_FILE_BYTES, &text) == 0 &&
           machine_parse_cpu(buf_cstr(&text), out);
}

void machine_read_memory(struct machine_memory *out)
{
    hf_autobuf struct buf text = {0};

    if (io_read_file("/proc/meminfo", PROC_FILE_BYTES, &text) < 0 ||
        !machine_parse_memory(buf_cstr(&text), out))
        *out = (struct machine_memory){0};
}

uint64_t machine_load_between(const struct machine_cpu *a, const struct machine_cpu *b)
{
    uint64_t load;

    if (b->total <= a->total || b->busy < a->busy)
        return 0;
    load = (b->busy - a->busy) * LOAD_FULL / (b->total - a->total);
    return load < LOAD_FULL ? load : LOAD_FULL;
}

void machine_read_sample(struct machine_cpu *last, struct machine_sample *out)
{
    struct machine_cpu now = *last;
    struct machine_memory m;
    struct statvfs fs = {0};
    bool known = machine_read_cpu(&now);

    machine_read_memory(&m);
    (void)statvfs("/", &fs);
    *out = (struct machine_sample){
        .at_ms = clock_wall_ms(),
        .load = known ? machine_load_between(last, &now) : 0,
        .memory_bytes = m.total_kib * 1024,
        .memory_used_bytes = (m.total_kib - m.available_kib) * 1024,
        .memory_cached_bytes = m.cached_kib * 1024,
        .disk_bytes = (uint64_t)fs.f_blocks * fs.f_frsize,
        .disk_used_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize,
        .disk_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize,
    };
    *last = now;
}

void machine_write_load(struct json_out *o, const char *key, const struct machine_sample *s)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%llu.%02llu", (unsigned long long)(s->load / 100),
                     (unsigned long long)(s->load % 100));

    json_key(o, key);
    json_raw(o, text, (size_t)n);
}
