/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_watch.c - `holdfast file-op watch DIR OPTIONS`: reports changes until it is terminated
 *
 * OPTIONS are words separated by commas: `recursive`; `entries`, which describes the file after
 * each change; `local`, which refuses network mounts; `-`.
 * The lines on standard output are those of dialects/common/file_watch.h. There is no queue here:
 * while nobody reads the lines, writing them blocks, the kernel's queue overflows, and the kernel
 * reports that. Idle, the process waits in poll(2) without a timeout. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/builtin_commands.h"
#include "cli/watch_events.h"
#include "cli/watch_scan.h"
#include "files/files.h"

#define BATCH_BYTES (64 * 1024)     /* events that are read at once */
#define OUT_BYTES (64 * 1024)       /* lines that are written at once */
#define UNWATCHED_BYTES (64 * 1024) /* of lines about directories that cannot be watched at first */
#define HALF_MS                                                                                    \
    20 /* for the second half of a rename, which the kernel queues just after the first */

struct file_op_watch {
    struct watch_scan scan;
    struct watch_events events;
    struct buf out, unwatched, path;
    uint64_t unwatched_count;
    bool entries, ready, ended;
    int failed; /* an errno of writing, or a path that is too long; 0: none */
};

/* --- lines ---------------------------------------------------------------------------------- */

static void flush_lines(struct file_op_watch *w)
{
    int rc = w->failed == 0 ? io_write_all(STDOUT_FILENO, buf_data(&w->out), w->out.len) : 0;

    if (rc < 0)
        w->failed = -rc;
    buf_clear(&w->out);
}

static struct json_out line_open(struct buf *out, const char *type)
{
    struct json_out o;

    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "type", type);
    return o;
}

static void line_close(struct json_out *o)
{
    json_close(o, '}');
    buf_putc(o->buf, '\n');
}

/* A name may be any bytes; JSON is text. */
static void line_path(struct json_out *o, const char *key, const char *exact_key, const char *path)
{
    size_t len = strlen(path);

    json_kstrn(o, key, path, len);
    if (utf8_is_valid(path, len))
        return;
    json_key(o, exact_key);
    json_base64(o, path, len);
}

static bool is_too_long(struct file_op_watch *w, const char *path)
{
    if (path == NULL || strlen(path) <= LIMIT_FILE_WATCH_PATH_BYTES)
        return false;
    w->failed = ENAMETOOLONG;
    return true;
}

/* What has the name by now after a removal is not what was removed. */
static void line_entry(struct file_op_watch *w, struct json_out *o, const char *path)
{
    bool is_root = strcmp(path, ".") == 0;
    struct stat st;

    buf_clear(&w->path);
    buf_printf(&w->path, "%s%s%s", w->scan.path, is_root ? "" : "/", is_root ? "" : path);
    if (lstat(buf_cstr(&w->path), &st) < 0)
        return;
    json_kopen(o, "entry", '{');
    files_put_entry(o, AT_FDCWD, buf_cstr(&w->path), buf_cstr(&w->path), &st);
    json_close(o, '}');
}

static void on_change(void *arg, enum watch_change c, const char *path, const char *from, bool dir)
{
    struct file_op_watch *w = arg;
    struct json_out o;

    if (is_too_long(w, path) || is_too_long(w, from))
        return;
    o = line_open(&w->out, watch_change_name(c));
    line_path(&o, "path", "path_base64", path);
    if (from != NULL)
        line_path(&o, "from", "from_base64", from);
    json_kbool(&o, "dir", dir);
    if (w->entries && c != WATCH_REMOVE)
        line_entry(w, &o, path);
    line_close(&o);
    if (w->out.len >= OUT_BYTES)
        flush_lines(w);
}

static void on_found(void *arg, struct watch_dir *d, const char *name, bool dir)
{
    struct file_op_watch *w = arg;

    watch_events_report(&w->events, WATCH_CREATE, d, name, dir);
}

static void on_unwatched(void *arg, struct watch_dir *parent, const char *name, int errnum)
{
    struct file_op_watch *w = arg;
    struct buf *out = w->ready ? &w->out : &w->unwatched;
    struct json_out o;

    w->unwatched_count++;
    watch_tree_path(parent, name, &w->path);
    if (is_too_long(w, buf_cstr(&w->path)) || (!w->ready && out->len >= UNWATCHED_BYTES))
        return;
    o = line_open(out, "unwatched");
    line_path(&o, "path", "path_base64", buf_cstr(&w->path));
    json_kstr(&o, "errno", hf_errno_name(errnum));
    line_close(&o);
}

static void on_ended(void *arg, const char *reason)
{
    struct file_op_watch *w = arg;
    struct json_out o = line_open(&w->out, "end");

    json_kstr(&o, "reason", reason);
    line_close(&o);
    w->ended = true;
}

/* The watches are complete again before this is reported: a client that reads the tree now misses
 * nothing. */
static void on_overflow(void *arg)
{
    struct file_op_watch *w = arg;
    struct json_out o;

    watch_scan_again(&w->scan);
    if (w->scan.lost_root) {
        watch_events_end(&w->events, "moved");
        return;
    }
    o = line_open(&w->out, "overflow");
    line_close(&o);
}

static void write_ready(struct file_op_watch *w)
{
    struct json_out o = line_open(&w->out, "ready");

    json_ku64(&o, "directories", w->scan.tree.count);
    json_ku64(&o, "unwatched", w->unwatched_count);
    line_close(&o);
    buf_put(&w->out, buf_data(&w->unwatched), w->unwatched.len);
    buf_fini(&w->unwatched);
    w->ready = true;
    flush_lines(w);
}

static void on_appeared(void *arg, struct watch_dir *parent, const char *name)
{
    struct file_op_watch *w = arg;

    watch_scan_appeared(&w->scan, parent, name);
    if (w->scan.lost_root)
        watch_events_end(&w->events, "moved");
}

static void on_moved(void *arg, struct watch_dir *d)
{
    watch_scan_moved(&((struct file_op_watch *)arg)->scan, d);
}

static bool on_exists(void *arg, struct watch_dir *parent, const char *name, bool *dir)
{
    return watch_scan_exists(&((struct file_op_watch *)arg)->scan, parent, name, dir);
}

static void on_drop(void *arg, int wd)
{
    watch_scan_drop(&((struct file_op_watch *)arg)->scan, wd);
}

static const struct watch_scan_ops scan_ops = {.found = on_found, .unwatched = on_unwatched};
static const struct watch_events_ops events_ops = {
    .change = on_change,
    .appeared = on_appeared,
    .moved = on_moved,
    .exists = on_exists,
    .drop = on_drop,
    .overflow = on_overflow,
    .ended = on_ended,
};

/* --- events --------------------------------------------------------------------------------- */

static void read_batch(struct file_op_watch *w)
{
    static char batch[BATCH_BYTES] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = hf_read(w->scan.fd, batch, sizeof batch);

    if (n > 0) {
        watch_scan_events(&w->scan);
        watch_events_feed(&w->events, batch, (size_t)n);
    }
    if (n <= 0 && n != -EAGAIN)
        w->failed = n < 0 ? (int)-n : EIO;
}

static void watch_step(struct file_op_watch *w)
{
    struct pollfd fds[] = {{w->scan.fd, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    bool waits = watch_events_waits(&w->events), repair = !waits && w->scan.doubt;

    if (io_poll(fds, 2, waits ? HALF_MS : repair ? 0 : -1) < 0)
        return;
    if (fds[1].revents != 0)
        w->failed = EPIPE;
    else if (fds[0].revents != 0)
        read_batch(w);
    else if (waits)
        watch_events_flush(&w->events);
    else
        watch_scan_repair(&w->scan);
    if (!w->ended && !repair)
        watch_scan_retry(&w->scan);
    if (w->scan.missed && !w->ended)
        on_overflow(w);
    flush_lines(w);
}

/* --- the command ---------------------------------------------------------------------------- */

static int explain(const struct file_op_watch *w, int errnum, const char *path)
{
    if (errnum == ENOSPC && w->scan.tree.count >= w->scan.tree.max)
        fprintf(stderr, "ENOSPC %s: there are more than %d directories to watch\n", path,
                LIMIT_FILE_WATCH_DIRS);
    else if (errnum == ENOSPC)
        fprintf(stderr, "ENOSPC %s: the kernel's limit fs.inotify.max_user_watches is reached\n",
                path);
    else if (errnum == EMFILE)
        fprintf(stderr, "EMFILE %s: the kernel's limit fs.inotify.max_user_instances is reached\n",
                path);
    else if (errnum == EREMOTE)
        fprintf(stderr, "EREMOTE %s: it is on a network mount\n", path);
    else
        files_fail(errnum, path);
    return 1;
}

static bool has_option(const char *options, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = options; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* The kernel reports only what this machine changes on these. */
static bool is_on_network(const char *path)
{
    struct statfs fs;

    if (statfs(path, &fs) < 0)
        return false;
    switch ((uint32_t)fs.f_type) {
    case NFS_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case FUSE_SUPER_MAGIC: return true;
    default: return false;
    }
}

static int watch_run(struct file_op_watch *w, bool local)
{
    int rc = local && is_on_network(w->scan.path) ? EREMOTE : 0;

    if (rc == 0 && (w->scan.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) < 0)
        rc = errno;
    if (rc == 0)
        rc = watch_scan_begin(&w->scan);
    if (rc == 0) {
        w->events.parent_wd = w->scan.parent_wd;
        w->events.root_name = watch_scan_root_name(&w->scan);
        write_ready(w);
    }
    while (rc == 0 && !w->ended) {
        watch_step(w);
        rc = w->scan.failed != 0 ? w->scan.failed : w->failed;
    }
    return rc == 0 ? 0 : explain(w, rc, w->scan.path);
}

int file_op_watch(char **args)
{
    struct file_op_watch w = {.scan = {.ops = &scan_ops, .path = args[0], .fd = -1}};
    int rc;

    w.scan.arg = &w;
    w.scan.recursive = has_option(args[1], "recursive");
    w.entries = has_option(args[1], "entries");
    watch_tree_init(&w.scan.tree, LIMIT_FILE_WATCH_DIRS);
    watch_events_init(&w.events, &w.scan.tree, w.scan.recursive, &events_ops, &w);
    rc = watch_run(&w, has_option(args[1], "local"));
    watch_events_fini(&w.events);
    watch_scan_fini(&w.scan);
    buf_fini(&w.out);
    buf_fini(&w.unwatched);
    buf_fini(&w.path);
    return rc;
}
