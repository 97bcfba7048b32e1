/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_result.h - a process's output and exit, as one JSON object in pieces
 *
 * The output is read from the journal as it is sent, stream by stream, so a result of any size
 * costs no memory. Owned by its sender. Layer: dialects.
 */
#ifndef HF_DIALECTS_HYPERBROWSER_HYPER_RESULT_H
#define HF_DIALECTS_HYPERBROWSER_HYPER_RESULT_H

#include "base/buf.h"
#include "engine/process.h"
#include "transport/http.h"

enum result_part { RESULT_HEAD, RESULT_STDOUT, RESULT_STDERR, RESULT_OVER };

struct result {
    struct process *process;     /* borrowed: it lives as long as the result */
    const char *before, *behind; /* the text before and after the object; static */
    enum result_part part;
    uint64_t from, at, end;
    char open[4]; /* the beginning of a character whose rest is in a later piece */
    size_t open_len;
    bool ascii;   /* the rest is escaped */
    bool missing; /* some output is no longer held; a stream that sent all of it may clear this */
};

void result_init(struct result *r, struct process *p, const char *before, const char *behind);
/* The result has no output then, and reports that some is missing. */
void result_leave_out(struct result *r);
/* Appends the next piece; false: that was all. */
bool result_piece(struct result *r, struct buf *out);
/* The maximum number of bytes of output in it. */
uint64_t result_bytes(const struct result *r);
/* Sends while there is room and time, then continues from on_drain; true: all is sent. */
bool result_pump(struct result *r, struct http_stream *st, struct buf *scratch);

#endif
