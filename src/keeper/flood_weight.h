/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood_weight.h - lowers a flooding session's CPU weight so that the kernel's tty thread keeps up
 *
 * A kernel thread moves a terminal's bytes; the writer wakes it with every chunk. Where the
 * scheduler shares CPUs among sessions (autogroups: a machine whose processes are in no cpu cgroup,
 * as in a microVM), the writer's session has a whole CPU's weight and that thread does not preempt
 * it: the writer fills the small buffer and sleeps, the thread empties it and sleeps, and every
 * chunk costs two CPUs waking each other. With slightly less weight for the session the thread runs
 * first, neither sleeps, and the same flood is up to 1.8 times as fast. Pipes gain some percent.
 *
 * The weight matters only where CPUs are contended. It belongs to the session (nice(2) of its
 * processes stays as it is), and is restored when the flood ends. A session whose weight was set by
 * someone else keeps it. Layer: keeper.
 */
#ifndef HF_KEEPER_FLOOD_WEIGHT_H
#define HF_KEEPER_FLOOD_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define FLOOD_NICE 3 /* half the weight; 1 is not enough */
#define FLOOD_RETRY_MS 110

struct keeper;
struct entry;

void flood_weight_set(struct keeper *k, struct entry *e, bool on);
/*
 * The leader may have exited and is about to be reaped. Its pid is still valid, so this is the time
 * to restore the weight of its session, in which other processes may live on.
 */
void flood_weight_on_death(struct keeper *k, struct entry *e);
/* The worker that requested it is dead: restores all weights. */
void flood_weight_end(struct keeper *k);
/* Retries changes that the kernel deferred, from k->flood_retry_at_ms on. */
void flood_weight_step(struct keeper *k, uint64_t now_ms);

/* The line of /proc/PID/autogroup: "/autogroup-7 nice 0". */
bool flood_weight_parse(const char *text, int *nice);

#endif
