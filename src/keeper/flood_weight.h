/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood_weight.h - a flood gives way to those who carry it
 *
 * A terminal's bytes are carried by a thread of the kernel, which the writer wakes with every piece.
 * Where the scheduler shares CPUs among sessions (autogroups: a machine whose processes are in
 * no cpu cgroup, as in a microVM), the writer's session has a whole CPU's weight and
 * is not interrupted for that thread: it fills the small buffer and sleeps, the
 * thread empties it and sleeps, and every piece costs two CPUs waking each other. With a
 * little less weight for the session the thread goes first, nobody sleeps, and
 * the same flood is up to 1.8 times as fast. Pipes gain some percent.
 *
 * The weight counts only where CPUs are wanted by several, is that of the session
 * (nice(2) of its processes stays as it is), and is given back when the flood is over. A
 * session whose weight somebody else has set keeps it. Layer: keeper.
 */
#ifndef HF_KEEPER_FLOOD_WEIGHT_H
#define HF_KEEPER_FLOOD_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define EASE_NICE 3 /* half the weight; 1 is not enough */
#define EASE_RETRY_MS 110

struct keeper;
struct entry;

void flood_weight_set(struct keeper *k, struct entry *e, bool on);
/*
 * The leader may have exited and is about to be reaped. Its pid is still its own, so now its session,
 * in which others may live on, gets its weight back.
 */
void flood_weight_on_death(struct keeper *k, struct entry *e);
/* The one who asked for it is gone: all are as they were. */
void flood_weight_end(struct keeper *k);
/* What the kernel did not take at once, from k->ease_at_ms on. */
void flood_weight_step(struct keeper *k, uint64_t now_ms);

/* The line of /proc/PID/autogroup: "/autogroup-7 nice 0". */
bool flood_weight_parse(const char *text, int *nice);

#endif
