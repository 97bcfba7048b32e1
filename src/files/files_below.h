/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_below.h - paths below a directory that lead nowhere else
 *
 * Component by component, without "..", and without links unless they are allowed: whatever else
 * happens in the directory meanwhile, nothing outside is reached. Layer: files.
 */
#ifndef HF_FILES_FILES_BELOW_H
#define HF_FILES_FILES_BELOW_H

#include <stdbool.h>

/* The directory that contains `path`, created if it is missing and `make` is set; *name points to
 * the last component. A descriptor or -errno; -ELOOP: a link is in the way. */
int files_below_parent(int root, const char *path, bool make, bool follow, const char **name);
/* Makes this directory, or finds it. 0 or -errno. */
int files_below_directory(int root, const char *path, bool follow);

#endif
