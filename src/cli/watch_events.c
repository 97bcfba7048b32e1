/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_events.c - turns the kernel's events into changes of a tree. Layer: cli.
 */
#include "cli/watch_events.h"

#include <stdio.h>
#include <string.h>

const char *watch_change_name(enum watch_change c)
{
    static const char *const names[] = {"create", "write", "remove", "rename", "chmod"};

    return names[c];
}

void watch_events_init(struct watch_events *e, struct watch_tree *t, bool recursive,
                       const struct watch_events_ops *ops, void *arg)
{
    memset(e, 0, sizeof *e);
    e->tree = t;
    e->recursive = recursive;
    e->ops = ops;
    e->arg = arg;
    e->parent_wd = -1;
}

void watch_events_fini(struct watch_events *e)
{
    buf_fini(&e->last_path);
    buf_fini(&e->path);
    buf_fini(&e->from);
    buf_fini(&e->pair_from);
    buf_fini(&e->pair_to);
}

/* --- reports -------------------------------------------------------------------------------- */

/* See files/files_output.c. */
static bool is_temporary(const char *name)
{
    static const char head[] = ".holdfast-";

    if (strncmp(name, head, strlen(head)) != 0)
        return false;
    name += strlen(head);
    return strspn(name, "0123456789abcdef") == 16 && strcmp(name + 16, ".part") == 0;
}

static void copy_text(struct buf *to, struct buf *from)
{
    buf_clear(to);
    buf_puts(to, buf_cstr(from));
}

static bool is_same(struct buf *a, struct buf *b)
{
    return strcmp(buf_cstr(a), buf_cstr(b)) == 0;
}

static void report(struct watch_events *e, enum watch_change c, bool dir, bool renamed)
{
    bool again = e->has_last && e->last == c && is_same(&e->last_path, &e->path);

    if (e->ended || (again && (c == WATCH_WRITE || c == WATCH_CHMOD)))
        return;
    e->has_last = true;
    e->last = c;
    e->has_pair = false;
    copy_text(&e->last_path, &e->path);
    e->ops->change(e->arg, c, buf_cstr(&e->path), renamed ? buf_cstr(&e->from) : NULL, dir);
}

void watch_events_report(struct watch_events *e, enum watch_change c, struct watch_dir *d,
                         const char *name, bool dir)
{
    if (is_temporary(name))
        return;
    watch_tree_path(d, name, &e->path);
    report(e, c, dir, false);
}

void watch_events_end(struct watch_events *e, const char *reason)
{
    watch_events_flush(e);
    if (!e->ended)
        e->ops->ended(e->arg, reason);
    e->ended = true;
}

/* --- first halves of renames ---------------------------------------------------------------- */

static void half_drop(struct watch_events *e, size_t i)
{
    e->half_count--;
    memmove(&e->halves[i], &e->halves[i + 1], (e->half_count - i) * sizeof e->halves[0]);
}

static void forget_child(struct watch_events *e, struct watch_dir *d, const char *name)
{
    struct watch_dir *child = watch_tree_child(e->tree, d, name);

    if (child != NULL)
        watch_tree_remove(e->tree, child, e->ops->drop, e->arg);
}

static void gone(struct watch_events *e, struct watch_dir *d, const char *name, bool is_dir);

/* If its directory was forgotten meanwhile, then that was reported. */
static void half_flush(struct watch_events *e, size_t i)
{
    struct watch_half h = e->halves[i];
    struct watch_dir *d = watch_tree_find(e->tree, h.wd);

    half_drop(e, i);
    if (d != NULL)
        gone(e, d, h.name, h.is_dir);
}

/* Those below a directory that is forgotten are reported before it. */
static void half_flush_below(struct watch_events *e, const struct watch_dir *top)
{
    for (size_t i = e->half_count; i > 0; i--) {
        struct watch_half h = e->halves[i - 1];
        struct watch_dir *d = watch_tree_find(e->tree, h.wd);

        if (d != NULL && !watch_tree_is_within(d, top))
            continue;
        half_drop(e, i - 1);
        if (d != NULL)
            watch_events_report(e, WATCH_REMOVE, d, h.name, h.is_dir);
    }
}

static void gone(struct watch_events *e, struct watch_dir *d, const char *name, bool is_dir)
{
    struct watch_dir *child = watch_tree_child(e->tree, d, name);

    if (child != NULL)
        half_flush_below(e, child);
    watch_events_report(e, WATCH_REMOVE, d, name, is_dir);
    forget_child(e, d, name);
}

/* Another event is about the name that something has left. */
static void half_flush_name(struct watch_events *e, const struct watch_dir *d, const char *name)
{
    for (size_t i = 0; i < e->half_count; i++)
        if (e->halves[i].wd == d->wd && strcmp(e->halves[i].name, name) == 0) {
            half_flush(e, i);
            return;
        }
}

static void half_add(struct watch_events *e, const struct watch_dir *d, const char *name,
                     uint32_t cookie, bool is_dir)
{
    struct watch_half *h;

    if (e->half_count == WATCH_HALVES_MAX)
        half_flush(e, 0);
    h = &e->halves[e->half_count++];
    *h = (struct watch_half){.wd = d->wd, .cookie = cookie, .is_dir = is_dir};
    snprintf(h->name, sizeof h->name, "%s", name);
}

static bool half_take(struct watch_events *e, uint32_t cookie, struct watch_half *out)
{
    for (size_t i = 0; i < e->half_count; i++)
        if (e->halves[i].cookie == cookie) {
            *out = e->halves[i];
            half_drop(e, i);
            return true;
        }
    return false;
}

void watch_events_flush(struct watch_events *e)
{
    while (e->half_count > 0)
        half_flush(e, 0);
}

bool watch_events_waits(const struct watch_events *e)
{
    return e->half_count > 0;
}

/* --- files that get their name when they are whole ------------------------------------------- */

static bool nameless_take(struct watch_events *e, int wd)
{
    for (size_t i = 0; i < e->nameless_count; i++)
        if (e->nameless[i].wd == wd) {
            e->nameless_count--;
            memmove(&e->nameless[i], &e->nameless[i + 1],
                    (e->nameless_count - i) * sizeof e->nameless[0]);
            return true;
        }
    return false;
}

static void nameless_add(struct watch_events *e, int wd, const char *name)
{
    for (size_t i = 0; i < e->nameless_count; i++)
        if (e->nameless[i].wd == wd && strcmp(e->nameless[i].name, name) == 0)
            return;
    if (e->nameless_count == WATCH_NAMELESS_MAX)
        nameless_take(e, e->nameless[0].wd);
    e->nameless[e->nameless_count] = (struct watch_nameless){.wd = wd};
    snprintf(e->nameless[e->nameless_count++].name, sizeof e->nameless[0].name, "%s", name);
}

/* The kernel reports changes of a nameless file's mode and owner under "#" and its number. */
static bool is_nameless(struct watch_events *e, struct watch_dir *d, const char *name)
{
    size_t digits = name[0] == '#' ? strspn(name + 1, "0123456789") : 0;
    bool is_dir;

    return digits > 0 && name[digits + 1] == '\0' && !e->ops->exists(e->arg, d, name, &is_dir);
}

/* --- what happened --------------------------------------------------------------------------- */

static void came(struct watch_events *e, struct watch_dir *d, const char *name, bool is_dir)
{
    struct watch_dir *child = is_dir ? watch_tree_child(e->tree, d, name) : NULL;

    if (child != NULL)
        return; /* a scan of its parent has found and reported it already */
    watch_events_report(e, WATCH_CREATE, d, name, is_dir);
    if (is_dir && e->recursive)
        e->ops->appeared(e->arg, d, name);
}

/* It may be one that was nameless. If it is another, it is reported as written once too often. */
static void created(struct watch_events *e, struct watch_dir *d, const char *name, bool is_dir)
{
    if (is_temporary(name)) {
        nameless_take(e, d->wd);
        nameless_add(e, d->wd, "");
        return;
    }
    came(e, d, name, is_dir);
    if (!is_dir && nameless_take(e, d->wd))
        watch_events_report(e, WATCH_WRITE, d, name, false);
}

/* What has this name now may be something else than before. */
static void replaced(struct watch_events *e, int wd, const char *name)
{
    struct watch_dir *d = watch_tree_find(e->tree, wd);
    bool is_dir;

    if (d == NULL || !e->ops->exists(e->arg, d, name, &is_dir))
        return;
    gone(e, d, name, is_dir);
    came(e, d, name, is_dir);
}

/*
 * Two files that are exchanged look like a rename and a rename back, which would leave one of them.
 * So if the name from which the second came exists, both are reported anew.
 */
static bool is_exchange(struct watch_events *e, struct watch_dir *from, const char *name)
{
    bool is_dir;

    return e->has_pair && is_same(&e->from, &e->pair_to) && is_same(&e->path, &e->pair_from) &&
           e->ops->exists(e->arg, from, name, &is_dir);
}

/* The directory keeps its watch, and all below it theirs. */
static void follow(struct watch_events *e, struct watch_dir *moved, struct watch_dir *d,
                   const char *name)
{
    if (moved == NULL || !watch_tree_move(e->tree, moved, d, name, e->ops->drop, e->arg))
        e->ops->appeared(e->arg, d, name);
    else
        e->ops->moved(e->arg, moved);
}

static void renamed(struct watch_events *e, const struct watch_half *h, struct watch_dir *from,
                    struct watch_dir *d, const char *name)
{
    int wd = d->wd;
    bool exchanged;

    watch_tree_path(from, h->name, &e->from);
    watch_tree_path(d, name, &e->path);
    exchanged = is_exchange(e, from, h->name);
    report(e, WATCH_RENAME, h->is_dir, true);
    e->has_pair = true;
    copy_text(&e->pair_from, &e->from);
    copy_text(&e->pair_to, &e->path);
    if (h->is_dir && e->recursive)
        follow(e, watch_tree_child(e->tree, from, h->name), d, name);
    if (exchanged) {
        replaced(e, wd, name);
        replaced(e, h->wd, h->name);
    }
}

static void moved_to(struct watch_events *e, struct watch_dir *d, const char *name, uint32_t cookie,
                     bool is_dir)
{
    struct watch_dir *from;
    struct watch_half h;

    half_flush_name(e, d, name);
    from = half_take(e, cookie, &h) ? watch_tree_find(e->tree, h.wd) : NULL;
    if (from != NULL && is_temporary(h.name)) {
        nameless_add(e, d->wd, "");
        created(e, d, name, is_dir); /* what it replaced may be gone by now */
        return;
    }
    if (from != NULL) {
        renamed(e, &h, from, d, name);
        return;
    }
    forget_child(e, d, name);
    came(e, d, name, is_dir);
}

static void about_child(struct watch_events *e, struct watch_dir *d, uint32_t mask, uint32_t cookie,
                        const char *name)
{
    bool is_dir = (mask & IN_ISDIR) != 0;

    if (mask & IN_MOVED_TO) {
        moved_to(e, d, name, cookie, is_dir);
        return;
    }
    half_flush_name(e, d, name);
    if (mask & IN_MOVED_FROM)
        half_add(e, d, name, cookie, is_dir);
    else if (mask & IN_CREATE)
        created(e, d, name, is_dir);
    else if (mask & IN_DELETE)
        gone(e, d, name, is_dir);
    else if (mask & IN_MODIFY)
        watch_events_report(e, WATCH_WRITE, d, name, is_dir);
    else if (mask & IN_ATTRIB) {
        if (is_nameless(e, d, name)) {
            nameless_add(e, d->wd, name);
            return;
        }
        watch_events_report(e, WATCH_CHMOD, d, name, is_dir);
        if (is_dir && e->recursive && watch_tree_child(e->tree, d, name) == NULL)
            e->ops->appeared(e->arg, d, name); /* it may have become readable */
    }
}

/* Only the root: the parents of others report the same. */
static void about_root(struct watch_events *e, struct watch_dir *d, uint32_t mask)
{
    if (mask & IN_DELETE_SELF)
        watch_events_end(e, "removed");
    else if (mask & IN_MOVE_SELF)
        watch_events_end(e, "moved");
    else if (mask & IN_UNMOUNT)
        watch_events_end(e, "unmounted");
    else if (mask & IN_IGNORED)
        watch_events_end(e, "removed");
    else if (mask & IN_ATTRIB)
        watch_events_report(e, WATCH_CHMOD, d, "", true);
}

static void one_event(struct watch_events *e, int wd, uint32_t mask, uint32_t cookie,
                      const char *name)
{
    struct watch_dir *d = watch_tree_find(e->tree, wd);

    if (mask & IN_Q_OVERFLOW) {
        watch_events_flush(e);
        e->has_last = false;
        e->ops->overflow(e->arg);
    } else if (wd == e->parent_wd) {
        if (strcmp(name, e->root_name) == 0 && (mask & (IN_DELETE | IN_MOVED_FROM)))
            watch_events_end(e, mask & IN_DELETE ? "removed" : "moved");
    } else if (d == NULL) {
        return; /* of a directory that was forgotten meanwhile */
    } else if (d->parent == NULL && name[0] == '\0') {
        about_root(e, d, mask);
    } else if (mask & IN_IGNORED) {
        half_flush_below(e, d);
        watch_tree_remove(e->tree, d, e->ops->drop, e->arg);
    } else if (name[0] != '\0') {
        about_child(e, d, mask, cookie, name);
    }
}

/* --- batches --------------------------------------------------------------------------------- */

static const struct inotify_event *event_at(const char *batch, size_t *at)
{
    const struct inotify_event *ev = (const struct inotify_event *)(const void *)(batch + *at);

    *at += sizeof *ev + ev->len;
    return ev;
}

static bool has_second_half(const char *batch, size_t at, size_t len, uint32_t cookie)
{
    while (at < len) {
        const struct inotify_event *ev = event_at(batch, &at);

        if ((ev->mask & IN_MOVED_TO) && ev->cookie == cookie)
            return true;
    }
    return false;
}

/* Nothing of this batch completes these. */
static void flush_others(struct watch_events *e, const char *batch, size_t at, size_t len)
{
    for (size_t i = e->half_count; i > 0; i--)
        if (i <= e->half_count && !has_second_half(batch, at, len, e->halves[i - 1].cookie))
            half_flush(e, i - 1);
}

void watch_events_feed(struct watch_events *e, const char *batch, size_t len)
{
    size_t at = 0;

    e->has_last = false;
    flush_others(e, batch, 0, len);
    while (at < len && !e->ended) {
        const struct inotify_event *ev = event_at(batch, &at);

        one_event(e, ev->wd, ev->mask, ev->cookie, ev->len > 0 ? ev->name : "");
        if ((ev->mask & IN_MOVED_FROM) && at < len)
            flush_others(e, batch, at, len);
    }
}
