/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_file.h - a call of the route API for a file: one file operation, and its reply
 *
 * Relative paths begin at the directory of the session's shell. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_FILE_H
#define HF_DIALECTS_CLOUDFLARE_CF_FILE_H

#include <limits.h>

#include "base/text.h"
#include "dialects/cloudflare/cf_session.h"
#include "dialects/common/file_entry.h"
#include "dialects/common/transfer.h"

struct cf_file;

struct cf_file_kind {
    const char *op;        /* of files/files.h */
    const char *operation; /* the platform's name, in errors */
    const char *missing;   /* what to say if there is none */
    bool two;              /* it has two paths */
    bool changes;          /* it completes without its client */
    void (*options)(const struct cf_file *f, struct file_op *op); /* NULL: none */
    void (*bytes)(struct cf_file *f, const char *bytes, size_t len);
    void (*done)(struct cf_file *f); /* it has succeeded: replies */
    /* NULL: an error reply. */
    void (*failed)(struct cf_file *f, const struct file_fault *fault);
};

struct cf_file_body {
    const char *path, *to, *encoding;
    json_t *content, *options;
    bool recursive;
};

struct cf_file {
    struct call call;
    const struct cf_file_kind *kind;
    struct cf_want want; /* of the session, for its directory */
    json_t *body;        /* referenced: the request borrows from it */
    struct cf_file_body request;
    char path[PATH_MAX], to[PATH_MAX]; /* absolute */
    struct transfer *transfer;         /* NULL: it has ended, or was let go */
    struct file_lines lines;
    struct buf bytes; /* of a file, or entries as JSON */
    size_t held;      /* granted for them by file_gather_hold() */
    size_t count;     /* of entries */
    struct whole_text text;
    struct utf8_check check;                       /* of a stream of text */
    const char *type;                              /* NULL: not known yet */
    int64_t size, sent;                            /* of the file; -1: not opened */
    bool as_text, recursive, hidden, binary_input; /* the last: the content was base64 */
    bool too_long, writes;
};

/* Decodes the body, and begins. Replies in any case, now or later. */
void cf_file_begin(struct cf_request *q, const struct cf_file_kind *kind);
/* {"success":true,"path":… */
struct json_out cf_file_ok(struct cf_file *f);
/* Replies with an error of this file; `size` and `max` if there is such a limit, else -1. */
void cf_file_fail(struct cf_file *f, int status, const char *code, const char *message,
                  const char *why, int64_t size, int64_t max);
/* The code and status for an errno. */
const char *cf_file_code(int errnum, int *status);
/* Memory for this much of a file. False: it was refused, and the operation has ended. */
bool cf_file_hold(struct cf_file *f, size_t bytes);
/* Ends the operation; its result is not needed. */
void cf_file_abandon(struct cf_file *f);

#endif
