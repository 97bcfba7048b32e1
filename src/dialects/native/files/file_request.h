/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_request.h - what the calls for files have in common: paths, users, entries. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_FILES_FILE_REQUEST_H
#define HF_DIALECTS_NATIVE_FILES_FILE_REQUEST_H

#include "dialects/common/file_call.h"
#include "dialects/common/file_entry.h"
#include "dialects/common/file_op.h"
#include "transport/http.h"

#define FILE_REQUEST_PATH_BYTES 4095

/* Begins the operation on the `path` of the query, as its `user`. 0, or err and nothing to free. */
int file_request_query(struct http_request *rq, const char *operation, struct file_op *op,
                       struct hf_error *err);
/* Each adds an option, if the query has it. 0, or err; the operation stays the caller's. */
int file_request_query_bool(struct http_request *rq, const char *name, struct file_op *op,
                            struct hf_error *err);
int file_request_query_mode(struct http_request *rq, struct file_op *op, struct hf_error *err);
/* The body is plain, or gzip by Content-Encoding. */
int file_request_query_coding(struct http_request *rq, struct file_op *op, struct hf_error *err);
/* A path in a body, or a mode; NULL is no error. */
int file_request_check_path(const char *path, const char *field, struct hf_error *err);
int file_request_check_mode(const char *mode, struct hf_error *err);

/* The object that describes a file. */
void file_request_write_entry(struct json_out *o, const struct file_entry *e, int tag);
void file_request_write_members(struct json_out *o, const struct file_entry *e);

/* Replies of a file_call with one entry, and of an operation that has failed. */
void file_request_reply(struct http_request *rq, const struct file_results *r, int status);
void file_request_failed(struct http_request *rq, const struct file_fault *f);
void file_request_call_failed(struct http_request *rq, const struct file_fault *f, int tag);

#endif
