/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_stream.h - a process's numbered output as server-sent events, then its end
 *
 * What console.h is for a WebSocket: a viewer of whole runs, comments that keep a silent stream alive,
 * and an orderly end. What differs between platforms are the events: those are the ops.
 *
 * The first member of something from hf_xalloc(), which is freed when the stream has ended, its
 * client has gone, or with the dialect. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_RUN_STREAM_H
#define HF_DIALECTS_COMMON_RUN_STREAM_H

#include "dialects/common/pending.h"
#include "engine/stream/viewer.h"
#include "transport/http.h"

struct run_stream;

struct run_stream_ops {
    /* A whole run of the journal. Numbers that are passed over are gone: it was too slow. */
    void (*run)(struct run_stream *r, const struct slice *s);
    /* The process has ended and all of its output is sent: what comes behind it. Asked again
     * whenever there is room, until it says that this is all. */
    bool (*end)(struct run_stream *r);
    /* The daemon goes, and the stream with it; NULL: nothing can be said, and it is broken off. */
    void (*going)(struct run_stream *r);
};

struct run_stream {
    struct pending pending;
    const struct run_stream_ops *ops;
    struct process *process; /* referenced */
    struct viewer *viewer;   /* NULL: the process has ended */
    struct http_stream *out;
};

/* Answers 200 and goes on at this run: one that is held, or the one to come. Or a negative errno
 * with err: nothing is answered, and it is freed. */
int run_stream_begin(struct run_stream *r, const struct run_stream_ops *ops,
                     struct http_request *rq, struct process *p, uint64_t run, struct list *pending,
                     struct hf_error *err);
/* id 0: it has none. */
void run_stream_send(struct run_stream *r, const char *event, uint64_t id, const struct buf *data);

#endif
