/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - memory of our own program: its image and its heap. Layer: base.
 */
#ifndef HF_BASE_PROGRAM_H
#define HF_BASE_PROGRAM_H

/*
 * Drops the pages of code and constants. The kernel maps 16 pages around each page fault, so after
 * startup nearly the whole program counts as resident. Pages needed later come back from the page
 * cache, one cheap fault per 64 KiB.
 */
void program_release_pages(void);
/* For one thread with many small objects: one arena, and memory is returned early. */
void program_tune_heap(void);
/* A forked child exits by _exit(2), which a sanitizer does not see. Nothing in other builds. */
void program_check_leaks(void);

#endif
