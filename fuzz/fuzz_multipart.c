/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_multipart.c - forms: however they are cut, the same parts come out
 *
 * Up to the first newline it is a Content-Type, behind it the body.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "dialects/common/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void note(const struct multipart *m, enum multipart_event e, struct buf *out)
{
    if (e == MULTIPART_DATA) {
        buf_put(out, m->data, m->data_len);
        return;
    }
    if (e == MULTIPART_MORE)
        return;
    buf_putc(out, (char)('0' + e));
    if (e == MULTIPART_PART)
        buf_printf(out, "%s|%s|", m->name, m->filename);
}

static void run(const char *type, const char *body, size_t len, size_t piece, struct buf *out)
{
    struct multipart m;
    size_t at = 0, used;

    if (!multipart_init(&m, type))
        return;
    while (at < len) {
        size_t n = len - at < piece ? len - at : piece;
        enum multipart_event e = multipart_feed(&m, body + at, n, &used);

        check(used <= n && (used > 0 || e == MULTIPART_DATA));
        check(strlen(m.filename) < sizeof m.filename);
        note(&m, e, out);
        at += used;
        if (e == MULTIPART_ERROR)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *end = memchr(data, '\n', size);
    struct buf whole = {0}, cut = {0};
    char type[200];
    size_t n;

    if (end == NULL)
        return 0;
    n = (size_t)(end - (const char *)data);
    n = n < sizeof type - 1 ? n : sizeof type - 1;
    memcpy(type, data, n);
    type[n] = '\0';
    size -= (size_t)(end + 1 - (const char *)data);
    run(type, end + 1, size, size + 1, &whole);
    run(type, end + 1, size, 1, &cut);
    check(whole.len == cut.len &&
          (whole.len == 0 || memcmp(buf_data(&whole), buf_data(&cut), whole.len) == 0));
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
