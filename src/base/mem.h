/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - allocation that ends the program instead of failing
 *
 * For small sizes that we choose. Sizes that a peer chooses use malloc() and have a
 * named limit. Layer: base.
 */
#ifndef HF_BASE_MEM_H
#define HF_BASE_MEM_H

#include <stddef.h>

__attribute__((noreturn)) void hf_out_of_memory(size_t size);
void *hf_xalloc(size_t size); /* zeroed */
void *hf_xrealloc(void *p, size_t size);
char *hf_xstrdup(const char *s); /* NULL returns NULL */
char *hf_xstrndup(const char *s, size_t len);
void hf_wipe(void *p, size_t len); /* not optimised away */

/* Memory kept for reuse must not be touched in the meantime: AddressSanitizer reports any
 * access. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define mem_hide(p, len) __asan_poison_memory_region(p, len)
#define mem_show(p, len) __asan_unpoison_memory_region(p, len)
#else
#define mem_hide(p, len) ((void)(p), (void)(len))
#define mem_show(p, len) ((void)(p), (void)(len))
#endif

static inline void hf_autofree_fn(void *p);
#define hf_autofree __attribute__((cleanup(hf_autofree_fn)))

#include <stdlib.h>
#include <string.h>
static inline void hf_autofree_fn(void *p)
{
    void *q;

    memcpy(&q, p, sizeof q);
    free(q);
}

#endif
