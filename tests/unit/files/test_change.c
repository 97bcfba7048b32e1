/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change.c - somebody replaces a directory by a link just before root changes what is there
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "files/files.h"
#include "files/files_tree.h"

/* Wraps: mkdirat fchownat lstat */
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_fchownat(int dir, const char *name, uid_t uid, gid_t gid, int flags);
int __real_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st);

static char room[] = "/tmp/files-change-XXXXXX";
static const char *swap_at, *swapped; /* after which name, and what is replaced then */
static ino_t given[16];
static size_t given_count;

/* "x" becomes "x.aside", and a link to "victim" takes its place. */
static void swap_now(void)
{
    char from[200], aside[220], victim[200];

    snprintf(from, sizeof from, "%s/%s", room, swapped);
    snprintf(aside, sizeof aside, "%s.aside", from);
    snprintf(victim, sizeof victim, "%s/victim", room);
    swap_at = NULL;
    EXPECT(rename(from, aside) == 0);
    EXPECT(symlink(victim, from) == 0);
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    int rc = __real_mkdirat(dir, name, mode);

    if (swap_at != NULL && strcmp(name, swap_at) == 0)
        swap_now();
    return rc;
}

int __wrap_fchownat(int dir, const char *name, uid_t uid, gid_t gid, int flags)
{
    struct stat st;

    (void)uid, (void)gid;
    EXPECT(fstatat(dir, name, &st, flags) == 0 && given_count < 16);
    given[given_count++] = st.st_ino;
    return 0;
}

int __wrap_lstat(const char *path, struct stat *st)
{
    int rc = __real_lstat(path, st);

    if (swap_at != NULL && strcmp(strrchr(path, '/') + 1, swap_at) == 0)
        swap_now();
    return rc;
}

static const char *at(const char *name)
{
    static char paths[4][220];
    static size_t next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", room, name);
    return path;
}

static ino_t inode(const char *name)
{
    struct stat st;

    EXPECT(stat(at(name), &st) == 0);
    return st.st_ino;
}

static void begin(const char *when, const char *what)
{
    static char uid[] = "uid=1234", gid[] = "gid=1235";
    char *options[] = {uid, gid, NULL};

    EXPECT(files_settings(options));
    snprintf(room, sizeof room, "/tmp/files-change-XXXXXX");
    EXPECT(mkdtemp(room) != NULL);
    EXPECT(mkdir(at("victim"), 0755) == 0 && mkdir(at("victim/b"), 0755) == 0);
    given_count = 0;
    swap_at = when;
    swapped = what;
}

static void end(void)
{
    swap_at = NULL;
    EXPECT_INT(files_remove_tree(room), 0);
}

TEST(a_link_in_the_place_of_a_new_directory_is_not_given_away)
{
    begin("a", "a");
    EXPECT_INT(files_make_dirs(at("a/b/c")), -ENOTDIR);
    EXPECT_INT(given_count, 0);
    end();
}

TEST(a_link_in_the_place_of_a_parent_leads_nowhere)
{
    begin("b", "a");
    EXPECT_INT(files_make_dirs(at("a/b/c")), 0);
    EXPECT_INT(given_count, 3);
    EXPECT(given[0] == inode("a.aside") && given[1] == inode("a.aside/b"));
    EXPECT(given[2] == inode("a.aside/b/c"));
    EXPECT(access(at("victim/b/c"), F_OK) < 0);
    end();
}

TEST(only_new_directories_are_given_away)
{
    begin(NULL, NULL);
    EXPECT_INT(files_make_dirs(at("victim//b/./c///d//")), 0);
    EXPECT_INT(given_count, 2);
    EXPECT(given[0] == inode("victim/b/c") && given[1] == inode("victim/b/c/d"));
    EXPECT_INT(files_make_dirs(at("victim/b/c/../c/d")), -EEXIST);
    EXPECT_INT(files_make_dirs("/"), -EEXIST);
    EXPECT_INT(files_make_dirs(""), -ENAMETOOLONG);
    EXPECT(symlink("nowhere", at("dangling")) == 0);
    EXPECT_INT(files_make_dirs(at("dangling")), -EEXIST);
    EXPECT_INT(files_make_dirs(at("dangling/x")), -ENOENT);
    EXPECT(symlink("victim", at("link")) == 0);
    EXPECT_INT(files_make_dirs(at("link/new")), 0);
    EXPECT(given[2] == inode("victim/new"));
    end();
}

TEST(what_a_link_leads_to_is_not_removed)
{
    begin(NULL, NULL);
    EXPECT(mkdir(at("tree"), 0755) == 0);
    swap_at = swapped = "tree";
    EXPECT_INT(files_remove_tree(at("tree")), -ENOTDIR);
    EXPECT(access(at("victim/b"), F_OK) == 0);
    end();
}
