/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_gather.h - a request whose reply is made of all bytes of a file, or of a part
 *
 * For platforms that put them into JSON; file_download.h is for the others, and holds nothing. If
 * the client disconnects or the daemon drains, the reader is ended. What all such requests of a
 * dialect hold is bounded: one for which there is no room gets `overloaded`. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_GATHER_H
#define HF_DIALECTS_COMMON_FILE_GATHER_H

#include "base/buf.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "transport/http.h"

struct file_gather_ops {
    size_t bytes_max; /* of the reply */
    /* `e` has what "read" reports of the file and the part. */
    void (*reply)(struct http_request *rq, const struct file_entry *e, const struct buf *bytes,
                  int tag);
    void (*failed)(struct http_request *rq, const struct file_fault *f, int tag);
    void (*too_long)(struct http_request *rq, int tag); /* more than bytes_max */
};

/* `op` is "read", and is freed. Replies in any case, now or later; an operation that cannot be
 * started gets the dialect's shape of the error. `tag` is the caller's own. */
void file_gather_begin(struct http_request *rq, struct file_op *op,
                       const struct file_gather_ops *ops, int tag);

/* For other owners of such bytes: changes what one request holds from *held to `bytes`. 0, or
 * err is overloaded and *held unchanged; less than before is always granted. */
int file_gather_hold(struct dialect_base *b, size_t *held, size_t bytes, struct hf_error *err);

#endif
