/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_memory.c - what the daemon holds: idle, per terminal, per viewer;
 * and the two small ones: start time and size
 *
 * Memory is proportional set size (PSS): private pages whole, pages shared
 * by keeper and worker once. The terminals write nothing, so that what is
 * counted is what a terminal costs before its first byte.
 */
#include "parts.h"
#include "results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MEMORY_ROUNDS 2
#define TERMINALS 100
#define VIEWERS 500
#define SETTLE_MS 300
#define STARTS 6
#define STARTS_QUICK 15

static FILE *proc_open(pid_t pid, const char *name)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    f = fopen(path, "re");
    if (f == NULL)
        die("cannot read %s", path);
    return f;
}

static long pss_kib(pid_t pid)
{
    FILE *f = proc_open(pid, "smaps_rollup");
    char line[512];
    long kib = -1;

    while (kib < 0 && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "Pss: %ld kB", &kib) != 1)
            kib = -1;
    fclose(f);
    if (kib < 0)
        die("no Pss of process %d", (int)pid);
    return kib;
}

/*
 * A ring is mapped twice in a row, so the mappings of one file that begin at
 * the same place in it are a ring; what else lies in that file is not.
 */
struct mapping {
    unsigned long begin;
    unsigned long end;
    unsigned long offset;
    unsigned long inode;
    bool memfd;
    long pss;
};

static bool mapping_parse(const char *line, struct mapping *m)
{
    char name[256] = "";

    memset(m, 0, sizeof(*m));
    if (sscanf(line, "%lx-%lx %*s %lx %*s %lu %255s", &m->begin, &m->end, &m->offset, &m->inode,
               name) < 4)
        return false;
    m->memfd = strncmp(name, "/memfd:", 7) == 0;
    return true;
}

static bool is_second_of_ring(const struct mapping *a, const struct mapping *b)
{
    return a->memfd && b->memfd && a->inode == b->inode && a->offset == b->offset &&
           a->end == b->begin;
}

static long ring_pss_kib(pid_t pid)
{
    FILE *f = proc_open(pid, "smaps");
    struct mapping before = {0};
    struct mapping now = {0};
    struct mapping next;
    char line[512];
    long kib = 0;
    long pss;

    while (fgets(line, sizeof(line), f) != NULL) {
        if (mapping_parse(line, &next)) {
            before = now;
            now = next;
        } else if (sscanf(line, "Pss: %ld kB", &pss) == 1) {
            now.pss = pss;
            if (is_second_of_ring(&before, &now))
                kib += before.pss + now.pss;
        }
    }
    fclose(f);
    return kib;
}

long daemon_pss_kib(const struct daemon *d)
{
    long sum = 0;

    for (int i = 0; i < d->pid_count; i++)
        sum += pss_kib(d->pid[i]);
    return sum;
}

long daemon_ring_pss_kib(const struct daemon *d)
{
    long sum = 0;

    for (int i = 0; i < d->pid_count; i++)
        sum += ring_pss_kib(d->pid[i]);
    return sum;
}

static void ignore(void *arg, const uint8_t *p, size_t n, bool start)
{
    (void)arg, (void)p, (void)n, (void)start;
}

/* What waits in a viewer's socket is read, so that the daemon holds none of it. */
static void settle(struct ws *w, unsigned n)
{
    for (int again = 0; again < 3; again++) {
        sleep_ms(SETTLE_MS / 3);
        for (unsigned i = 0; i < n; i++)
            while (ws_pump(&w[i], MSG_DONTWAIT, ignore, NULL) > 0)
                ;
    }
}

void part_memory(const struct env *env, unsigned round)
{
    static struct ws w[TERMINALS + VIEWERS];
    char path[PATH_BYTES];
    const char *argv[] = {bench_program(env, "flood", path), "hold", "0", NULL};
    char id[ID_BYTES];
    struct daemon d;
    long idle;
    long with;
    long ring;

    if (round >= MEMORY_ROUNDS)
        return;
    daemon_start(&d, env);
    settle(w, 0);
    result_add((double)daemon_pss_kib(&d), "memory.idle_kib");
    /* The program's own pages that a terminal needs come with the first one, and are none of its cost. */
    daemon_create(&d, argv, true, id);
    daemon_view(&d, id, "since=0", &w[0]);
    settle(w, 1);
    ws_close(&w[0]);
    daemon_forget(&d, id);
    settle(w, 0);
    idle = daemon_pss_kib(&d);
    for (unsigned i = 0; i < TERMINALS; i++) {
        daemon_create(&d, argv, true, id);
        daemon_view(&d, id, "since=0", &w[i]);
    }
    settle(w, TERMINALS);
    with = daemon_pss_kib(&d);
    ring = daemon_ring_pss_kib(&d);
    result_add((double)(with - idle - ring) / TERMINALS, "memory.pty_kib");
    result_add((double)ring / TERMINALS, "memory.pty_ring_kib");
    for (unsigned i = TERMINALS; i < TERMINALS + VIEWERS; i++)
        daemon_view(&d, id, "since=0", &w[i]);
    settle(w, TERMINALS + VIEWERS);
    result_add((double)(daemon_pss_kib(&d) - with) / VIEWERS, "memory.viewer_kib");
    for (unsigned i = 0; i < TERMINALS + VIEWERS; i++)
        ws_close(&w[i]);
    daemon_stop(&d);
}

/* From the fork that leads to the exec, to the last byte of the first answer. */
static double start_once(const struct env *env)
{
    struct daemon d;
    uint64_t begin = now_ns();
    uint64_t end;

    daemon_exec(&d, env);
    d.http = http_new(d.port);
    daemon_ask(&d, "GET", "/healthz", NULL, 200);
    end = now_ns();
    daemon_stop(&d);
    return (double)(end - begin) / 1e6;
}

void part_start(const struct env *env, unsigned round)
{
    double ms[STARTS_QUICK];
    unsigned n = env->quick ? STARTS_QUICK : STARTS;

    (void)round;
    for (unsigned i = 0; i < n; i++)
        ms[i] = start_once(env);
    result_add(median(ms, n), "start.ms");
    result_add(ms[0], "start.least_ms");
}

void part_size(const struct env *env, unsigned round)
{
    struct stat st;

    if (round > 0)
        return;
    if (stat(env->daemon, &st) != 0)
        die("cannot stat %s", env->daemon);
    result_add((double)st.st_size / 1e6, "size.mb");
}
