/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - memory of our own program image. Layer: base.
 */
#ifndef HF_BASE_PROGRAM_H
#define HF_BASE_PROGRAM_H

/*
 * Drops the pages of code and constants. The kernel maps 16 pages around each page fault, so after
 * startup nearly the whole program counts as resident. Pages needed later come back from the page
 * cache, one cheap fault per 64 KiB.
 */
void program_release_pages(void);

#endif
