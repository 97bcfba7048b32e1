/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_utf16.c - counting in UTF-16 units against the decoder of the WHATWG, byte by byte
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf16.h"

#define MOST 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

/* units[i] is the number of units in front of the border at i; -1: it is none. */
struct model {
    int64_t units[MOST + 1];
    size_t end; /* the last border when more may follow */
};

/* The "utf-8 decoder" of the Encoding standard, as it is written there. */
static void model_make(struct model *m, const uint8_t *p, size_t len)
{
    unsigned seen = 0, need = 0, lo = 0x80, hi = 0xbf;
    int64_t units = 0;

    memset(m->units, -1, sizeof m->units);
    m->units[0] = 0;
    for (size_t i = 0; i < len;) {
        uint8_t c = p[i];

        if (need == 0) {
            i++;
            lo = 0x80, hi = 0xbf, seen = 0;
            if (c >= 0xc2 && c <= 0xdf)
                need = 1;
            else if (c >= 0xe0 && c <= 0xef)
                need = 2, lo = c == 0xe0 ? 0xa0 : lo, hi = c == 0xed ? 0x9f : hi;
            else if (c >= 0xf0 && c <= 0xf4)
                need = 3, lo = c == 0xf0 ? 0x90 : lo, hi = c == 0xf4 ? 0x8f : hi;
            else
                m->units[i] = ++units;
        } else if (c < lo || c > hi) {
            need = 0; /* one U+FFFD, and this byte again */
            m->units[i] = ++units;
        } else {
            i++;
            lo = 0x80, hi = 0xbf;
            if (++seen == need) {
                units += need == 3 ? 2 : 1;
                m->units[i] = units;
                need = 0;
            }
        }
    }
    for (m->end = len; m->units[m->end] < 0;)
        m->end--;
    if (m->end < len)
        m->units[len] = units + 1;
}

static void check_count(const struct model *m, const uint8_t *p, size_t len)
{
    uint64_t units, more;
    size_t n = utf16_count(p, len, false, &units);

    check(n == m->end && (int64_t)units == m->units[n]);
    check(utf16_count(p, len, true, &units) == len && (int64_t)units == m->units[len]);
    for (size_t cut = 0; cut <= len; cut++) { /* however it is cut, the borders are the same */
        n = utf16_count(p, cut, false, &units);
        check(n <= cut && cut - n <= UTF8_OPEN_MAX && (int64_t)units == m->units[n]);
        check(n + utf16_count(p + n, len - n, false, &more) == m->end);
        check((int64_t)(units + more) == m->units[m->end]);
    }
}

static void check_places(const struct model *m, const uint8_t *p, size_t len)
{
    for (size_t at = 1; at < len; at++) {
        size_t n = utf8_to_border(p + at, len - at);

        check(n <= UTF8_OPEN_MAX);
        check(at + n == len || m->units[at + n] >= 0);
    }
    for (int64_t most = 0; most <= m->units[m->end]; most++) {
        uint64_t units;
        size_t n = utf16_fit(p, len, (uint64_t)most, &units);

        check(m->units[n] == (int64_t)units && most - (int64_t)units <= 1 &&
              most >= (int64_t)units);
    }
}

static void check_repair(const struct model *m, const uint8_t *p, size_t len)
{
    struct buf out = {0};
    uint64_t units;

    check(utf8_repair(&out, p, len, false) == m->end);
    check(utf8_is_valid(buf_data(&out), out.len));
    check(utf16_count(buf_data(&out), out.len, true, &units) == out.len);
    check((int64_t)units == m->units[m->end]);
    if (utf8_is_valid(p, len))
        check(out.len == len && (len == 0 || memcmp(buf_data(&out), p, len) == 0));
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model m;

    if (size > MOST)
        return 0;
    model_make(&m, data, size);
    check_count(&m, data, size);
    check_places(&m, data, size);
    check_repair(&m, data, size);
    return 0;
}
