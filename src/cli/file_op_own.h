/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_own.h - what the operations of file-op share. Layer: cli.
 */
#ifndef HF_CLI_FILE_OP_OWN_H
#define HF_CLI_FILE_OP_OWN_H

/* "ERRNO path: sentence" on standard error; 1, the exit status. */
int file_op_fail(int errnum, const char *path);
/* With all directories above it. -EEXIST only if it was there already. */
int file_op_make_dirs(const char *path);
int file_op_make_parent(const char *path);

/* file_op_untar.c: a gzipped tar from standard input, below a directory. */
int file_op_untar(char **args);

#endif
