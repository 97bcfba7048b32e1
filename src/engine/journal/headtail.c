/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headtail.c - keeps the beginning and the end of an output. Layer: engine.
 */
#include "engine/journal/headtail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define FIRST_BYTES 1024

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

void headtail_init(struct headtail *h, size_t max_bytes)
{
    *h = (struct headtail){0};
    h->tail.max = max_bytes / 2;
    h->head.max = max_bytes - h->tail.max;
}

void headtail_fini(struct headtail *h)
{
    free(h->head.mem);
    free(h->tail.mem);
    *h = (struct headtail){0};
}

/* Makes room for up to `want` bytes in total; without memory, the current capacity becomes the
 * maximum. */
static void part_grow(struct headtail_part *p, size_t want)
{
    size_t cap = p->cap ? p->cap : FIRST_BYTES;
    char *mem;

    if (want <= p->cap)
        return;
    while (cap < want)
        cap *= 2;
    cap = min_size(cap, p->max);
    mem = realloc(p->mem, cap);
    if (mem == NULL) {
        p->max = p->cap;
        return;
    }
    p->mem = mem;
    p->cap = cap;
}

/* Appends what fits and returns its length. */
static size_t part_append(struct headtail_part *p, const char *bytes, size_t len)
{
    size_t n = min_size(len, p->max - p->len);

    if (n == 0)
        return 0;
    part_grow(p, p->len + n);
    n = min_size(len, p->max - p->len); /* max may have shrunk */
    if (n == 0)
        return 0;
    memcpy(p->mem + p->len, bytes, n);
    p->len += n;
    return n;
}

/* The part is full: each byte overwrites the oldest. */
static void part_overwrite(struct headtail_part *p, const char *bytes, size_t len)
{
    size_t n;

    if (p->len == 0)
        return;
    if (len > p->len) {
        bytes += len - p->len;
        len = p->len;
    }
    n = min_size(len, p->len - p->next);
    memcpy(p->mem + p->next, bytes, n);
    memcpy(p->mem, bytes + n, len - n);
    p->next = (p->next + len) % p->len;
}

void headtail_feed(struct headtail *h, const void *bytes, size_t len)
{
    const char *p = bytes;
    size_t n;

    h->total += len;
    n = part_append(&h->head, p, len);
    p += n;
    len -= n;
    n = part_append(&h->tail, p, len);
    if (len > n)
        part_overwrite(&h->tail, p + n, len - n);
}

void headtail_skip(struct headtail *h, uint64_t len)
{
    if (len == 0)
        return;
    h->total += len;
    h->tail.max += h->head.max - h->head.len;
    h->head.max = h->head.len;
    h->tail.len = h->tail.next = 0;
}

static void reverse(char *from, char *to)
{
    for (; from < to && from < --to; from++) {
        char c = *from;

        *from = *to;
        *to = c;
    }
}

/* Rotates the ring in place so that the oldest byte comes first. */
static void part_straighten(struct headtail_part *p)
{
    if (p->next == 0)
        return;
    reverse(p->mem, p->mem + p->next);
    reverse(p->mem + p->next, p->mem + p->len);
    reverse(p->mem, p->mem + p->len);
    p->next = 0;
}

/* How many bytes at the front may be the rest of a character that was cut. */
static size_t stray_front(const char *bytes, size_t len)
{
    size_t n = 0;

    while (n < 3 && n < len && ((unsigned char)bytes[n] & 0xC0) == 0x80)
        n++;
    return n;
}

void headtail_peek(struct headtail *h, struct headtail_view *out)
{
    size_t stray;

    part_straighten(&h->tail);
    *out = (struct headtail_view){
        .head = h->head.mem, .tail = h->tail.mem, .head_len = h->head.len, .tail_len = h->tail.len};
    if (h->total > out->head_len + out->tail_len) {
        out->head_len -= utf8_open_tail(out->head, out->head_len);
        stray = stray_front(out->tail, out->tail_len);
        if (stray > 0) /* an empty tail has no address to add to */
            out->tail += stray;
        out->tail_len -= stray;
    }
    out->omitted = h->total - out->head_len - out->tail_len;
}
