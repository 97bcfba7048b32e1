/* SPDX-License-Identifier: Apache-2.0 */
/*
 * high_fds.h - what is held for long is held at high numbers
 *
 * A child is born with the keeper's own table of descriptors and makes one of
 * its own by close_range(HIGH_FD, ~0, CLOSE_RANGE_UNSHARE), which copies what
 * is below HIGH_FD and nothing else. So starting a process costs the same
 * whether a thousand others live or none, provided that their records,
 * terminals and pipes are above.
 *
 * HIGH_FD is not arbitrary: kernels before 6.11 leave wrong marks for numbers
 * beyond the cut in the copy, unless the cut is at a multiple of 64 * 64, and
 * the new program would then run out of descriptors early. Layer: keeper.
 */
#ifndef HF_KEEPER_HIGH_FDS_H
#define HF_KEEPER_HIGH_FDS_H

#include <stdbool.h>

#define HIGH_FD 4096
/* Fewer processes are copied and closed faster than the child can say that it has cut. */
#define HIGH_FROM_ENTRIES 64

/* Can a child cut its table so? False: it gets a copy of all of it, as by fork(2). */
bool high_can_cut(void);
/* Close-on-exec; stays where it is when the limit of descriptors leaves no room above. */
void high_move(int *fd);

#endif
