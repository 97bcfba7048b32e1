/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_output.h - a file that appears whole or not at all
 *
 * The bytes go to a nameless file in the same directory, or to a temporary one where the file
 * system has no nameless files, and take the name at the end. Until then the old file stays as it
 * is; a process that is killed leaves nothing. Where the directory permits no new file but the file
 * itself may be written (a mount, /etc in a container), and where a new file could not have the old
 * one's owner, the bytes go straight into the file. Layer: files.
 */
#ifndef HF_FILES_FILES_OUTPUT_H
#define HF_FILES_FILES_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct files_output_options {
    int mode;          /* of the file; -1: the old file's, or 0666 without the umask */
    bool append;       /* straight to the end of the file */
    bool exclusive;    /* EEXIST if there is one */
    bool replace_link; /* a link is replaced by the file, not followed */
};

struct files_output {
    const char *path;      /* as it was given */
    char target[PATH_MAX]; /* what a link leads to; else the same */
    const char *name;      /* in dir */
    char temporary[48];    /* "": the file has no name yet, or is the target itself */
    int dir, fd;
    bool in_place;
    struct files_output_options options;
    bool replaces; /* there is an old file: */
    struct stat old;
};

/* 0 or -errno. -ENOTSUP: there is something that is not a regular file. */
int files_output_open(struct files_output *o, const char *path,
                      const struct files_output_options *options);
/* Gives it its name. 0 or -errno. */
int files_output_commit(struct files_output *o);
/* Closes it; without a commit nothing is left of it. */
void files_output_close(struct files_output *o);

#endif
