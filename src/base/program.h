/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the pages of our own program. Layer: base.
 */
#ifndef HF_BASE_PROGRAM_H
#define HF_BASE_PROGRAM_H

/*
 * Unmaps what is only read: code and constants. The kernel maps 16 pages
 * around each one that is touched, so after a start nearly all of the program is counted as
 * ours. What is needed later comes back from the page cache, one cheap fault for 64 KiB.
 */
void program_give_back(void);

#endif
