/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op.h - file operations with the rights of a sandbox user
 *
 * The worker has no rights, and access checks are best left to the kernel. So a short-lived process
 * of that user carries out each operation: this binary itself, with the command file-op. It needs
 * no program in the sandbox. Only the role `own` can see it, since its output is the file.
 *
 *   stat PATH, list PATH DEPTH, mkdir PATH, move FROM TO, remove PATH
 *   read PATH    the entry, then the bytes, on standard output
 *   write PATH   the bytes from standard input
 *   untar PATH   a gzipped tar from standard input, unpacked below that directory
 *   fail TEXT STATUS   only print why a process could not be started
 *
 * An entry is a line of JSON: name, path, type (file, dir, symlink, other), size, mode, owner,
 * group, modified_ms, and target of a link. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_OP_H
#define HF_DIALECTS_COMMON_FILE_OP_H

#include "engine/engine.h"
#include "engine/process.h"

#define FILE_OP_ARGS 4

/* The spec borrows the texts and `args`, which has room for FILE_OP_ARGS. user NULL: the daemon's;
 * b NULL: the operation has one argument. */
void file_op_spec(struct spawn_spec *s, const char **args, const char *user, const char *op,
                  const char *a, const char *b);
/* Is this an internal process, which a platform's list may omit? */
bool file_op_is(const struct process_view *v);
/* Kills and removes it. */
void file_op_end(struct process *p);
/* Ends those that the previous worker left: their requests ended with it. */
void file_op_end_all(struct engine *e);
/* The errno that a failed operation reported on standard error; 0: none. */
int file_op_errno(const char *text, size_t len);

#endif
