/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_option.c - a link is exchanged for a directory while a path is opened within another
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/files.h"
#include "files/files_tree.h"

/* Wraps: open readlink realpath */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
ssize_t __real_readlink(const char *path, char *out, size_t size);
ssize_t __wrap_readlink(const char *path, char *out, size_t size);
char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);

static char room[] = "/tmp/files-option-XXXXXX";
static int calls_left; /* until the exchange */

static const char *at(const char *name)
{
    static char paths[4][220];
    static size_t next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", room, name);
    return path;
}

static void exchange(void)
{
    EXPECT(rename(at("in/a"), at("in/c")) == 0);
    EXPECT(rename(at("in/b"), at("in/a")) == 0);
    EXPECT(rename(at("in/c"), at("in/b")) == 0);
}

static void count_call(void)
{
    if (calls_left-- == 0)
        exchange();
}

int __wrap_open(const char *path, int flags, ...)
{
    count_call();
    return __real_open(path, flags, 0600);
}

ssize_t __wrap_readlink(const char *path, char *out, size_t size)
{
    count_call();
    return __real_readlink(path, out, size);
}

char *__wrap_realpath(const char *path, char *out)
{
    count_call();
    return __real_realpath(path, out);
}

static ino_t make_file(const char *name)
{
    struct stat st;
    FILE *f = fopen(at(name), "w");

    REQUIRE(f != NULL);
    EXPECT(fstat(fileno(f), &st) == 0);
    fclose(f);
    return st.st_ino;
}

static char within[240];
static char *options[] = {within, NULL};

/* in/a is a directory and in/b a link that leads out. */
static ino_t begin(void)
{
    static const char template[] = "/tmp/files-option-XXXXXX";

    calls_left = -1;
    snprintf(room, sizeof room, "%s", template);
    EXPECT(mkdtemp(room) != NULL);
    EXPECT(mkdir(at("in"), 0755) == 0 && mkdir(at("in/a"), 0755) == 0);
    EXPECT(mkdir(at("out"), 0755) == 0);
    EXPECT(symlink(at("out"), at("in/b")) == 0);
    make_file("out/file");
    snprintf(within, sizeof within, "within=%s", at("in"));
    return make_file("in/a/file");
}

static void end(void)
{
    calls_left = -1;
    EXPECT_INT(files_remove_tree(room), 0);
}

/* The path was checked and then opened again, so that the exchange in between led out. */
TEST(what_is_opened_within_a_directory_is_there_whatever_is_exchanged_meanwhile)
{
    int inside = 0, outside = 0;
    char path[220];

    for (int call = 0; call < 8; call++)
        for (int link = 0; link < 2; link++) {
            ino_t good = begin();
            struct stat st;
            int fd;

            if (link)
                exchange();
            snprintf(path, sizeof path, "%s/in/a/file", room);
            calls_left = call;
            fd = files_open_within(path, options, O_RDONLY | O_CLOEXEC);
            if (fd >= 0) {
                EXPECT(fstat(fd, &st) == 0 && st.st_ino == good);
                close(fd);
                inside++;
            } else {
                EXPECT_INT(fd, -EXDEV);
                outside++;
            }
            end();
        }
    EXPECT_INT(inside, 8);
    EXPECT_INT(outside, 8);
}

TEST(a_directory_is_within_itself_and_not_within_one_with_a_longer_name)
{
    int fd;

    begin();
    fd = files_open_within(at("in"), options, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT(fd >= 0);
    close(fd);
    EXPECT(mkdir(at("in2"), 0755) == 0);
    EXPECT_INT(files_open_within(at("in2"), options, O_RDONLY | O_CLOEXEC), -EXDEV);
    EXPECT_INT(files_open_within(at("in/a/file"), options, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
               -ENOTDIR);
    EXPECT_INT(files_open_within(at("in/none"), options, O_RDONLY | O_CLOEXEC), -ENOENT);
    snprintf(within, sizeof within, "within=%s", at("none"));
    EXPECT_INT(files_open_within(at("in"), options, O_RDONLY | O_CLOEXEC), -ENOENT);
    snprintf(within, sizeof within, "within=/");
    fd = files_open_within(at("in/b/file"), options, O_RDONLY | O_CLOEXEC);
    EXPECT(fd >= 0);
    close(fd);
    end();
}
