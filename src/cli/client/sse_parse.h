/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sse_parse.h - parses server-sent events from a byte stream
 *
 * Pure: bytes in, whole events out. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_SSE_PARSE_H
#define HF_CLI_CLIENT_SSE_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct sse_parse {
    struct buf line, name, data, id;
    bool has_data, after_cr;
    size_t max_bytes; /* of one event; 0: LIMIT_CLIENT_EVENT_BYTES */
    bool failed;      /* an event was larger */
    /* One event; the strings are valid until the next byte is fed. */
    void (*on_event)(void *arg, const char *name, const char *data, const char *id);
    void *arg;
};

void sse_parse_feed(struct sse_parse *e, const char *bytes, size_t len);
void sse_parse_fini(struct sse_parse *e);

#endif
