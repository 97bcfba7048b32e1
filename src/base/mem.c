/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.c - allocation that ends the program instead of failing. Layer: base.
 */
#include "base/mem.h"

#include <stdio.h>

void hf_out_of_memory(size_t size)
{
    fprintf(stderr, "holdfast: out of memory (%zu bytes)\n", size);
    abort();
}

static void *mem_check(void *p, size_t size)
{
    if (p == NULL && size > 0)
        hf_out_of_memory(size);
    return p;
}

void *hf_xalloc(size_t size)
{
    return mem_check(calloc(1, size), size);
}

void *hf_xrealloc(void *p, size_t size)
{
    return mem_check(realloc(p, size), size);
}

char *hf_xstrdup(const char *s)
{
    return s == NULL ? NULL : hf_xstrndup(s, strlen(s));
}

char *hf_xstrndup(const char *s, size_t len)
{
    char *copy = mem_check(malloc(len + 1), len + 1);

    if (len > 0)
        memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void hf_wipe(void *p, size_t len)
{
    if (len > 0)
        explicit_bzero(p, len);
}
