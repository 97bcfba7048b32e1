/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growable byte buffer
 *
 * {0} is a valid empty buffer. Consuming from the front is cheap (an offset). A large buffer frees
 * its memory when it becomes empty. Out of memory ends the program for small sizes; use
 * buf_reserve() for sizes that a peer chose. Layer: base.
 */
#ifndef HF_BASE_BUF_H
#define HF_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct buf {
    char *mem;
    size_t off, len, cap; /* bytes are mem[off .. off+len) */
};

void buf_fini(struct buf *b); /* frees; b is {0} after */
/* For locals that start as {0}: freed at the end of the scope. */
#define hf_autobuf __attribute__((cleanup(buf_fini)))
int buf_reserve(struct buf *b, size_t more); /* 0 or -ENOMEM */
void buf_put(struct buf *b, const void *bytes, size_t len);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_put_quoted(struct buf *b, const char *s); /* as one shell word: 'it'\''s' */
void buf_drop(struct buf *b, size_t len);          /* from the front */
void buf_clear(struct buf *b);                     /* keeps small memory */
char *buf_data(const struct buf *b);               /* first byte; may be NULL when empty */
/* NUL-terminates (not counted in len) and returns the data. */
const char *buf_cstr(struct buf *b);
void buf_wipe(struct buf *b);  /* zero, then free: secrets */
void buf_scrub(struct buf *b); /* the same, but keeps small memory */

static inline void buf_puts(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s)); /* known for a literal */
}

#endif
