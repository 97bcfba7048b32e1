/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_events.h - output as the events `output` and `gap`
 *
 * The id of each event is the offset after its last byte. Bytes of an incomplete character are held
 * back (three at most) until the rest arrives, and the id does not count them. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_OUTPUT_OUTPUT_EVENTS_H
#define HF_DIALECTS_NATIVE_OUTPUT_OUTPUT_EVENTS_H

#include "dialects/native/native_context.h"
#include "engine/process.h"
#include "transport/http.h"

/* Zeroed except for the first two members, which are borrowed. */
struct output_events {
    struct native *native;
    struct http_stream *stream;
    uint64_t held_at;
    enum stream held_stream;
    uint8_t held_len;
    char held[4];
};

void output_events_bytes(struct output_events *e, const struct slice *s);
void output_events_gap(struct output_events *e, uint64_t from, uint64_t to);
/* The bytes held back will not be completed: sends them as they are. */
void output_events_flush(struct output_events *e);
/* The JSON in the dialect's scratch buffer, as one event. */
void output_events_send(struct output_events *e, const char *event, uint64_t id);

#endif
