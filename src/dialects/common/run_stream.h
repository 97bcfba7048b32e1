/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_stream.h - a process's numbered output as server-sent events, then its end
 *
 * The counterpart of console.h: a viewer of whole runs, comments that keep a silent stream alive,
 * and an orderly end. Platforms differ in the events, which the ops supply.
 *
 * It is the first member of a struct from hf_xalloc(), which is freed when the stream has ended,
 * when the client has disconnected, or with the dialect. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_RUN_STREAM_H
#define HF_DIALECTS_COMMON_RUN_STREAM_H

#include "dialects/common/pending.h"
#include "engine/stream/viewer.h"
#include "transport/http.h"

struct run_stream;

struct run_stream_ops {
    /* A whole run of the journal. Skipped numbers are lost: the client was too slow. */
    void (*run)(struct run_stream *r, const struct slice *s);
    /* The process has ended and all of its output is sent: sends what follows. Called whenever
     * there is room, until it reports that this is all. */
    bool (*end)(struct run_stream *r);
    /* The daemon is draining and the stream ends; NULL: no event is sent, the connection aborts. */
    void (*going)(struct run_stream *r);
};

struct run_stream {
    struct pending pending;
    const struct run_stream_ops *ops;
    struct process *process; /* referenced */
    struct viewer *viewer;   /* NULL: the process has ended */
    struct http_stream *out;
};

/* Replies 200 and starts at this run: a kept one, or the next. Or a negative errno with err: no
 * reply was sent, and it is freed. */
int run_stream_begin(struct run_stream *r, const struct run_stream_ops *ops,
                     struct http_request *rq, struct process *p, uint64_t run, struct list *pending,
                     struct hf_error *err);
/* id 0: none. */
void run_stream_send(struct run_stream *r, const char *event, uint64_t id, const struct buf *data);

#endif
