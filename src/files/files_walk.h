/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_walk.h - visits a directory tree without following links
 *
 * Each directory is opened relative to its parent's descriptor and with O_NOFOLLOW. So another
 * process that replaces a directory by a link meanwhile cannot lead the walk elsewhere. Layer:
 * files.
 */
#ifndef HF_FILES_FILES_WALK_H
#define HF_FILES_FILES_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"

#define FILES_WALK_DEPTH 900 /* levels: each keeps a descriptor open */

struct files_walk_entry {
    int dir;          /* of the directory that contains it */
    const char *name; /* in it */
    const char *path; /* as the walk was started, and below */
    size_t root_len;  /* the length of the path that the walk was started with */
    int depth;        /* of what is in the root: 1 */
    struct stat st;   /* of a link itself */
};

enum files_walk_next { WALK_ON, WALK_SKIP, WALK_STOP };

struct files_walk {
    /* Called for each entry, before what is in it. SKIP: do not enter this directory. */
    enum files_walk_next (*visit)(struct files_walk *w, const struct files_walk_entry *e);
    /* Called after everything in a directory that was entered; NULL: not wanted. */
    enum files_walk_next (*leave)(struct files_walk *w, const struct files_walk_entry *e);
    /* A directory cannot be read. STOP, or ON without it. NULL: stop. */
    enum files_walk_next (*denied)(struct files_walk *w, const struct files_walk_entry *e, int err);
    bool sorted;    /* by name */
    bool no_follow; /* not even if the path itself is a link: ENOTDIR or ELOOP */
    int errnum;     /* why it stopped, where that was the walk's own reason */
    struct buf path;
};

/* Visits everything below the directory, not itself. 0, or -errno; -ECANCELED: stopped by an op. */
int files_walk(struct files_walk *w, const char *path);
/* The same for a directory that is open; takes ownership of it. */
int files_walk_open(struct files_walk *w, int fd, const char *path);

#endif
