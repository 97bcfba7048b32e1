/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_in.h - server-sent events out of a stream of bytes
 *
 * Pure: bytes in, whole events out. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_EVENTS_IN_H
#define HF_CLI_CLIENT_EVENTS_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct events_in {
    struct buf line, name, data, id;
    bool has_data, after_cr;
    bool failed; /* an event larger than LIMIT_CLIENT_EVENT_BYTES */
    /* One event; the strings end with NUL and are good until the next byte is fed. */
    void (*on_event)(void *arg, const char *name, const char *data, const char *id);
    void *arg;
};

void events_in_feed(struct events_in *e, const char *bytes, size_t len);
void events_in_fini(struct events_in *e);

#endif
