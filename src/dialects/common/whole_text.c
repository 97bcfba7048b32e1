/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_text.c - keeps characters whole when output comes in pieces. Layer: dialects.
 */
#include "dialects/common/whole_text.h"

#include <string.h>

#include "base/text.h"

void whole_text_feed(struct whole_text *t, bool is_err, const char *bytes, size_t len,
                     struct buf *out)
{
    size_t start = out->len, open;
    const char *all;

    buf_put(out, t->open[is_err], t->len[is_err]);
    buf_put(out, bytes, len);
    all = buf_data(out) + start;
    open = utf8_open_tail(all, out->len - start);
    if (open > 0)
        memcpy(t->open[is_err], all + out->len - start - open, open);
    t->len[is_err] = (unsigned char)open;
    out->len -= open;
}

void whole_text_end(struct whole_text *t, bool is_err, struct buf *out)
{
    buf_put(out, t->open[is_err], t->len[is_err]);
    t->len[is_err] = 0;
}
