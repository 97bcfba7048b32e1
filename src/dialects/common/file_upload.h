/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_upload.h - a request whose body becomes a file, or is an archive to unpack
 *
 * The body is read as fast as the operation accepts it, so nothing is buffered here. A file appears
 * whole or not at all: if the client disconnects or the daemon drains, the writer is ended. The
 * route needs ROUTE_STREAM_BODY. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_UPLOAD_H
#define HF_DIALECTS_COMMON_FILE_UPLOAD_H

#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "transport/http.h"

struct file_upload_ops {
    /* `e`: what the operation reports of the result. Of "write", `bytes` is the body's length. */
    void (*reply)(struct http_request *rq, const struct file_entry *e);
    void (*failed)(struct http_request *rq, const struct file_fault *f);
    /* Replies that the daemon drains; NULL: the dialect's shape of shutting_down. */
    void (*drained)(struct http_request *rq);
};

/* `op` is "write" or "unpack", and is freed. Replies in any case, now or later; an operation that
 * cannot be started gets the dialect's shape of the error. */
void file_upload_begin(struct http_request *rq, struct file_op *op,
                       const struct file_upload_ops *ops);

#endif
