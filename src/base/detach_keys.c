/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detach_keys.c - finds the key sequence that means "detach" in typed input. Layer: base.
 */
#include "base/detach_keys.h"

#include <string.h>
#include <strings.h>

/* "ctrl-a", "ctrl-@ [ \ ] ^ _", "DEL", or one visible character. */
static bool parse_key(const char *text, size_t len, char *out)
{
    char c;

    if (len == 1 && text[0] > ' ' && text[0] <= '~') {
        *out = text[0];
        return true;
    }
    if (len == 3 && strncasecmp(text, "DEL", 3) == 0) {
        *out = 127;
        return true;
    }
    if (len != 6 || strncasecmp(text, "ctrl-", 5) != 0)
        return false;
    c = text[5];
    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    if (c < '@' || c > '_')
        return false;
    *out = (char)(c - '@');
    return true;
}

bool detach_keys_parse(struct detach_keys *d, const char *text)
{
    *d = (struct detach_keys){0};
    while (*text != '\0') {
        size_t len = strcspn(text, ",");

        if (d->count >= DETACH_KEYS_MAX || !parse_key(text, len, &d->keys[d->count]))
            return false;
        d->count++;
        text += len;
        if (*text == ',' && *++text == '\0')
            return false;
    }
    return true;
}

/* Keeps the longest suffix of the withheld keys that may still start the sequence; passes on the
 * rest. */
static void pass_on(struct detach_keys *d, struct buf *out)
{
    size_t drop = 1;

    while (drop < d->seen && memcmp(d->keys, d->keys + drop, d->seen - drop) != 0)
        drop++;
    buf_put(out, d->keys, drop);
    d->seen -= drop;
}

bool detach_keys_feed(struct detach_keys *d, const char *bytes, size_t len, struct buf *out)
{
    size_t i;

    for (i = 0; i < len; i++) {
        while (d->seen > 0 && bytes[i] != d->keys[d->seen])
            pass_on(d, out);
        if (d->count == 0 || bytes[i] != d->keys[d->seen]) {
            buf_putc(out, bytes[i]);
            continue;
        }
        if (++d->seen == d->count) {
            d->seen = 0;
            return true;
        }
    }
    return false;
}
