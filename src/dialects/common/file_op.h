/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op.h - file operations with the rights of a sandbox user
 *
 * The worker has no rights, and access checks are best left to the kernel. So a short-lived process
 * of that user carries out each operation: this binary itself, with the command file-op. It needs
 * no program in the sandbox. Only the role `own` can see it, since its output is the file. The
 * operations, their arguments and options are in files/files.h; transfer.h runs one, file_watch.h
 * another kind. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_OP_H
#define HF_DIALECTS_COMMON_FILE_OP_H

#include "engine/engine.h"
#include "engine/process.h"

#define FILE_OP_ARGS 24

struct file_op {
    const char *user; /* NULL: the daemon's */
    bool has_input;   /* it reads standard input */
    size_t count;
    char *args[FILE_OP_ARGS]; /* owned */
};

/* A relative path is relative to the home directory of that user. */
void file_op_init(struct file_op *op, const char *user, const char *name, const char *path);
void file_op_fini(struct file_op *op);
void file_op_arg(struct file_op *op, const char *arg); /* another fixed argument */
/* Options come after the fixed arguments. */
void file_op_option(struct file_op *op, const char *name, const char *value); /* NULL: none */
void file_op_number(struct file_op *op, const char *name, int64_t value);
void file_op_flag(struct file_op *op, const char *name, bool value);

/* The spec borrows from the operation. */
void file_op_spec(struct spawn_spec *s, const struct file_op *op);

/* Is this an internal process, which a platform's list may omit? */
bool file_op_is(const struct process_view *v);
/* Ends and removes it. */
void file_op_end(struct process *p);
/* Ends those that the previous worker left: their requests ended with it. */
void file_op_end_all(struct engine *e);

#endif
