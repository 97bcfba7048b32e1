/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_call.h - a request whose reply are the entries that a file operation reports
 *
 * If the operation reads input, that is the body of the request, and the route needs
 * ROUTE_STREAM_BODY; it is read as fast as the operation accepts it. If the client disconnects, an
 * operation that only reads is ended, and one that changes something completes all the same. If the
 * daemon drains, the client gets shutting_down now. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_CALL_H
#define HF_DIALECTS_COMMON_FILE_CALL_H

#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "transport/http.h"

struct file_results {
    const struct buf *items; /* what `entry` has written, separated by commas */
    size_t count;
    bool truncated;                /* there are more */
    const struct file_entry *last; /* NULL: none */
};

struct file_call_ops {
    /* Writes one value; the entry has a path. The helper runs as a user who may interfere with it,
     * so any other member may be missing. NULL: only the last entry is wanted. */
    void (*entry)(struct json_out *o, const struct file_entry *e, int tag);
    void (*reply)(struct http_request *rq, const struct file_results *r, int tag);
    void (*failed)(struct http_request *rq, const struct file_fault *f, int tag);
    /* Replies that the daemon drains; NULL: the dialect's shape of shutting_down. */
    void (*drained)(struct http_request *rq);
    bool changes; /* the operation completes without its client */
};

/* Replies in any case, now or later; `op` is freed. `tag` is the caller's own. */
void file_call_begin(struct http_request *rq, struct file_op *op, const struct file_call_ops *ops,
                     int tag);

#endif
