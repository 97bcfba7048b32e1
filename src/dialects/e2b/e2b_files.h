/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_files.h - what the file calls have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_FILES_H
#define HF_DIALECTS_E2B_E2B_FILES_H

#include <limits.h>

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

/* 0, or err: not a string, a NUL, too long. */
int e2b_file_path(const struct user *u, const char *text, size_t len, char *out,
                  struct hf_error *err);
/* Why a file-op failed, from what it wrote on standard error. */
struct file_fault {
    const char *code; /* Connect's */
    int status;       /* of the plain routes */
    char message[400];
};
void e2b_file_fault(struct file_fault *f, const char *text, size_t len);

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
