/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_spdy.c - SPDY frames, cut in pieces by the input's first byte
 *
 * However they are cut and however slowly data is taken, the same frames come out: the bytes of
 * data are added up for both ways and compared.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialects/kubernetes/spdy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

struct seen {
    uint64_t events, bytes, sum;
    size_t room;
};

static void on_syn(void *arg, uint32_t id, const struct spdy_headers *h)
{
    struct seen *s = arg;
    const char *type = spdy_header(h, "streamtype");

    check(id <= 0x7fffffff);
    s->events++;
    s->sum += id + (type != NULL ? strlen(type) : 0);
}

static size_t on_data(void *arg, uint32_t id, const char *bytes, size_t len, bool fin)
{
    struct seen *s = arg;
    size_t n = len < s->room ? len : s->room;

    for (size_t i = 0; i < n; i++)
        s->sum += (uint8_t)bytes[i] * (uint64_t)(id + 1);
    s->bytes += n;
    s->events += fin && n == len;
    return n;
}

static void on_id(void *arg, uint32_t id)
{
    struct seen *s = arg;

    s->events++;
    s->sum += id;
}

static void on_goaway(void *arg)
{
    ((struct seen *)arg)->events++;
}

static const struct spdy_ops ops = {
    .syn = on_syn, .data = on_data, .rst = on_id, .ping = on_id, .goaway = on_goaway};

/* False: it was refused, after which nothing is said of what was seen. */
static bool run(const char *bytes, size_t len, size_t piece, size_t room, struct seen *s)
{
    struct spdy *spdy = spdy_new();
    ssize_t n = 0;

    *s = (struct seen){.room = room};
    for (size_t at = 0; at < len && n >= 0; at += n > 0 ? (size_t)n : 0) {
        size_t left = len - at;

        n = spdy_feed(spdy, bytes + at, left < piece ? left : piece, &ops, s);
        check(n != 0);
        check(n <= (ssize_t)left);
    }
    spdy_free(spdy);
    return n >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole, cut;
    bool a, b;

    if (size == 0)
        return 0;
    a = run((const char *)data + 1, size - 1, size, SIZE_MAX, &whole);
    b = run((const char *)data + 1, size - 1, 1 + data[0] % 16, 1 + data[0] / 16, &cut);
    check(a == b);
    check(!a || (whole.bytes == cut.bytes && whole.sum == cut.sum && whole.events == cut.events));
    return 0;
}
