/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_download.h - a request whose reply is the bytes of a file, or of an archive
 *
 * The reply is a success only once the file is open, and a file that is cut short never looks
 * whole. If the client disconnects or the daemon drains, the reader is ended. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_DOWNLOAD_H
#define HF_DIALECTS_COMMON_FILE_DOWNLOAD_H

#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "transport/http.h"

struct file_download_head {
    int status;
    const char *type;
    int64_t length; /* -1: unknown */
};

struct file_download_ops {
    /* The file is open: `h` has 200, application/octet-stream and the length, if it is known. Adds
     * headers. False: it has replied otherwise, and the bytes are not needed [true]. */
    bool (*head)(struct http_request *rq, const struct file_entry *e, struct file_download_head *h);
    void (*failed)(struct http_request *rq, const struct file_fault *f);
    const char *drain_text; /* the detail of shutting_down [a general text] */
    /* The end of the stream, before it ends: what the operation wrote on standard error [nothing].
     */
    void (*ending)(struct http_stream *st, const char *note, size_t len);
};

/* `op` is "read" or "pack", and is freed. Replies in any case, now or later; an operation that
 * cannot be started gets the dialect's shape of the error. */
void file_download_begin(struct http_request *rq, struct file_op *op,
                         const struct file_download_ops *ops);

#endif
