/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_tree.h - whole trees: copied, removed. Layer: files.
 */
#ifndef HF_FILES_FILES_TREE_H
#define HF_FILES_FILES_TREE_H

#include <stdbool.h>

/* A file, a link, or a directory with everything in it; special files are left out. 0 or -errno;
 * *wrong: the path that it concerns, if not this one. */
int files_copy_tree(const char *from, const char *to, bool overwrite, const char **wrong);
/* 0 or -errno. A link is removed, never what it leads to. */
int files_remove_tree(const char *path);

#endif
