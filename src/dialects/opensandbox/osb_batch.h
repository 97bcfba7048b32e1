/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_batch.h - a request of several file operations, carried out one after the other
 *
 * Execd's calls for files name many files each. The first operation that fails ends the request
 * with its error, and those behind it are not begun. If the client disconnects, the operation in
 * progress completes if it changes something. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENSANDBOX_OSB_BATCH_H
#define HF_DIALECTS_OPENSANDBOX_OSB_BATCH_H

#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "dialects/opensandbox/osb.h"

struct osb_batch;

enum batch_reply {
    BATCH_EMPTY, /* 200 without a body */
    BATCH_MAP,   /* an object: a value for each operation's key */
    BATCH_LIST,  /* an array: a value for each entry */
};

struct osb_batch_kind {
    enum batch_reply reply;
    /* Writes a value for an entry. */
    void (*entry)(struct json_out *o, const struct file_entry *e);
    bool absent_is_500;  /* a file that does not exist is no FILE_NOT_FOUND */
    bool no_directories; /* omits those from the reply */
};

struct osb_batch *osb_batch_new(const struct osb_batch_kind *kind);
/* Another operation: begun by file_op_init(), and its arguments may be added to until the next one.
 * NULL: there are LIMIT_OSB_BATCH already, and the request will be refused. */
struct file_op *osb_batch_add(struct osb_batch *b, const char *user, const char *op,
                              const char *path);
/* Of the last operation: its key in the reply; that it ends the request if it finds a directory. */
void osb_batch_key(struct osb_batch *b, const char *key);
void osb_batch_no_directory(struct osb_batch *b);
/* Replies in any case, now or later, and frees it. */
void osb_batch_begin(struct osb_batch *b, struct http_request *rq);
void osb_batch_free(struct osb_batch *b);

/* --- osb_files.c --- */
/* An operation that has failed. */
void osb_files_fault(struct http_request *rq, const struct file_fault *f, bool absent_is_500);
/* Execd's expansion of a path; "" without `field`. 0, or err. */
int osb_files_path(const char *path, struct buf *out, struct hf_error *err);
/* Whose rights apply: NULL, or "uid:gid" of /v1/filesystem/{uid}/{gid}. False: replied. */
#define OSB_FILES_USER_BYTES 32
bool osb_files_user(struct http_request *rq, char room[OSB_FILES_USER_BYTES], const char **user);
/* A mode as execd's clients write it: 755 is octal. "" if absent. 0, or err. */
#define OSB_FILES_MODE_BYTES 24
int osb_files_mode(const json_t *mode, char out[OSB_FILES_MODE_BYTES], struct hf_error *err);

#endif
