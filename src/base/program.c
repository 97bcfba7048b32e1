/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - memory of our own program: its image and its heap. Layer: base.
 */
#include "base/program.h"

#include <link.h>
#include <malloc.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char __executable_start; /* set by the linker */

static void drop_pages(uintptr_t from, uintptr_t to, uintptr_t page)
{
    from = (from + page - 1) & ~(page - 1);
    to &= ~(page - 1);
    if (from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED); /* best effort */
}

void program_release_pages(void)
{
    const ElfW(Phdr) *h = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM), i;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = 0;

    for (i = count; i-- > 0;)
        if (h[i].p_type == PT_LOAD) /* the first one has the lowest address */
            base = (uintptr_t)&__executable_start - h[i].p_vaddr;
    for (i = 0; i < count; i++)
        if (h[i].p_type == PT_LOAD && !(h[i].p_flags & PF_W))
            drop_pages(base + h[i].p_vaddr, base + h[i].p_vaddr + h[i].p_filesz, page);
}

void program_tune_heap(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

void program_check_leaks(void)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check();
#endif
}
