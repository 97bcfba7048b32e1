/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_read.h - a request whose reply is the bytes of a file
 *
 * A short-lived process reads it (file_op.h). The reply is a success only once the file is open,
 * and a file that is cut short never looks whole. If the client disconnects or the daemon drains,
 * the reader is terminated. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_READ_H
#define HF_DIALECTS_COMMON_FILE_READ_H

#include "transport/http.h"

/* Replies with the error that file-op printed: "ERRNO sentence". */
typedef void file_read_fn(struct http_request *rq, const char *text, size_t len);

/* Replies in any case, now or later. user NULL: the daemon's. Other errors get the dialect's shape;
 * `drain_text` is the detail of shutting_down. */
void file_read_begin(struct http_request *rq, const char *user, const char *path,
                     file_read_fn *failed, const char *drain_text);

#endif
