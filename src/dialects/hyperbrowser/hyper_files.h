/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_files.h - what the calls for files have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_HYPERBROWSER_HYPER_FILES_H
#define HF_DIALECTS_HYPERBROWSER_HYPER_FILES_H

#include "dialects/common/file_call.h"
#include "dialects/hyperbrowser/hyper.h"

/* The fields of all bodies; the texts borrow from the tree. */
struct hyper_file_body {
    const char *path, *from, *to, *mode, *encoding, *user;
    json_t *data, *files;
    bool parents, recursive, overwrite, append;
    int64_t uid, gid, offset, length; /* -1: not given */
};
enum { HYPER_NEEDS_PATH = 1, HYPER_NEEDS_FROM_TO = 2, HYPER_NEEDS_MODE = 4 };

/* hyper_files.c: decodes the body. NULL: replied. The caller owns it. */
json_t *hyper_file_body(struct http_request *rq, int needs, struct hyper_file_body *b);
/* Fields of an object; 0 or err. */
int hyper_file_fields(const json_t *v, int needs, struct hyper_file_body *b, struct hf_error *err);
void hyper_file_failed(struct http_request *rq, const struct file_fault *f);

#endif
