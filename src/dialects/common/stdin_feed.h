/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdin_feed.h - input for a process from any source, with back-pressure and an end
 *
 * The source is a WebSocket, a raw upgrade, or the body of a request. What the process's queue has
 * no room for stays with the source, which pauses; a source that cannot keep it has it held here.
 * When there is room, `room` runs: it calls stdin_feed_flush() and lets the source continue. Bytes
 * keep their order, and the end of input follows the last of them. A feed may exist before its
 * process: input then waits. Embedded in the struct of the request. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_STDIN_FEED_H
#define HF_DIALECTS_COMMON_STDIN_FEED_H

#include "base/buf.h"
#include "engine/process.h"

struct viewer;

struct stdin_feed {
    struct process *process; /* referenced; NULL: none yet */
    struct viewer *viewer;   /* borrowed: the input is this viewer's; NULL: it has no viewer */
    /* Delivers to another place than the process itself, and returns as process_input() does. */
    ssize_t (*put)(struct stdin_feed *f, const void *bytes, size_t len, struct hf_error *err);
    struct input_waiter waiter;
    struct buf held; /* accepted from the source, not yet by the process */
    bool eof;        /* the end of input follows what is held */
};

void stdin_feed_init(struct stdin_feed *f, void (*room)(void *arg), void *arg);
/* Calls `room` no more; the viewer is about to be detached. */
void stdin_feed_stop(struct stdin_feed *f);
void stdin_feed_fini(struct stdin_feed *f);
/* The process has been started, or was named. The caller then flushes what was held before. */
void stdin_feed_bind(struct stdin_feed *f, struct process *p);

/* Returns how many bytes were accepted; if fewer, `room` runs later, and the source repeats the
 * rest. Negative with err: the process accepts none. Nothing may be held. */
ssize_t stdin_feed_put(struct stdin_feed *f, const void *bytes, size_t len, struct hf_error *err);
/* The same for a body, whose end is the end of input. Refused input is discarded, as by a pipe
 * without a reader: the exit status says why. */
size_t stdin_feed_take(struct stdin_feed *f, const void *bytes, size_t len, bool last);
/* Accepts all of it. The caller then flushes, and pauses its source while that returns 0. */
void stdin_feed_hold(struct stdin_feed *f, const void *bytes, size_t len);
/* Delivers what is held, and then the end of input if `eof` is set. 1: all is delivered. 0: `room`
 * runs when there is room, or there is no process yet. Negative with err: refused; what is held
 * stays. */
int stdin_feed_flush(struct stdin_feed *f, struct hf_error *err);

#endif
