/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detach_keys.h - finds the key sequence that means "detach" in typed input
 *
 * The syntax is docker's: "ctrl-p,ctrl-q". Keys that start the sequence are withheld until the next
 * one decides, and passed on if that one does not match. Pure. Layer: base.
 */
#ifndef HF_BASE_DETACH_KEYS_H
#define HF_BASE_DETACH_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define DETACH_KEYS_MAX 8
#define DETACH_KEYS_DEFAULT "ctrl-p,ctrl-q"

struct detach_keys {
    char keys[DETACH_KEYS_MAX];
    size_t count; /* 0: there are none */
    size_t seen;  /* matched so far, and withheld */
};

/* "" means none. False: malformed. */
bool detach_keys_parse(struct detach_keys *d, const char *text);
/* Appends to `out` the bytes to pass on. True: the keys were typed; the rest of the input is
 * dropped. */
bool detach_keys_feed(struct detach_keys *d, const char *bytes, size_t len, struct buf *out);

#endif
