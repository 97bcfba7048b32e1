/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_file.h - what the calls for files have in common. Layer: dialects.
 */
#ifndef HF_DIALECTS_DAYTONA_DT_FILE_H
#define HF_DIALECTS_DAYTONA_DT_FILE_H

#include "dialects/common/file_fault.h"
#include "dialects/daytona/daytona.h"

/* A relative path is relative to the daemon's directory. False: empty or too long. */
bool dt_file_path(const struct dt *dt, const char *path, char out[PATH_MAX]);

struct dt_file_words {
    int status;
    const char *code, *message; /* borrowed from the fault */
};
struct dt_file_words dt_file_words(const struct file_fault *f);

#endif
