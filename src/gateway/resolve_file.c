/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_file.c - sandboxes in a file, which is read again when it changes
 *
 * The directory is watched, not the file: an atomic update writes a new file and renames it, or
 * replaces a symbolic link's target (mounted ConfigMaps). Most events of the directory may be
 * unrelated, so the file is read only when its status has changed. If it cannot be read or parsed,
 * the known sandboxes stay. Layer: gateway.
 */
#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/resolver.h"
#include "transport/http_server.h"

#define FILE_MAX_BYTES (16 << 20)
/* A file may change again without a new modification time, as long as that time is recent. */
#define FILE_FRESH_MS 2000

struct file_resolver {
    struct resolver r;
    struct roster *roster;
    struct watch *watch;
    char *path;
    struct stat read; /* its status when it was last read; {0}: it could not be */
    int fd;
    bool fresh; /* it had just been changed then */
    bool loaded;
};

static int64_t changed_ms(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;
}

/* Taken before reading: a change after this is seen next time. */
static void file_note(struct file_resolver *f)
{
    if (stat(f->path, &f->read) < 0)
        f->read = (struct stat){0};
    f->fresh = clock_wall_ms() - changed_ms(&f->read) < FILE_FRESH_MS;
}

static bool file_is_unchanged(const struct file_resolver *f)
{
    const struct stat *was = &f->read;
    struct stat now;

    return !f->fresh && stat(f->path, &now) == 0 && now.st_dev == was->st_dev &&
           now.st_ino == was->st_ino && now.st_size == was->st_size &&
           now.st_ctim.tv_sec == was->st_ctim.tv_sec && now.st_ctim.tv_nsec == was->st_ctim.tv_nsec;
}

static int file_load(struct file_resolver *f, struct hf_error *err)
{
    struct roster *fresh = roster_new();
    struct buf text = {0};
    int rc;

    file_note(f);
    rc = io_read_file(f->path, FILE_MAX_BYTES, &text);
    if (rc < 0)
        hf_fail(err, HF_E_bad_value, "Cannot read %s: %s.", f->path, strerror(-rc));
    else
        rc = roster_parse(fresh, text.len > 0 ? buf_data(&text) : "", text.len, err);
    if (rc == 0) {
        roster_swap(f->roster, fresh);
        f->loaded = true;
    }
    roster_free(fresh);
    buf_wipe(&text);
    return rc;
}

static void file_on_change(struct watch *w, int events, void *arg)
{
    struct file_resolver *f = arg;
    struct hf_error err = {0};
    char bytes[4096];

    (void)w, (void)events;
    while (hf_read(f->fd, bytes, sizeof bytes) > 0)
        ;
    if (file_is_unchanged(f))
        return;
    if (file_load(f, &err) < 0)
        log_warn("keeping the known sandboxes: %s", err.detail);
    else
        log_info("%zu sandboxes in %s", roster_count(f->roster), f->path);
}

static void file_watch(struct file_resolver *f, struct loop *loop)
{
    char *slash = strrchr(f->path, '/');
    hf_autofree char *dir =
        slash == NULL ? hf_xstrdup(".") : hf_xstrndup(f->path, (size_t)(slash - f->path) + 1);

    f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (f->fd < 0 ||
        inotify_add_watch(f->fd, dir, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0) {
        log_warn("cannot watch %s for changes: %s", f->path, strerror(errno));
        return;
    }
    f->watch = watch_new(loop, f->fd, file_on_change, f);
    watch_set(f->watch, LOOP_READ);
}

static void file_close(struct resolver *r)
{
    struct file_resolver *f = (struct file_resolver *)r;

    watch_close(f->watch);
    io_close(&f->fd);
    roster_free(f->roster);
    free(f->path);
    free(f);
}

static struct resolver *file_open(struct http_server *s, const char *url, struct hf_error *err)
{
    struct file_resolver *f = hf_xalloc(sizeof *f);
    const char *path = url + 5;

    f->fd = -1;
    f->roster = roster_new();
    f->path = hf_xstrdup(strncmp(path, "//", 2) == 0 ? path + 2 : path);
    if (file_load(f, err) < 0) {
        file_close(&f->r);
        return NULL;
    }
    file_watch(f, s->loop);
    return &f->r;
}

static void file_find(struct resolver *r, struct lookup *l)
{
    struct file_resolver *f = (struct file_resolver *)r;
    struct endpoint *e = roster_get(f->roster, l->id);

    resolver_lookup_done(l, e != NULL ? 0 : -ENOENT, e);
}

static bool file_is_ready(const struct resolver *r)
{
    return ((const struct file_resolver *)r)->loaded;
}

const struct resolver_class resolver_file = {
    .scheme = "file",
    .is_operators = true,
    .open = file_open,
    .close = file_close,
    .find = file_find,
    .is_ready = file_is_ready,
};
