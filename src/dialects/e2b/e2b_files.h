/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_files.h - what the file calls have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_FILES_H
#define HF_DIALECTS_E2B_E2B_FILES_H

#include <limits.h>

#include "dialects/common/file_op.h"
#include "dialects/e2b/e2b_rpc.h"

/* A path of a request, and as whom it is to be taken. */
struct file_ask {
    struct user user;
    bool given; /* the user is another than the daemon's own */
    char path[PATH_MAX], to[PATH_MAX];
};

static inline const char *file_user(const struct file_ask *f)
{
    return f->given ? f->user.name : NULL;
}

/* 0, or err: no text, a NUL, too long. */
int e2b_file_path(const struct user *u, const char *text, size_t len, char *out,
                  struct hf_error *err);
/* Why a file-op failed, from what it wrote on standard error. */
struct file_fault {
    const char *code; /* Connect's */
    int status;       /* of the plain routes */
    char message[400];
};
void e2b_file_fault(struct file_fault *f, const char *text, size_t len);

/* e2b_files.c: who asks for GET and POST /files, and for what. False: answered. */
bool e2b_files_ask(struct http_request *rq, const char *operation, struct file_ask *ask);
/* e2b_signature.c: has a holder of one of the daemon's tokens signed this? NULL: yes; else what is
 * wrong, in the original's words. */
const char *e2b_signature_refusal(const struct buf *tokens, const char *const parts[4],
                                  const char *given, int64_t now_s);
enum { SIGNED_PATH, SIGNED_OPERATION, SIGNED_USER, SIGNED_EXPIRES }; /* expires: NULL for never */

#endif
