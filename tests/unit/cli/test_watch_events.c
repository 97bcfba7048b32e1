/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_watch_events.c - the kernel's events become changes, and paths follow their directories
 */
#include "cli/watch_events.h"

#include "base/buf.h"
#include "test.h"

/* A watch without a kernel: what it reports and requests becomes a line of text. */
struct rig {
    struct watch_tree tree;
    struct watch_events events;
    struct buf log, batch;
    const char *exists; /* a name that something has */
};

static void log_change(void *arg, enum watch_change c, const char *path, const char *from, bool dir)
{
    struct rig *r = arg;

    buf_printf(&r->log, "%s %s%s%s%s;", watch_change_name(c), from != NULL ? from : "",
               from != NULL ? ">" : "", path, dir ? "/" : "");
}

static void log_appeared(void *arg, struct watch_dir *parent, const char *name)
{
    struct rig *r = arg;
    hf_autobuf struct buf path = {0};

    watch_tree_path(parent, name, &path);
    buf_printf(&r->log, "watch %s;", buf_cstr(&path));
}

static void log_moved(void *arg, struct watch_dir *d)
{
    buf_printf(&((struct rig *)arg)->log, "moved %d;", d->wd);
}

static bool is_there(void *arg, struct watch_dir *parent, const char *name, bool *dir)
{
    const struct rig *r = arg;

    (void)parent;
    *dir = false;
    return r->exists != NULL && (r->exists[0] == '*' || strcmp(r->exists, name) == 0);
}

static void log_drop(void *arg, int wd)
{
    buf_printf(&((struct rig *)arg)->log, "drop %d;", wd);
}

static void log_overflow(void *arg)
{
    buf_puts(&((struct rig *)arg)->log, "overflow;");
}

static void log_ended(void *arg, const char *reason)
{
    buf_printf(&((struct rig *)arg)->log, "end %s;", reason);
}

static const struct watch_events_ops ops = {
    .change = log_change,
    .appeared = log_appeared,
    .moved = log_moved,
    .exists = is_there,
    .drop = log_drop,
    .overflow = log_overflow,
    .ended = log_ended,
};

/* root (1) has a (2), which has b (3), and x (4). */
static void rig_init(struct rig *r)
{
    struct watch_dir *root, *a;

    memset(r, 0, sizeof *r);
    watch_tree_init(&r->tree, 100);
    root = watch_tree_add(&r->tree, NULL, "", 1);
    a = watch_tree_add(&r->tree, root, "a", 2);
    watch_tree_add(&r->tree, a, "b", 3);
    watch_tree_add(&r->tree, root, "x", 4);
    watch_events_init(&r->events, &r->tree, true, &ops, r);
}

static void rig_fini(struct rig *r)
{
    watch_events_fini(&r->events);
    watch_tree_fini(&r->tree);
    buf_fini(&r->log);
    buf_fini(&r->batch);
}

static void add(struct rig *r, int wd, uint32_t mask, uint32_t cookie, const char *name)
{
    const char zeros[16] = {0};
    size_t len = name[0] != '\0' ? (strlen(name) + 16) / 16 * 16 : 0;
    struct inotify_event ev = {.wd = wd, .mask = mask, .cookie = cookie, .len = (uint32_t)len};

    buf_put(&r->batch, &ev, sizeof ev);
    buf_puts(&r->batch, name);
    buf_put(&r->batch, zeros, len - strlen(name));
}

static void feed(struct rig *r)
{
    watch_events_feed(&r->events, buf_data(&r->batch), r->batch.len);
    buf_clear(&r->batch);
}

static const char *said(struct rig *r)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s", buf_cstr(&r->log));
    buf_clear(&r->log);
    return text;
}

#define DIR_ IN_ISDIR
#define FROM IN_MOVED_FROM
#define TO IN_MOVED_TO

TEST(each_event_is_a_change_with_its_path)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, IN_CREATE, 0, "f");
    add(&r, 2, IN_MODIFY, 0, "g");
    add(&r, 3, IN_ATTRIB, 0, "h");
    add(&r, 3, IN_DELETE, 0, "h");
    add(&r, 3, IN_CREATE | DIR_, 0, "new");
    add(&r, 99, IN_CREATE, 0, "unknown");
    feed(&r);
    EXPECT_STR(said(&r),
               "create f;write a/g;chmod a/b/h;remove a/b/h;create a/b/new/;watch a/b/new;");
    rig_fini(&r);
}

TEST(both_halves_of_a_rename_are_one_change)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM, 7, "f");
    add(&r, 3, TO, 7, "g");
    feed(&r);
    EXPECT_STR(said(&r), "rename f>a/b/g;");
    rig_fini(&r);
}

TEST(a_file_that_gets_its_name_when_it_is_whole_is_created_and_written)
{
    struct rig r;

    rig_init(&r);
    add(&r, 2, IN_ATTRIB, 0, "#123");
    add(&r, 2, IN_ATTRIB, 0, "#123");
    add(&r, 1, IN_CREATE, 0, "other");
    add(&r, 2, IN_CREATE, 0, "f");
    add(&r, 2, IN_CREATE, 0, "g");
    feed(&r);
    EXPECT_STR(said(&r), "create other;create a/f;write a/f;create a/g;");
    add(&r, 2, IN_ATTRIB, 0, "#124");
    add(&r, 2, IN_CREATE, 0, ".holdfast-0123456789abcdef.part");
    add(&r, 2, FROM, 7, ".holdfast-0123456789abcdef.part");
    add(&r, 2, TO, 7, "f");
    add(&r, 2, IN_CREATE, 0, "g");
    feed(&r);
    EXPECT_STR(said(&r), "create a/f;write a/f;create a/g;");
    add(&r, 2, IN_CREATE, 0, ".holdfast-0123456789abcde.part");
    r.exists = "#125";
    add(&r, 2, IN_ATTRIB, 0, "#125");
    feed(&r);
    EXPECT_STR(said(&r), "create a/.holdfast-0123456789abcde.part;chmod a/#125;");
    for (int i = 0; i <= WATCH_NAMELESS_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "#%d", i);
        add(&r, i == 0 ? 3 : 2, IN_ATTRIB, 0, name);
    }
    add(&r, 3, IN_CREATE, 0, "h");
    feed(&r);
    EXPECT_STR(said(&r), "create a/b/h;");
    rig_fini(&r);
}

TEST(halves_in_two_batches_are_one_change)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM, 7, "f");
    feed(&r);
    EXPECT_STR(said(&r), "");
    EXPECT(watch_events_waits(&r.events));
    add(&r, 1, TO, 7, "g");
    feed(&r);
    EXPECT_STR(said(&r), "rename f>g;");
    EXPECT(!watch_events_waits(&r.events));
    rig_fini(&r);
}

TEST(a_half_alone_is_a_removal_or_a_creation)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM, 7, "f");
    feed(&r);
    watch_events_flush(&r.events);
    EXPECT_STR(said(&r), "remove f;");
    add(&r, 1, FROM | DIR_, 8, "a");
    add(&r, 3, IN_CREATE, 0, "later"); /* in what is no longer ours */
    feed(&r);
    EXPECT_STR(said(&r), "remove a/;drop 3;drop 2;");
    add(&r, 1, TO | DIR_, 9, "in");
    feed(&r);
    EXPECT_STR(said(&r), "create in/;watch in;");
    add(&r, 1, FROM, 10, "g");
    feed(&r);
    add(&r, 4, IN_MODIFY, 0, "h"); /* the next batch has no second half */
    feed(&r);
    EXPECT_STR(said(&r), "remove g;write x/h;");
    rig_fini(&r);
}

TEST(a_moved_directory_takes_all_below_it_along)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM | DIR_, 7, "a");
    add(&r, 4, TO | DIR_, 7, "y");
    add(&r, 2, IN_MOVE_SELF, 0, "");
    add(&r, 3, IN_CREATE, 0, "f");
    feed(&r);
    EXPECT_STR(said(&r), "rename a>x/y/;moved 2;create x/y/b/f;");
    EXPECT(watch_tree_child(&r.tree, r.tree.root, "a") == NULL);
    rig_fini(&r);
}

TEST(a_rename_onto_an_empty_directory_forgets_it)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM | DIR_, 7, "a");
    add(&r, 1, TO | DIR_, 7, "x");
    add(&r, 4, IN_CREATE, 0, "gone");
    add(&r, 2, IN_CREATE, 0, "f");
    feed(&r);
    EXPECT_STR(said(&r), "rename a>x/;drop 4;moved 2;create x/f;");
    rig_fini(&r);
}

TEST(a_name_that_is_used_again_first_reports_what_left_it)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM | DIR_, 7, "a");
    feed(&r);
    add(&r, 1, IN_CREATE | DIR_, 0, "a");
    add(&r, 4, TO | DIR_, 7, "late");
    feed(&r);
    EXPECT_STR(said(&r), "remove a/;drop 3;drop 2;create a/;watch a;create x/late/;watch x/late;");
    rig_fini(&r);
}

TEST(only_so_many_first_halves_wait)
{
    struct rig r;
    char name[8];

    rig_init(&r);
    for (uint32_t i = 0; i <= WATCH_HALVES_MAX; i++) {
        snprintf(name, sizeof name, "f%u", i);
        add(&r, 1, FROM, 100 + i, name);
    }
    for (uint32_t i = 0; i <= WATCH_HALVES_MAX; i++)
        add(&r, 1, TO, 100 + i, "g");
    feed(&r);
    EXPECT(strncmp(said(&r), "remove f0;create g;rename f1>g;", 31) == 0);
    EXPECT(!watch_events_waits(&r.events));
    rig_fini(&r);
}

TEST(names_that_were_exchanged_are_both_reported_anew)
{
    struct rig r;

    rig_init(&r);
    r.exists = "*";
    add(&r, 1, FROM, 7, "f");
    add(&r, 1, TO, 7, "g");
    add(&r, 1, FROM, 8, "g");
    add(&r, 1, TO, 8, "f");
    feed(&r);
    EXPECT_STR(said(&r), "rename f>g;rename g>f;remove f;create f;remove g;create g;");
    r.exists = NULL; /* there and back: one of the names is free */
    add(&r, 1, FROM, 9, "f");
    add(&r, 1, TO, 9, "g");
    add(&r, 1, FROM, 10, "g");
    add(&r, 1, TO, 10, "f");
    feed(&r);
    EXPECT_STR(said(&r), "rename f>g;rename g>f;");
    rig_fini(&r);
}

TEST(equal_writes_in_a_row_are_one)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, IN_MODIFY, 0, "f");
    add(&r, 1, IN_MODIFY, 0, "f");
    add(&r, 1, IN_MODIFY, 0, "g");
    add(&r, 1, IN_MODIFY, 0, "f");
    add(&r, 1, IN_ATTRIB, 0, "f");
    add(&r, 1, IN_ATTRIB, 0, "f");
    feed(&r);
    EXPECT_STR(said(&r), "write f;write g;write f;chmod f;");
    add(&r, 1, IN_ATTRIB, 0, "f");
    feed(&r);
    EXPECT_STR(said(&r), "chmod f;");
    rig_fini(&r);
}

TEST(the_end_of_the_root_is_the_last)
{
    static const struct {
        uint32_t mask;
        const char *text;
    } rows[] = {{IN_DELETE_SELF, "end removed;"},
                {IN_MOVE_SELF, "end moved;"},
                {IN_UNMOUNT, "end unmounted;"},
                {IN_IGNORED, "end removed;"}};

    for (size_t i = 0; i < 4; i++) {
        struct rig r;

        rig_init(&r);
        add(&r, 1, rows[i].mask, 0, "");
        add(&r, 1, IN_IGNORED, 0, "");
        add(&r, 2, IN_CREATE, 0, "f");
        feed(&r);
        EXPECT_STR(said(&r), rows[i].text);
        rig_fini(&r);
    }
}

TEST(the_directory_that_contains_the_root_reports_its_end)
{
    struct rig r;

    rig_init(&r);
    r.events.parent_wd = 50;
    r.events.root_name = "root";
    add(&r, 50, IN_DELETE, 0, "roots");
    feed(&r);
    EXPECT_STR(said(&r), "");
    add(&r, 50, FROM | DIR_, 9, "root");
    feed(&r);
    EXPECT_STR(said(&r), "end moved;");
    rig_fini(&r);
}

TEST(lost_events_are_reported_behind_what_waits)
{
    struct rig r;

    rig_init(&r);
    add(&r, 1, FROM, 7, "f");
    add(&r, -1, IN_Q_OVERFLOW, 0, "");
    feed(&r);
    EXPECT_STR(said(&r), "remove f;overflow;");
    rig_fini(&r);
}

TEST(a_tree_has_a_limit_and_finds_its_directories_while_it_grows)
{
    struct watch_tree t;
    struct watch_dir *root, *d;
    struct buf path = {0};
    char name[16];

    watch_tree_init(&t, 1000);
    root = d = watch_tree_add(&t, NULL, "", 1);
    watch_tree_path(root, "", &path);
    EXPECT_STR(buf_cstr(&path), ".");
    for (int i = 2; i <= 1000; i++) {
        snprintf(name, sizeof name, "%d", i);
        d = watch_tree_add(&t, i % 100 == 0 ? root : d, name, i);
        REQUIRE(d != NULL);
    }
    EXPECT(watch_tree_add(&t, root, "more", 1001) == NULL);
    for (int i = 2; i <= 1000; i++) {
        d = watch_tree_find(&t, i);
        REQUIRE(d != NULL);
        snprintf(name, sizeof name, "%d", i);
        EXPECT(watch_tree_child(&t, d->parent, name) == d);
    }
    d = watch_tree_find(&t, 302);
    watch_tree_path(d, "", &path);
    EXPECT_STR(buf_cstr(&path), "300/301/302");
    EXPECT(!watch_tree_move(&t, d->parent, d, "inside", NULL, NULL)); /* of itself */
    EXPECT(watch_tree_move(&t, d, root, "top", NULL, NULL));
    watch_tree_path(watch_tree_find(&t, 303), "f", &path);
    EXPECT_STR(buf_cstr(&path), "top/303/f");
    watch_tree_remove(&t, d, NULL, NULL);
    EXPECT(watch_tree_find(&t, 399) == NULL);
    EXPECT_INT(t.count, 1000 - 98);
    buf_fini(&path);
    watch_tree_fini(&t);
}
