/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detach_keys.h - finds the keys that mean "leave" in what is typed
 *
 * "ctrl-p,ctrl-q" as docker writes it. Keys that begin the sequence are kept
 * back until the next one decides, and passed on if it was something else. Pure. Layer: base.
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
    size_t seen;  /* of them, kept back */
};

/* "" means none. False: not well formed. */
bool detach_keys_parse(struct detach_keys *d, const char *text);
/* Appends to `out` what is to be passed on. True: the keys were typed; what follows is dropped. */
bool detach_keys_feed(struct detach_keys *d, const char *bytes, size_t len, struct buf *out);

#endif
