/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.h - what the driver and the floors share: time, children, the
 * known stream, medians
 *
 * The benchmark is one thread and blocks; whatever goes wrong ends it with a
 * sentence (die), because a number made by a broken run is worse than none.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NS_PER_S 1000000000ULL

/* Prints the sentence, ends every child that was started, exits 1. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* --- time ------------------------------------------------------------------ */
uint64_t now_ns(void);         /* monotonic */
uint64_t cpu_ns_self(void);    /* user + system time of this process */
uint64_t cpu_ns_of(pid_t pid); /* the same of another one, all its threads */
void sleep_ms(unsigned ms);

/* --- the known stream ------------------------------------------------------- */
/*
 * All writers write the same endless stream, so that a reader can tell a lost, doubled or
 * moved byte by looking at its offset alone. Its period is a prime, so that no block
 * size hides a shift. It is what programs write to a terminal: lines of noise in
 * letters, some of them coloured.
 */
#define PATTERN_PERIOD 65521
#define PATTERN_RUN (64 * 1024) /* contiguous bytes that pattern_at() gives */
const uint8_t *pattern_at(uint64_t offset);
/* True when `n` bytes at `p` are those of the stream at `offset`. */
bool pattern_matches(uint64_t offset, const uint8_t *p, size_t n);

/* --- numbers ---------------------------------------------------------------- */
/* Both sort `v` in place; `n` must not be 0. */
double percentile(double *v, size_t n, double p);
double median(double *v, size_t n);

/* --- descriptors ------------------------------------------------------------ */
void fd_set_nonblocking(int fd);
void fd_write_all(int fd, const void *p, size_t n);
int tcp_listen(int *port); /* 127.0.0.1, a free port */
int tcp_connect(int port); /* TCP_NODELAY, 20 s until a read gives up */
void tcp_set_nodelay(int fd);

/* --- children --------------------------------------------------------------- */
/*
 * A child belongs to the table until child_end() has seen its end; whatever
 * is left in it is ended when the benchmark exits, however it exits.
 */
pid_t child_start(const char *const argv[], int in, int out, int err);
pid_t child_start_pty(const char *const argv[], int *master);
void child_end(pid_t pid, int sig); /* sends `sig` (0: only waits) and reaps */
void children_init(void);           /* subreaper, exit and signal handlers */
/* When a file is named here, die() prints its end: the daemon's own words. */
void die_show_file(const char *path);

#endif
