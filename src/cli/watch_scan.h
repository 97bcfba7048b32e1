/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_scan.h - watches the directories of a tree, and finds those that are new
 *
 * A directory is watched before it is read, so whatever appears in it is either found or reported
 * by the kernel, or both. Each is opened from the root on, name by name and without following
 * links, and watched by its descriptor: nobody can lead the watch elsewhere by replacing a
 * directory by a link. Layer: cli.
 */
#ifndef HF_CLI_WATCH_SCAN_H
#define HF_CLI_WATCH_SCAN_H

#include <sys/types.h>

#include "cli/watch_tree.h"

#define WATCH_LATER_MAX 4096 /* beyond it changes are lost, and an overflow is reported */

/*
 * A directory to watch, or without a name one to read, that was not where the tree has it: a rename
 * of a directory above it is still to be reported.
 */
struct watch_later {
    int wd;
    char *name;
};

struct watch_scan_ops {
    /* Something is in a directory that was not watched before. */
    void (*found)(void *arg, struct watch_dir *d, const char *name, bool dir);
    /* A directory cannot be watched, and changes in it are not reported. */
    void (*unwatched)(void *arg, struct watch_dir *parent, const char *name, int errnum);
};

struct watch_scan {
    const struct watch_scan_ops *ops;
    void *arg;
    const char *path; /* as the caller named the root */
    char *real;       /* without links */
    dev_t dev;
    ino_t ino;
    int fd; /* inotify's */
    /* Of the directory that contains the root, for its removal: the root itself reports that only
     * when no process has it open any more. -1: not allowed. */
    int parent_wd;
    bool recursive;
    struct watch_tree tree;
    uint32_t count; /* of directories read */
    int failed;     /* an errno: the watch is incomplete and must end; 0: none */
    struct watch_later *later;
    size_t later_count;
    bool doubt;     /* a directory was not where the tree had it: see watch_scan_repair() */
    bool fresh;     /* a directory was added to the tree */
    bool again;     /* a repair found something: another is due after the next events */
    bool reports;   /* a repair: what is in directories that were not watched */
    bool missed;    /* something could not be found out; cleared by watch_scan_again() */
    bool lost_root; /* another directory is at the root's path now */
};

/* Watches and reads the whole tree; reports only what cannot be watched. 0, or an errno. */
int watch_scan_begin(struct watch_scan *s);
void watch_scan_fini(struct watch_scan *s);
/* Something of this name appeared: if it is a directory, watches it and reports what is in it. */
void watch_scan_appeared(struct watch_scan *s, struct watch_dir *parent, const char *name);
/* There are more events. */
void watch_scan_events(struct watch_scan *s);
/* After more events: does what was left for later, as far as possible. */
void watch_scan_retry(struct watch_scan *s);
void watch_scan_moved(struct watch_scan *s, const struct watch_dir *d); /* is it there? */
/* When no event is left: finds directories that are not watched, or under another name, and reports
 * what is in them. */
void watch_scan_repair(struct watch_scan *s);
/* Makes the watches complete after events were lost. Reports nothing but what cannot be watched. */
void watch_scan_again(struct watch_scan *s);
bool watch_scan_exists(struct watch_scan *s, struct watch_dir *parent, const char *name, bool *dir);
const char *watch_scan_root_name(
    const struct watch_scan *s);          /* in the directory that contains it */
void watch_scan_drop(void *scan, int wd); /* a watch_drop_fn */

#endif
