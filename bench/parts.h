/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - what is measured
 *
 * Each is called once a round, measures floors and daemon next to each other
 * and adds one sample of each to the results.
 */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include "daemon.h"

void part_echo(const struct env *env, unsigned round);
void part_bulk_pty(const struct env *env, unsigned round);
void part_bulk_pipe(const struct env *env, unsigned round);
void part_spawn(const struct env *env, unsigned round);
void part_fanout(const struct env *env, unsigned round);
void part_memory(const struct env *env, unsigned round);
void part_screen(const struct env *env, unsigned round);
void part_dialects(const struct env *env, unsigned round);
void part_start(const struct env *env, unsigned round);
void part_size(const struct env *env, unsigned round);

/* Proportional set size of keeper and worker. */
long daemon_pss_kib(const struct daemon *d);
/* The part of it that lies in the journals' rings. */
long daemon_ring_pss_kib(const struct daemon *d);

#endif
