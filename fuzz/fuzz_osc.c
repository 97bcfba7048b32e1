/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_osc.c - output with titles, directories, marks and bells in it
 *
 * Fed whole, byte by byte, and with a start anew after every byte, the events must be the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "term/osc.h"

#define BASE 1000
#define ANEW_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct digest {
    uint64_t sum, count, end;
};

static void check(int ok)
{
    if (!ok)
        abort();
}

static void note(void *arg, const struct osc_event *e)
{
    struct digest *d = arg;

    check(e->start >= BASE && e->start < e->end && e->end > d->end);
    if (e->kind == OSC_TITLE || e->kind == OSC_CWD) {
        check(e->len <= OSC_TEXT_MAX && strlen(e->text) == e->len);
        d->sum = d->sum * 31 + crypto_hash(e->text, e->len);
    }
    if (e->kind == OSC_CWD)
        check(e->text[0] == '/');
    if (e->kind == OSC_MARK)
        check(e->mark >= 'A' && e->mark <= 'D' && e->exit_code >= -1 && e->exit_code <= 255);
    d->sum = d->sum * 31 + (uint64_t)e->kind * 7 + e->start * 3 + e->end;
    d->count++;
    d->end = e->end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest whole = {0}, bytes = {0}, anew = {0};
    struct osc o;

    osc_init(&o, BASE);
    osc_feed(&o, data, size, note, &whole);
    check(o.vt.at == BASE + size && osc_resume_at(&o) <= o.vt.at);
    osc_init(&o, BASE);
    for (size_t i = 0; i < size; i++)
        osc_feed(&o, data + i, 1, note, &bytes);
    check(whole.sum == bytes.sum && whole.count == bytes.count);
    osc_init(&o, BASE);
    for (size_t i = 0; i < size && size <= ANEW_MAX; i++) {
        size_t from;

        osc_feed(&o, data + i, 1, note, &anew);
        from = (size_t)(osc_resume_at(&o) - BASE);
        osc_init(&o, BASE + from);
        osc_feed(&o, data + from, i + 1 - from, note, &anew);
    }
    if (size <= ANEW_MAX)
        check(whole.sum == anew.sum && whole.count == anew.count);
    return 0;
}
