/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asciicast.h - writes asciicast v2: a header line, then one line per event
 *
 * Input times are wall clock, output times seconds since the beginning; they never decrease,
 * whatever the clock did. A character that is split over two pieces of output is held back (three
 * bytes at most) until the rest arrives. Bytes that are not UTF-8 become U+FFFD, one for each
 * maximal piece, as in asciinema's own recorder. Output of pipes gets the carriage returns that a
 * terminal would have put before its line feeds: a player is a terminal.
 *
 * Pure: bytes in, bytes appended to a buffer. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_OUTPUT_ASCIICAST_H
#define HF_DIALECTS_NATIVE_OUTPUT_ASCIICAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct asciicast {
    struct buf *out;  /* borrowed: receives the lines */
    struct buf *text; /* borrowed: free between two calls */
    int64_t base_ms;  /* wall clock at second 0 */
    int64_t last_ms;  /* time of the last event, since base_ms */
    uint16_t rows, cols;
    bool cook;   /* line feeds get carriage returns */
    bool cr;     /* the last byte was a carriage return */
    int8_t lane; /* stream of the pending bytes */
    uint8_t held_len;
    char held[4];
};

struct asciicast_head {
    const char *title, *command; /* NULL: omitted */
};

/* The caller sets base_ms, rows, cols, cook and the buffers first. */
void asciicast_begin(struct asciicast *a, const struct asciicast_head *h);
/* Bytes of another lane do not complete a character. */
void asciicast_output(struct asciicast *a, int64_t time_ms, int8_t lane, const char *bytes,
                      size_t len);
/* No effect if the size is the same. */
void asciicast_resize(struct asciicast *a, int64_t time_ms, uint16_t rows, uint16_t cols);
/* [from, to) of the output is lost: a marker, at the time of the last event. */
void asciicast_gap(struct asciicast *a, uint64_t from, uint64_t to);
/* The pending bytes will not be completed. */
void asciicast_flush(struct asciicast *a);

#endif
