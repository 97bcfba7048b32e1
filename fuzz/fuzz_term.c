/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_term.c - two bytes of size, the rest is a terminal's output
 *
 * However the output is cut, the screen is the same; a snapshot of it can be
 * read; resizes in the middle of it break nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "term/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static struct buf picture(struct term *t)
{
    struct buf b = {0};

    term_settle(t);
    snapshot_write(&b, t, NULL);
    return b;
}

static void same_in_pieces(int rows, int cols, const uint8_t *data, size_t size)
{
    struct term *a = term_new(rows, cols), *b = term_new(rows, cols), *c = term_new(rows, cols);
    struct buf pa, pb;
    size_t i;

    term_feed(a, data, size);
    for (i = 0; i < size; i++)
        term_feed(b, data + i, 1);
    pa = picture(a);
    pb = picture(b);
    check(pa.len == pb.len && memcmp(buf_data(&pa), buf_data(&pb), pa.len) == 0);
    term_feed(c, buf_data(&pa), pa.len);
    check(!vt_is_open(&c->vt));
    buf_fini(&pa);
    buf_fini(&pb);
    term_free(a);
    term_free(b);
    term_free(c);
}

static void resized(int rows, int cols, const uint8_t *data, size_t size)
{
    struct term *t = term_new(rows, cols);
    struct buf p;
    size_t i, step = size / 5 + 1;
    int turn = 0;

    for (i = 0; i < size; i += step, turn++) {
        term_feed(t, data + i, size - i < step ? size - i : step);
        term_resize(t, (rows + turn * 7) % 30 + 1, (cols + turn * 31) % 100 + 1);
    }
    p = picture(t);
    buf_fini(&p);
    term_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rows, cols;

    if (size < 2 || size > 4096)
        return 0;
    rows = data[0] % 40 + 1;
    cols = data[1] % 120 + 1;
    same_in_pieces(rows, cols, data + 2, size - 2);
    resized(rows, cols, data + 2, size - 2);
    return 0;
}
