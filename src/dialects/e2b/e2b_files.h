/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_files.h - what the file calls have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_FILES_H
#define HF_DIALECTS_E2B_E2B_FILES_H

#include <limits.h>

#include "dialects/common/file_entry.h"
#include "dialects/common/file_fault.h"
#include "dialects/common/file_op.h"
#include "dialects/e2b/e2b_rpc.h"

/* The path of a request, and the user for whom it is accessed. */
struct file_request {
    struct user user;
    bool given; /* the user is not the daemon's own */
    char path[PATH_MAX], to[PATH_MAX];
};

static inline const char *file_user(const struct file_request *f)
{
    return f->given ? f->user.name : NULL;
}

/*
 * An operation for that user, with its fixed arguments; then come the options. As in the original,
 * a daemon that is root carries it out as root, and what it writes and creates belongs to the user.
 * If the daemon may not run processes as everybody (--allow-users, --spawn-user), that would be a
 * way around: then it is carried out as the user.
 */
void e2b_file_op(struct file_op *op, const struct http_request *rq, const struct file_request *f,
                 const char *name, const char *path, const char *second);

/* 0, or err: not a string, a NUL, too long. */
int e2b_file_path(const struct user *u, const char *text, size_t len, char *out,
                  struct hf_error *err);
/* Writes what the plain routes reply of a file. */
void e2b_file_info(struct json_out *o, const char *path, const struct file_entry *e);
/* e2b_metadata.c: the X-Metadata- headers as an object in JSON, NULL for none. False: replied. */
bool e2b_metadata(struct http_request *rq, char **out);
/* Writes the message EntryInfo. */
void e2b_write_entry(struct json_out *o, const struct file_entry *e);
/* The platform's words for why a file operation failed. */
struct e2b_file_words {
    const char *code;    /* Connect's */
    int status;          /* of the plain routes */
    const char *message; /* borrowed */
};
struct e2b_file_words e2b_file_words(const struct file_fault *f);

/*
 * e2b_files.c: decodes the user and path of GET and POST /files. False: the request has been
 * replied to.
 */
bool e2b_files_decode(struct http_request *rq, const char *operation, struct file_request *request);
/*
 * e2b_signature.c: was this signed with one of the daemon's tokens? NULL: yes; else the error, in
 * the original's words.
 */
const char *e2b_signature_refusal(const struct buf *tokens, const char *const parts[4],
                                  const char *given, int64_t now_s);
enum { SIGNED_PATH, SIGNED_OPERATION, SIGNED_USER, SIGNED_EXPIRES }; /* expires: NULL for never */

#endif
