/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_watch.h - reports what changes in a directory, with the rights of a sandbox user
 *
 * A process of that user watches (file_op.h: `watch`) and writes lines of JSON:
 *
 *   {"type":"ready","directories":N,"unwatched":N}   all watches are set; always the first
 *   {"type":"create"|"write"|"remove"|"chmod","path":P,"dir":B}
 *   {"type":"rename","path":P,"from":P,"dir":B}      both are inside
 *   each but remove with "entry", as in file_op.h, if that was requested and the file still exists
 *   {"type":"unwatched","path":P,"errno":E}          changes in this directory are not reported
 *   {"type":"overflow"}      changes were lost; the watches are complete again
 *   {"type":"end","reason":R}   "removed", "moved", "unmounted": the directory itself
 *
 * Paths are relative to the directory; "." is the directory itself. One that is not UTF-8 comes as
 * path_base64 or from_base64, too. A directory that appears is followed by what it contains, and
 * what appears in it at that moment may be created twice. That process is not trusted: its lines
 * are checked.
 *
 * Nothing is queued: while `room` says no, the process waits, then the kernel's queue overflows,
 * and that is reported. A watch belongs to whoever started it and ends with the worker.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_FILE_WATCH_H
#define HF_DIALECTS_COMMON_FILE_WATCH_H

#include "base/json.h"
#include "engine/engine.h"

struct file_watch;

enum file_change {
    FILE_READY,
    FILE_CREATE,
    FILE_WRITE,
    FILE_REMOVE,
    FILE_RENAME,
    FILE_CHMOD,
    FILE_UNWATCHED,
    FILE_OVERFLOW,
    FILE_END, /* the last */
};

/* A line, checked. Borrowed until the callback returns. */
struct file_report {
    enum file_change change;
    const char *type;                              /* "create" */
    const char *path, *from, *errno_name, *reason; /* each NULL if this change has none */
    const char *path_base64, *from_base64;         /* NULL: they are UTF-8 */
    json_t *entry;
    bool dir;
    int64_t directories, unwatched;
};
/* False: it is not such a line. */
bool file_report_decode(const json_t *line, struct file_report *out);
/* The line as an open object, to which a caller may add members. */
void file_report_write(struct json_out *o, const struct file_report *r);

struct file_watch_ops {
    void (*report)(void *arg, const struct file_report *r);
    /* It failed, before it was ready or later. Called at most once, and nothing after it; the watch
     * is freed. After FILE_END as well, with err NULL. */
    void (*ended)(void *arg, const struct hf_error *err);
    /* Is there room for reports? NULL: always. */
    bool (*room)(void *arg);
};

struct file_watch_open {
    const char *path;
    const char *user; /* NULL: the daemon's */
    bool recursive;
    bool entries;       /* describe the file after each change */
    bool local;         /* refuse a network mount: EREMOTE */
    const char *client; /* counted by this, such as http_peer() */
};

/* 0, or too_many_watches and others, with *out NULL; the ops are called later. Errors of ended():
 * not_found, too_many_watches, watch_failed with the errno's name, spawn errors, internal. */
int file_watch_start(struct engine *e, const struct file_watch_open *o,
                     const struct file_watch_ops *ops, void *arg, struct file_watch **out,
                     struct hf_error *err);
/* Its reports go elsewhere from here on. */
void file_watch_set_ops(struct file_watch *w, const struct file_watch_ops *ops, void *arg);
void file_watch_pump(struct file_watch *w); /* there is room again; NULL is fine */
/* Terminates and frees it; no callback follows. Safe inside the callbacks. NULL is fine. */
void file_watch_stop(struct file_watch *w);

#endif
