/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.c - a growable byte buffer. Layer: base.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUF_MIN_BYTES 128
/* An idle connection keeps at most this much; a viewer's budget is 4 KiB in all. */
#define BUF_KEEP_BYTES 1024

void buf_fini(struct buf *b)
{
    free(b->mem);
    *b = (struct buf){0};
}

/* Moves the bytes to new memory of at least `need`; false if there is none. */
static bool buf_grow(struct buf *b, size_t need)
{
    size_t cap = b->cap < BUF_MIN_BYTES ? BUF_MIN_BYTES : b->cap;
    char *mem;

    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    if (b->off == 0) {
        mem = realloc(b->mem, cap);
        if (mem == NULL)
            return false;
    } else {
        mem = malloc(cap);
        if (mem == NULL)
            return false;
        memcpy(mem, b->mem + b->off, b->len);
        free(b->mem);
    }
    b->mem = mem;
    b->cap = cap;
    b->off = 0;
    return true;
}

int buf_reserve(struct buf *b, size_t more)
{
    if (b->cap - b->off - b->len >= more)
        return 0;
    if (more > SIZE_MAX - b->len)
        return -ENOMEM;
    /* Moving the bytes down costs no more than what was dropped, so the total stays linear. */
    if (b->off >= b->len && b->cap - b->len >= more) {
        memmove(b->mem, b->mem + b->off, b->len);
        b->off = 0;
        return 0;
    }
    return buf_grow(b, b->len + more) ? 0 : -ENOMEM;
}

static void buf_need(struct buf *b, size_t more)
{
    if (buf_reserve(b, more) < 0)
        hf_out_of_memory(more);
}

/* Usually there is room, and then it costs nothing. */
static inline void buf_want(struct buf *b, size_t more)
{
    if (b->cap - b->off - b->len < more)
        buf_need(b, more);
}

void buf_put(struct buf *b, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    buf_want(b, len);
    memcpy(b->mem + b->off + b->len, bytes, len);
    b->len += len;
}

void buf_putc(struct buf *b, char c)
{
    buf_want(b, 1);
    b->mem[b->off + b->len++] = c;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    int len;

    buf_want(b, 64);
    va_start(ap, fmt);
    len = vsnprintf(b->mem + b->off + b->len, b->cap - b->off - b->len, fmt, ap);
    va_end(ap);
    if (len < 0)
        abort();
    if ((size_t)len >= b->cap - b->off - b->len) {
        buf_want(b, (size_t)len + 1);
        va_start(ap, fmt);
        vsnprintf(b->mem + b->off + b->len, (size_t)len + 1, fmt, ap);
        va_end(ap);
    }
    b->len += (size_t)len;
}

void buf_put_quoted(struct buf *b, const char *s)
{
    const char *quote;

    buf_putc(b, '\'');
    while ((quote = strchr(s, '\'')) != NULL) {
        buf_put(b, s, (size_t)(quote - s));
        buf_puts(b, "'\\''");
        s = quote + 1;
    }
    buf_puts(b, s);
    buf_putc(b, '\'');
}

void buf_drop(struct buf *b, size_t len)
{
    if (len >= b->len) {
        buf_clear(b);
        return;
    }
    b->off += len;
    b->len -= len;
}

void buf_clear(struct buf *b)
{
    if (b->cap > BUF_KEEP_BYTES)
        buf_fini(b);
    b->off = b->len = 0;
}

char *buf_data(const struct buf *b)
{
    return b->mem == NULL ? NULL : b->mem + b->off;
}

const char *buf_cstr(struct buf *b)
{
    buf_want(b, 1);
    b->mem[b->off + b->len] = '\0';
    return b->mem + b->off;
}

void buf_wipe(struct buf *b)
{
    if (b->mem != NULL)
        hf_wipe(b->mem, b->cap);
    buf_fini(b);
}

void buf_scrub(struct buf *b)
{
    if (b->mem != NULL)
        hf_wipe(b->mem, b->off + b->len);
    buf_clear(b);
}
