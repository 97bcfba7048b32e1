/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_fault.h - why a file operation failed: the errno, its native code, and the sentence. Layer:
 * dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_FAULT_H
#define HF_DIALECTS_COMMON_FILE_FAULT_H

#include <stddef.h>

#include "base/error.h"

struct file_fault {
    int errnum;          /* 0: it ended without a reason, as when it was killed */
    struct hf_error err; /* the same as a native error, with `errno_name` and `path` */
    char text[400];      /* "PATH: sentence"; "": none */
};

/* From what the operation wrote on standard error. */
void file_fault_decode(struct file_fault *f, const char *text, size_t len);
/* The result is too long for one reply. */
void file_fault_too_long(struct file_fault *f);

#endif
