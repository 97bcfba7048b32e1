/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receipt.c - how much of the output a viewer has certainly received. Layer: engine.
 */
#include "engine/stream/receipt.h"

#include <string.h>

void receipt_reset(struct receipt *r, uint64_t at)
{
    *r = (struct receipt){.at = at};
}

/* With all marks in use, the newest is replaced: the receipt then advances in larger steps. */
void receipt_note(struct receipt *r, uint64_t sent, uint64_t at)
{
    size_t i = r->count < RECEIPT_MARKS ? r->count++ : RECEIPT_MARKS - 1;

    r->mark[i] = (struct receipt_mark){sent, at};
}

bool receipt_confirm(struct receipt *r, uint64_t confirmed)
{
    size_t n = 0;

    while (n < r->count && r->mark[n].sent <= confirmed)
        n++;
    if (n == 0)
        return false;
    r->at = r->mark[n - 1].at;
    r->count -= n;
    memmove(r->mark, r->mark + n, r->count * sizeof *r->mark);
    return true;
}

uint64_t receipt_noted(const struct receipt *r)
{
    return r->count > 0 ? r->mark[r->count - 1].at : r->at;
}
