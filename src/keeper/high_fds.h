/* SPDX-License-Identifier: Apache-2.0 */
/*
 * high_fds.h - keeps long-lived descriptors at high numbers
 *
 * A child starts with the keeper's own descriptor table and gets its own by close_range(HIGH_FD,
 * ~0, CLOSE_RANGE_UNSHARE), which copies only descriptors below HIGH_FD. So starting a process
 * costs the same whether a thousand others run or none, provided that their records, terminals and
 * pipes are above.
 *
 * HIGH_FD is not arbitrary: kernels before 6.11 leave wrong marks for numbers beyond the cut in the
 * copy, unless the cut is at a multiple of 64 * 64, and the new program would then run out of
 * descriptors early. Layer: keeper.
 */
#ifndef HF_KEEPER_HIGH_FDS_H
#define HF_KEEPER_HIGH_FDS_H

#include <stdbool.h>

#define HIGH_FD 4096
/* With fewer processes, copying and closing is faster than waiting for the child's report. */
#define HIGH_FROM_ENTRIES 64

/* Can a child cut its table? False: it gets a full copy, as by fork(2). */
bool high_can_cut(void);
/* Sets close-on-exec; keeps the number if the descriptor limit leaves no room above. */
void high_move(int *fd);

#endif
