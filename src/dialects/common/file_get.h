/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_get.h - GET of a file with all that HTTP has for it: one range, If-Range, If-Match,
 * If-None-Match, If-Modified-Since, and gzip for clients that accept it
 *
 * Errors have the dialect's shape. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_GET_H
#define HF_DIALECTS_COMMON_FILE_GET_H

#include "dialects/common/file_download.h"

#define FILE_GET_TAG_BYTES 80 /* an entity tag, without quotes */

/* Adds to "read" what the headers of the request ask for. */
void file_get_options(struct http_request *rq, struct file_op *op);
/* For file_download_ops.head: the headers of the reply; false: replied without the bytes. */
bool file_get_head(struct http_request *rq, const struct file_entry *e,
                   struct file_download_head *h);

#endif
