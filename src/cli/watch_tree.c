/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_tree.c - the directories that are watched. Layer: cli.
 */
#include "cli/watch_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUCKETS_FIRST 64 /* a power of two, and doubled when there are as many directories */

static size_t hash_wd(const struct watch_tree *t, int wd)
{
    return ((uint32_t)wd * 2654435761u >> 7) & (t->buckets - 1);
}

static size_t hash_name(const struct watch_tree *t, const struct watch_dir *parent,
                        const char *name)
{
    uint64_t h = (uint64_t)(uintptr_t)parent * 0x9E3779B97F4A7C15u;

    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001B3u;
    return (size_t)(h ^ h >> 29) & (t->buckets - 1);
}

void watch_tree_init(struct watch_tree *t, size_t max)
{
    *t = (struct watch_tree){.buckets = BUCKETS_FIRST, .max = max};
    t->wds = hf_xalloc(t->buckets * sizeof(struct watch_dir *));
    t->names = hf_xalloc(t->buckets * sizeof(struct watch_dir *));
}

void watch_tree_fini(struct watch_tree *t)
{
    if (t->root != NULL)
        watch_tree_remove(t, t->root, NULL, NULL);
    free(t->wds);
    free(t->names);
}

/* --- the two tables ------------------------------------------------------------------------- */

static void link_wd(struct watch_tree *t, struct watch_dir *d)
{
    struct watch_dir **at = &t->wds[hash_wd(t, d->wd)];

    d->by_wd = *at;
    *at = d;
}

static void link_name(struct watch_tree *t, struct watch_dir *d)
{
    struct watch_dir **at = &t->names[hash_name(t, d->parent, d->name)];

    d->by_name = *at;
    *at = d;
}

static void unlink_name(struct watch_tree *t, struct watch_dir *d)
{
    struct watch_dir **at = &t->names[hash_name(t, d->parent, d->name)];

    while (*at != d)
        at = &(*at)->by_name;
    *at = d->by_name;
}

static void unlink_wd(struct watch_tree *t, struct watch_dir *d)
{
    struct watch_dir **at = &t->wds[hash_wd(t, d->wd)];

    while (*at != d)
        at = &(*at)->by_wd;
    *at = d->by_wd;
}

static void grow(struct watch_tree *t)
{
    struct watch_dir **old = t->wds, *d, *next;
    size_t count = t->buckets;

    free(t->names);
    t->buckets = count * 2;
    t->wds = hf_xalloc(t->buckets * sizeof(struct watch_dir *));
    t->names = hf_xalloc(t->buckets * sizeof(struct watch_dir *));
    for (size_t i = 0; i < count; i++)
        for (d = old[i]; d != NULL; d = next) {
            next = d->by_wd;
            link_wd(t, d);
            link_name(t, d);
        }
    free(old);
}

/* --- directories ----------------------------------------------------------------------------- */

struct watch_dir *watch_tree_find(const struct watch_tree *t, int wd)
{
    struct watch_dir *d = t->wds[hash_wd(t, wd)];

    while (d != NULL && d->wd != wd)
        d = d->by_wd;
    return d;
}

struct watch_dir *watch_tree_child(const struct watch_tree *t, const struct watch_dir *parent,
                                   const char *name)
{
    struct watch_dir *d = t->names[hash_name(t, parent, name)];

    while (d != NULL && (d->parent != parent || strcmp(d->name, name) != 0))
        d = d->by_name;
    return d;
}

struct watch_dir *watch_tree_add(struct watch_tree *t, struct watch_dir *parent, const char *name,
                                 int wd)
{
    struct watch_dir *d;

    assert((parent == NULL) == (t->root == NULL));
    if (t->count >= t->max)
        return NULL;
    if (t->count >= t->buckets)
        grow(t);
    d = hf_xalloc(sizeof *d);
    d->parent = parent;
    d->name = hf_xstrdup(name);
    d->wd = wd;
    list_init(&d->link);
    list_init(&d->children);
    if (parent != NULL)
        list_append(&parent->children, &d->link);
    else
        t->root = d;
    link_wd(t, d);
    link_name(t, d);
    t->count++;
    return d;
}

static void forget(struct watch_tree *t, struct watch_dir *d, watch_drop_fn *drop, void *arg)
{
    int wd = d->wd;

    unlink_wd(t, d);
    unlink_name(t, d);
    list_remove(&d->link);
    if (t->root == d)
        t->root = NULL;
    t->count--;
    free(d->name);
    free(d);
    if (drop != NULL)
        drop(arg, wd);
}

static struct watch_dir *deepest(struct watch_dir *d)
{
    while (!list_is_empty(&d->children))
        d = list_entry(d->children.next, struct watch_dir, link);
    return d;
}

void watch_tree_remove(struct watch_tree *t, struct watch_dir *d, watch_drop_fn *drop, void *arg)
{
    for (;;) {
        struct watch_dir *leaf = deepest(d);
        bool last = leaf == d;

        forget(t, leaf, drop, arg);
        if (last)
            return;
    }
}

bool watch_tree_is_within(const struct watch_dir *d, const struct watch_dir *ancestor)
{
    while (d != NULL && d != ancestor)
        d = d->parent;
    return d != NULL;
}

bool watch_tree_move(struct watch_tree *t, struct watch_dir *d, struct watch_dir *parent,
                     const char *name, watch_drop_fn *drop, void *arg)
{
    struct watch_dir *there = watch_tree_child(t, parent, name);

    if (watch_tree_is_within(parent, d))
        return false;
    if (there == d)
        return true;
    if (there != NULL && watch_tree_is_within(d, there))
        return false;
    if (there != NULL)
        watch_tree_remove(t, there, drop, arg);
    unlink_name(t, d);
    list_remove(&d->link);
    free(d->name);
    d->name = hf_xstrdup(name);
    d->parent = parent;
    list_append(&parent->children, &d->link);
    link_name(t, d);
    return true;
}

/* --- paths ------------------------------------------------------------------------------------ */

static size_t path_length(const struct watch_dir *d)
{
    size_t len = 0;

    for (; d->parent != NULL; d = d->parent)
        len += strlen(d->name) + 1;
    return len;
}

/* Written from its end, since a directory knows its parent only. */
void watch_tree_path(const struct watch_dir *d, const char *name, struct buf *out)
{
    size_t at = path_length(d), tail = strlen(name), total = at + tail;
    char *text;

    buf_clear(out);
    if (total == 0) {
        buf_puts(out, ".");
        return;
    }
    text = hf_xalloc(total + 1);
    memcpy(text + at, name, tail);
    for (; d->parent != NULL; d = d->parent) {
        size_t len = strlen(d->name);

        text[--at] = '/';
        at -= len;
        memcpy(text + at, d->name, len);
    }
    buf_put(out, text, tail > 0 ? total : total - 1);
    free(text);
}
