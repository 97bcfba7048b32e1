/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_events.h - output as the events `output` and `gap`
 *
 * The id of each event is the offset of the byte behind it. Bytes of a character that is
 * not complete yet are held (three at most) until the rest comes, and the id does not count
 * them. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_OUTPUT_OUTPUT_EVENTS_H
#define HF_DIALECTS_NATIVE_OUTPUT_OUTPUT_EVENTS_H

#include "dialects/native/native_context.h"
#include "engine/process.h"
#include "transport/http.h"

/* Zeroed but for the first two, which are borrowed. */
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
/* What is held will not be completed: it goes as it is. */
void output_events_flush(struct output_events *e);
/* The JSON that stands in the dialect's scratch buffer, as one event. */
void output_events_send(struct output_events *e, const char *event, uint64_t id);

#endif
