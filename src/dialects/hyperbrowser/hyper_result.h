/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_result.h - what a process wrote and how it ended, as one JSON object in pieces
 *
 * The output is read from the journal as it is sent, stream by stream, so a result of any size
 * costs no memory. Owned by whoever sends it. Layer: dialects.
 */
#ifndef HF_DIALECTS_HYPERBROWSER_HYPER_RESULT_H
#define HF_DIALECTS_HYPERBROWSER_HYPER_RESULT_H

#include "base/buf.h"
#include "engine/process.h"
#include "transport/http.h"

enum result_part { RESULT_HEAD, RESULT_STDOUT, RESULT_STDERR, RESULT_OVER };

struct result {
    struct process *process;     /* borrowed: it lives as long as the result */
    const char *before, *behind; /* the object stands between these; static */
    enum result_part part;
    uint64_t from, at, end;
    char open[4]; /* the beginning of a character whose rest is in a later piece */
    size_t open_len;
    bool ascii;   /* with escapes for the rest */
    bool missing; /* some output is no longer held; a stream that sent all of it may deny that */
};

void result_init(struct result *r, struct process *p, const char *before, const char *behind);
/* Of the output it has nothing then, and says that something is missing. */
void result_leave_out(struct result *r);
/* Appends the next piece; false: that was all. */
bool result_piece(struct result *r, struct buf *out);
/* How many bytes of output it has at most. */
uint64_t result_bytes(const struct result *r);
/* Sends as long as there is room and time, and else from on_drain on; true: all is sent. */
bool result_pump(struct result *r, struct http_stream *st, struct buf *scratch);

#endif
