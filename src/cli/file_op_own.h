/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_own.h - functions shared by the operations of file-op. Layer: cli.
 */
#ifndef HF_CLI_FILE_OP_OWN_H
#define HF_CLI_FILE_OP_OWN_H

/* Prints "ERRNO path: sentence" on standard error; returns 1, the exit status. */
int file_op_fail(int errnum, const char *path);
/* Creates parent directories, too. -EEXIST only if it existed already. */
int file_op_make_dirs(const char *path);
int file_op_make_parent(const char *path);

/* file_op_untar.c: a gzipped tar from standard input, below a directory. */
int file_op_untar(char **args);

#endif
