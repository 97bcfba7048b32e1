/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_safecut.c - two bytes say where to cut, the rest is the output
 *
 * When the output is held from its start and is ASCII, the cut is compared with a second
 * reader of the same grammar, written the other way round: not a state for each byte but the
 * length of each token. What else ends or begins a sequence is the parser's to say (vt.h): the cut
 * is then compared with all places where the parser, fed byte by byte, has nothing open.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/journal/safecut.h"
#include "term/vt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static size_t character_length(const uint8_t *p, size_t len)
{
    size_t want = p[0] < 0xC2 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF5 ? 4 : 1;
    size_t n = 1;

    while (n < want && n < len && (p[n] & 0xC0) == 0x80)
        n++;
    return n == len && n < want ? 0 : n;
}

static size_t sequence_length(const uint8_t *p, size_t len);

/* n bytes and whatever broke the sequence off at p[n]; ESC begins another one. */
static size_t broken_off(const uint8_t *p, size_t len, size_t n)
{
    size_t more;

    if (n == len)
        return 0;
    more = p[n] == 0x1B ? sequence_length(p + n, len - n) : character_length(p + n, len - n);
    return more == 0 ? 0 : n + more;
}

static int ends_anything(uint8_t b)
{
    return b == 0x1B || b == 0x18 || b == 0x1A;
}

/* p[0] is ESC. 0: not complete. */
static size_t sequence_length(const uint8_t *p, size_t len)
{
    size_t n = 1;
    int last;

    while (n < len && !ends_anything(p[n]) && (p[n] < 0x20 || p[n] == 0x7F))
        n++; /* controls on the way */
    if (n == len || ends_anything(p[n]))
        return broken_off(p, len, n);
    if (p[n] == 'N' || p[n] == 'O')
        return broken_off(p, len, n + 1);
    if (strchr("]PX^_", p[n]) != NULL) {
        last = p[n] == ']' ? 0x07 : 0x18;
        for (n++; n < len && !ends_anything(p[n]) && p[n] != last; n++)
            ;
        return broken_off(p, len, n);
    }
    if (p[n] != '[' && (p[n] < 0x20 || p[n] >= 0x30))
        return broken_off(p, len, n);
    last = p[n] == '[' ? 0x3F : 0x2F;
    for (n++; n < len && !ends_anything(p[n]) && (p[n] <= last || p[n] == 0x7F); n++)
        ;
    return broken_off(p, len, n);
}

static bool is_ascii(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i] >= 0x80)
            return false;
    return true;
}

static void on_text(void *arg, const char *ascii, size_t len)
{
    (void)arg;
    (void)ascii;
    (void)len;
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    if (id == 'N' || id == 'O')
        *(uint64_t *)arg = v->at;
}

/* The first place at or after want where the parser has nothing open; SIZE_MAX: none. */
static size_t first_closed(const uint8_t *p, size_t len, size_t want)
{
    static const struct vt_ops ops = {.text = on_text, .esc = on_esc, .esc_only = true};
    uint64_t shift = SIZE_MAX;
    struct vt v = {0};

    for (size_t i = 0; i <= len; i++) {
        bool interrupts = i < len && v.state == VT_GROUND && v.need > 0 && (p[i] & 0xC0) != 0x80;

        if (i >= want && (interrupts || !vt_is_open(&v)) && shift != v.at)
            return i;
        if (i < len)
            vt_feed(&v, &ops, &shift, p + i, 1);
    }
    return SIZE_MAX;
}

/* The first border at or after want; SIZE_MAX if the last token is not complete. */
static size_t reference(const uint8_t *p, size_t len, size_t want)
{
    size_t at = 0;

    while (at < want) {
        size_t n =
            p[at] == 0x1B ? sequence_length(p + at, len - at) : character_length(p + at, len - at);

        if (n == 0)
            return SIZE_MAX;
        at += n;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len, want, got, expected;
    const uint8_t *p = data + 2;

    if (size < 2)
        return 0;
    len = size - 2;
    want = (data[0] | (size_t)data[1] << 8) % (len + 1);
    got = safecut_find(p, len, want, false);
    check(got <= len && (got <= want || got - want <= SAFECUT_SKIP_MAX_BYTES));
    check(safecut_forward(p, len) <= len);

    got = safecut_find(p, len, want, true);
    expected = first_closed(p, len, want);
    check(!is_ascii(p, len) || expected == reference(p, len, want));
    check(got <= len && safecut_find(p, len, got, true) == got);
    if (expected == SIZE_MAX)
        check(got <= want || p[got] == 0x1B);
    else if (expected - want < SAFECUT_SKIP_MAX_BYTES)
        check(got == expected);
    return 0;
}
