/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_events.h - turns the kernel's events into changes of a tree
 *
 * The two halves of a rename become one change if both are inside the tree. The kernel queues them
 * one right after the other, so a first half waits for the second only if it ends a batch: until
 * the next batch, or until watch_events_flush(). If the second arrives later all the same, what it
 * names appears anew, so nothing is missed. Equal changes that follow each other in one batch are
 * reported once. A file that is written without a name and linked into its place when it is whole,
 * as by `write`, is created and written; a temporary name of ours is not reported. Pure: the ops
 * make the system calls. Layer: cli.
 */
#ifndef HF_CLI_WATCH_EVENTS_H
#define HF_CLI_WATCH_EVENTS_H

#include <limits.h>
#include <sys/inotify.h>

#include "cli/watch_tree.h"

enum watch_change { WATCH_CREATE, WATCH_WRITE, WATCH_REMOVE, WATCH_RENAME, WATCH_CHMOD };
const char *watch_change_name(enum watch_change c); /* "create" */

struct watch_events_ops {
    /* Paths are relative to the root. from: NULL unless it is a rename. */
    void (*change)(void *arg, enum watch_change c, const char *path, const char *from, bool dir);
    /* There may be a directory of this name that is not watched: watch it, and report what it
     * contains. */
    void (*appeared)(void *arg, struct watch_dir *parent, const char *name);
    /* The directory that was known by the old name is here now. But a scan may have found another
     * one there, which was made after it had left. */
    void (*moved)(void *arg, struct watch_dir *d);
    /* Is there something of this name? *dir: it is a directory. */
    bool (*exists)(void *arg, struct watch_dir *parent, const char *name, bool *dir);
    watch_drop_fn *drop;
    void (*overflow)(void *arg); /* the kernel has dropped events */
    /* "removed", "moved", "unmounted": the root is no longer where it was. Nothing follows. */
    void (*ended)(void *arg, const char *reason);
};

#define WATCH_HALVES_MAX                                                                           \
    16 /* first halves of renames that wait; beyond it the oldest is a removal */

/* The first half of a rename. It names its directory by number, because that may be forgotten. */
struct watch_half {
    int wd;
    uint32_t cookie;
    bool is_dir;
    char name[NAME_MAX + 1];
};

#define WATCH_NAMELESS_MAX 16 /* beyond it the oldest is reported as created only */

/* A file that was written in this directory without a name, or under a temporary one of ours. */
struct watch_nameless {
    int wd;
    char name[32]; /* "#" and its number, as the kernel calls it; "": has a temporary name */
};

struct watch_events {
    struct watch_tree *tree;
    const struct watch_events_ops *ops;
    void *arg;
    bool recursive, ended;
    int parent_wd;         /* of the directory that contains the root; -1: not watched */
    const char *root_name; /* in it */
    struct watch_half halves[WATCH_HALVES_MAX];
    size_t half_count;
    struct watch_nameless nameless[WATCH_NAMELESS_MAX];
    size_t nameless_count;
    /* The last change of this batch: equal ones are skipped. */
    bool has_last;
    enum watch_change last;
    struct buf last_path, path, from;
    /* The last rename, if nothing followed it. */
    bool has_pair;
    struct buf pair_from, pair_to;
};

void watch_events_init(struct watch_events *e, struct watch_tree *t, bool recursive,
                       const struct watch_events_ops *ops, void *arg);
void watch_events_fini(struct watch_events *e);
/* Whole struct inotify_event, as read(2) returns them. */
void watch_events_feed(struct watch_events *e, const char *batch, size_t len);
/* Does the first half of a rename wait? */
bool watch_events_waits(const struct watch_events *e);
/* The other halves do not arrive: what moved out of the tree is removed. */
void watch_events_flush(struct watch_events *e);
/* The root is no longer where it was: `ended`, unless it was called already. */
void watch_events_end(struct watch_events *e, const char *reason);
/* From the ops, for what a directory contains. */
void watch_events_report(struct watch_events *e, enum watch_change c, struct watch_dir *d,
                         const char *name, bool dir);

#endif
