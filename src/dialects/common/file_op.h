/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op.h - files, as a user of the sandbox may see and change them
 *
 * The worker has no rights, and the kernel is better than we at deciding whose file is whose. So
 * each thing is done by a short process as that user: this binary itself, with the
 * command file-op. It needs no program in the sandbox. Only the owner sees it: its output is the file.
 *
 *   stat PATH, list PATH DEPTH, mkdir PATH, move FROM TO, remove PATH
 *   read PATH    the entry, then the bytes, on standard output
 *   write PATH   the bytes from standard input
 *   untar PATH   a gzipped tar from standard input, unpacked below that directory
 *   fail TEXT STATUS   nothing but to say why something could not be started
 *
 * An entry is a line of JSON: name, path, type (file, dir, symlink, other), size, mode, owner,
 * group, modified_ms, and target of a link. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_OP_H
#define HF_DIALECTS_COMMON_FILE_OP_H

#include "engine/engine.h"
#include "engine/process.h"

#define FILE_OP_ARGS 4

/* The spec borrows the texts and `args`, which has room for FILE_OP_ARGS. user NULL: the
 * daemon's own; b NULL: the operation has one argument. */
void file_op_spec(struct spawn_spec *s, const char **args, const char *user, const char *op,
                  const char *a, const char *b);
/* Such a process is the daemon's own affair: a platform's list may leave it out. */
bool file_op_is(const struct process_view *v);
/* Ends it, whatever it does, and forgets it. */
void file_op_end(struct process *p);
/* Those that the last worker left: whoever asked for them is gone with it. */
void file_op_end_all(struct engine *e);
/* The errno that a failed one told on standard error; 0: it told none. */
int file_op_errno(const char *text, size_t len);

#endif
