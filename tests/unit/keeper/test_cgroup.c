/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cgroup.c - our directory of cgroups and its slots, in a folder of plain files, and
 * what becomes of them when calls fail
 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "keeper/cgroup.h"

/* Wraps: io_read_file openat fdopendir mkdirat calloc realloc kill open write */
FAILING_BY(int, openat, (int dir, const char *path, int flags, int mode), (dir, path, flags, mode),
           -1, 0, path)
FAILING(DIR *, fdopendir, (int fd), (fd), 0)
FAILING_BY(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), -1, 0, path)
FAILING(void *, calloc, (size_t n, size_t size), (n, size), 0)
FAILING(void *, realloc, (void *p, size_t size), (p, size), 0)
FAILING_BY(int, kill, (pid_t pid, int sig), (pid, sig), -1, pid, NULL)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), -1)

static char parent[] = "/tmp/holdfast-cgroup-XXXXXX";
static const char *missing; /* the file that cannot be read */

/* /proc tells that our cgroup is `parent`. */
int __wrap_io_read_file(const char *path, size_t max, struct buf *to);
int __wrap_io_read_file(const char *path, size_t max, struct buf *to)
{
    char line[128];

    (void)max;
    if (missing != NULL && strstr(path, missing) != NULL)
        return -ENOENT;
    snprintf(line, sizeof line, "1 1 0:1 / %s rw - cgroup2 c rw\n", parent);
    buf_put(to, strstr(path, "mountinfo") != NULL ? line : "0::/\n",
            strstr(path, "mountinfo") != NULL ? strlen(line) : 5);
    return 0;
}

static void begin(void)
{
    log_set_level(LOG_ERROR);
    unsetenv(CGROUP_OFF_ENV);
    REQUIRE(mkdtemp(parent) != NULL);
}

static void make(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", parent, name);
    REQUIRE(mkdir(path, 0700) == 0);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", parent, name);
    return access(path, F_OK) == 0;
}

static void drop(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", parent, name);
    if (unlink(path) < 0)
        REQUIRE(rmdir(path) == 0);
}

static void put(const struct cgroup *c, const char *name, const char *text)
{
    int fd = openat(c->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static bool makes_none(void)
{
    struct cgroup c;

    cgroup_init(&c, getpid());
    if (c.dir_fd < 0)
        return true;
    cgroup_fini(&c, true);
    return false;
}

TEST(our_directory_is_made_with_its_slots_and_removed)
{
    struct cgroup c;
    char name[32];

    begin();
    snprintf(name, sizeof name, "holdfast-%d", (int)getpid());
    cgroup_init(&c, getpid());
    EXPECT(c.dir_fd >= 0 && !c.has_memory && !c.has_pids);
    EXPECT(is_there(name));
    cgroup_fini(&c, true);
    EXPECT(!is_there(name));
    EXPECT_INT(rmdir(parent), 0);
}

TEST(cgroups_can_be_turned_off)
{
    begin();
    setenv(CGROUP_OFF_ENV, "1", 1);
    EXPECT(makes_none());
    setenv(CGROUP_OFF_ENV, "0", 1);
    EXPECT(!makes_none());
    setenv(CGROUP_OFF_ENV, "", 1);
    EXPECT(!makes_none());
    unsetenv(CGROUP_OFF_ENV);
    rmdir(parent);
}

TEST(without_a_place_or_the_right_to_it_there_are_none)
{
    begin();
    missing = "mountinfo";
    EXPECT(makes_none());
    missing = "self/cgroup";
    EXPECT(makes_none());
    missing = NULL;
    FAIL(open, .error = EACCES, .path = parent);
    EXPECT(makes_none());
    FAIL(mkdirat, .error = EROFS);
    EXPECT(makes_none());
    EXPECT_INT(FAILED(mkdirat), 1);
    /* Made, and gone before it is opened. The first call walks the parent. */
    FAIL(openat, .error = ENOENT, .after = 1);
    EXPECT(makes_none());
    EXPECT_INT(FAILED(openat), 1);
    EXPECT(!makes_none());
    rmdir(parent);
}

/* PID 1 is always 1: the last one may have left its directory. */
TEST(a_directory_that_is_there_already_is_ours)
{
    char name[32];

    begin();
    snprintf(name, sizeof name, "holdfast-%d", (int)getpid());
    make(name);
    EXPECT(!makes_none());
    rmdir(parent);
}

TEST(only_what_dead_keepers_have_left_is_removed)
{
    char dead[32], slot[64], alive[32];
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    begin();
    snprintf(dead, sizeof dead, "holdfast-%d", (int)pid);
    snprintf(slot, sizeof slot, "%s/p3", dead);
    snprintf(alive, sizeof alive, "holdfast-%d", (int)getppid());
    make(dead);
    make(slot);
    make(alive);
    make("holdfast-name");
    make("other");
    /* Not for us to say: somebody else's process has that number. */
    FAIL(kill, .error = EPERM, .only = pid);
    EXPECT(!makes_none());
    EXPECT(is_there(slot));
    FAIL(openat, .error = EMFILE, .path = dead);
    EXPECT(!makes_none());
    EXPECT(is_there(slot));
    FAIL(fdopendir, .error = ENOMEM, .after = 1);
    EXPECT(!makes_none());
    EXPECT(is_there(slot));
    EXPECT(!makes_none());
    EXPECT(!is_there(dead));
    EXPECT(is_there(alive) && is_there("holdfast-name") && is_there("other"));
    drop(alive);
    drop("holdfast-name");
    drop("other");
    rmdir(parent);
}

/* Nothing is looked through where the folder cannot be read. */
TEST(a_folder_that_cannot_be_read_is_left_as_it_is)
{
    begin();
    make("holdfast-1000000000");
    FAIL(openat, .error = EMFILE, .path = ".");
    EXPECT(!makes_none());
    EXPECT(is_there("holdfast-1000000000"));
    drop("holdfast-1000000000");
    rmdir(parent);
}

TEST(a_slot_that_cannot_be_made_is_none)
{
    struct cgroup_slot *slot;
    struct cgroup c;

    begin();
    FAIL(mkdirat, .error = ENOSPC, .path = "p1");
    cgroup_init(&c, getpid());
    EXPECT_INT(FAILED(mkdirat), 1);
    REQUIRE(c.dir_fd >= 0);
    FAIL(calloc, .error = ENOMEM);
    EXPECT(cgroup_take(&c, true) == NULL);
    FAIL(calloc, .error = ENOMEM);
    EXPECT(cgroup_reopen(&c, 1) == NULL);
    FAIL(openat, .error = EMFILE, .path = "p3");
    EXPECT(cgroup_take(&c, true) == NULL);
    slot = cgroup_take(&c, false);
    REQUIRE(slot != NULL);
    /* Nobody can tell whether somebody is in it: it lingers, and goes at the end. */
    cgroup_release(&c, slot);
    EXPECT_U64(c.idle_count, 0);
    cgroup_fini(&c, true);
    EXPECT(cgroup_take(&c, true) == NULL);
    EXPECT(cgroup_reopen(&c, 1) == NULL);
    rmdir(parent);
}

/* One slot in which nobody is, of a directory with a file for the controllers. */
static struct cgroup_slot *empty_slot(struct cgroup *c)
{
    struct cgroup_slot *slot;

    begin();
    cgroup_init(c, getpid());
    REQUIRE(c->dir_fd >= 0);
    slot = cgroup_take(c, false);
    REQUIRE(slot != NULL && slot->number == 2);
    put(c, "p2/cgroup.events", "populated 0\n");
    return slot;
}

static void end_slot(struct cgroup *c)
{
    (void)unlinkat(c->dir_fd, "p2/cgroup.events", 0);
    (void)unlinkat(c->dir_fd, "p2/memory.events", 0);
    (void)unlinkat(c->dir_fd, "p2/cgroup.procs", 0);
    (void)unlinkat(c->dir_fd, "p2/memory.max", 0);
    (void)unlinkat(c->dir_fd, "p2/pids.max", 0);
    (void)unlinkat(c->dir_fd, "cgroup.subtree_control", 0);
    cgroup_fini(c, true);
    rmdir(parent);
}

TEST(controllers_are_turned_on_where_there_is_a_file_for_it)
{
    struct cgroup c, next;
    char path[PATH_MAX];
    char text[32] = "";
    int fd;
    struct cgroup_slot *slot = empty_slot(&c);

    put(&c, "cgroup.subtree_control", "");
    snprintf(path, sizeof path, "%s", c.path);
    EXPECT_INT(cgroup_resume(&next, path, 7), 0);
    EXPECT(next.dir_fd >= 0);
    EXPECT_U64(next.last_number, 8);
    fd = openat(c.dir_fd, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC, 0);
    REQUIRE(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    EXPECT_STR(text, "+memory+pids");
    cgroup_fini(&next, true);
    EXPECT_INT(cgroup_resume(&next, "/nonexistent", 7), -ENOENT);
    EXPECT_INT(next.dir_fd, -1);
    (void)cgroup_resume(&next, "", 7);
    EXPECT_INT(next.dir_fd, -1);
    cgroup_release(&c, slot);
    end_slot(&c);
}

/* A kernel that does not let children be born into them is found out when the first one is. */
TEST(what_is_given_back_after_cgroups_were_given_up_is_freed)
{
    struct cgroup_slot *slot, *other;
    struct cgroup c;

    slot = empty_slot(&c);
    other = cgroup_take(&c, false);
    REQUIRE(other != NULL);
    (void)unlinkat(c.dir_fd, "p2/cgroup.events", 0);
    cgroup_disable(&c, "a test");
    EXPECT_INT(c.dir_fd, -1);
    cgroup_release_if_empty(&c, &slot);
    REQUIRE(slot != NULL);
    cgroup_release(&c, slot);
    cgroup_discard(&c, other);
    EXPECT_U64(c.idle_count, 0);
    cgroup_fini(&c, true);
    rmdir(parent);
}

TEST(a_slot_that_cannot_be_opened_again_is_not_kept)
{
    struct cgroup_slot *slot;
    struct cgroup c;

    slot = empty_slot(&c);
    FAIL(openat, .error = EMFILE, .path = "p2");
    cgroup_release_if_empty(&c, &slot);
    EXPECT(slot == NULL);
    EXPECT_U64(c.idle_count, 1); /* it was still open */
    slot = cgroup_take(&c, false);
    io_close(&slot->dir_fd);
    cgroup_release_if_empty(&c, &slot);
    EXPECT_INT(FAILED(openat), 1);
    EXPECT(slot == NULL);
    EXPECT_U64(c.idle_count, 0);
    end_slot(&c);
}

TEST(who_lingered_gives_the_slot_back_at_the_next_look)
{
    struct cgroup_slot *slot, *other;
    struct cgroup c;

    slot = empty_slot(&c);
    put(&c, "p2/cgroup.events", "populated 1\n");
    cgroup_release_if_empty(&c, &slot);
    REQUIRE(slot != NULL);
    cgroup_release(&c, slot);
    EXPECT_U64(c.idle_count, 0);
    put(&c, "p2/cgroup.events", "populated 0\n");
    other = cgroup_take(&c, true);
    REQUIRE(other != NULL);
    EXPECT_U64(c.idle_count, 1);
    cgroup_discard(&c, other);
    slot = NULL;
    cgroup_release_if_empty(&c, &slot);
    end_slot(&c);
}

TEST(no_more_than_a_few_idle_slots_are_kept)
{
    struct cgroup_slot *slot;
    struct cgroup c;

    slot = empty_slot(&c);
    c.idle_count = CGROUP_IDLE_MAX;
    cgroup_release(&c, slot);
    EXPECT(list_is_empty(&c.idle));
    c.idle_count = 0;
    end_slot(&c);
}

TEST(limits_that_cannot_be_set_are_told)
{
    struct cgroup_slot *slot;
    struct cgroup c;

    slot = empty_slot(&c);
    EXPECT_INT(cgroup_limit(&c, slot, 1, 1), 0);
    EXPECT(!slot->used_up);
    c.has_memory = c.has_pids = true;
    EXPECT_INT(cgroup_limit(&c, slot, 1, UINT64_MAX), -ENOENT);
    EXPECT(slot->used_up);
    put(&c, "p2/memory.max", "");
    EXPECT_INT(cgroup_limit(&c, slot, 1, 1), -ENOENT);
    put(&c, "p2/pids.max", "");
    EXPECT_INT(cgroup_limit(&c, slot, 1, 1), 0);
    EXPECT_INT(cgroup_limit(&c, slot, UINT64_MAX, 1), 0);
    FAIL(write, .error = EINVAL);
    EXPECT_INT(cgroup_limit(&c, slot, 1, 1), -EINVAL);
    /* A kernel that does not count such deaths. */
    put(&c, "p2/memory.events", "low 0\n");
    EXPECT(!cgroup_had_oom(&c, slot));
    cgroup_release(&c, slot);
    end_slot(&c);
}

TEST(members_are_read_up_to_a_bound_and_as_far_as_memory_goes)
{
    struct cgroup_slot *slot;
    struct cgroup c;
    size_t count, len = 0;
    char *text = malloc(1024 * 1024);
    pid_t *pids;

    slot = empty_slot(&c);
    EXPECT(cgroup_members(&c, slot, &count) == NULL);
    EXPECT_U64(count, 0);
    for (int i = 0; i < 70000; i++)
        len += (size_t)sprintf(text + len, "%d\n", i + 1);
    put(&c, "p2/cgroup.procs", text);
    pids = cgroup_members(&c, slot, &count);
    EXPECT_U64(count, 65536);
    EXPECT(pids != NULL && pids[0] == 1 && pids[65535] == 65536);
    free(pids);
    FAIL(realloc, .error = ENOMEM);
    EXPECT(cgroup_members(&c, slot, &count) == NULL);
    EXPECT_U64(count, 0);
    free(text);
    cgroup_release(&c, slot);
    end_slot(&c);
}

/* --- where it is ---------------------------------------------------------- */

TEST(mounts_and_paths_that_make_no_sense_are_no_cgroup)
{
    static char point[PATH_MAX + 64], mount[2 * PATH_MAX + 256], self[PATH_MAX + 128];
    static const char good[] = "1 1 0:1 /box /mnt rw - cgroup2 c rw";
    char out[PATH_MAX];

    /* Neither the end of the line nor of a word is where it should be. */
    EXPECT(!cgroup_find("x - cgroup2 ", "0::/\n", out, sizeof out));
    EXPECT(!cgroup_find("1 1 0:1 / - cgroup2 ", "0::/..x\n", out, sizeof out));
    EXPECT(!cgroup_find("1 1 0:1  /mnt - cgroup2 c", "0::/\n", out, sizeof out));
    EXPECT(!cgroup_find("x - cgroup2 /", "0::/\n", out, sizeof out));
    EXPECT(cgroup_find("1 - cgroup2 / /a\\04", "0::/\n", out, sizeof out));
    EXPECT_STR(out, "/a\\04");
    EXPECT(cgroup_find(good, "0::/box", out, sizeof out));
    EXPECT_STR(out, "/mnt");
    EXPECT(!cgroup_find(good, "0::/boxes", out, sizeof out));
    EXPECT(!cgroup_find(good, "0::/bo", out, sizeof out));
    EXPECT(!cgroup_find(good, "", out, sizeof out));
    EXPECT(!cgroup_find(good, "1:x:/", out, sizeof out));
    /* Longer than any path. */
    memset(point, 'm', sizeof point - 1);
    snprintf(mount, sizeof mount, "1 1 0:1 / /%s rw - cgroup2 c rw\n", point);
    EXPECT(!cgroup_find(mount, "0::/\n", out, sizeof out));
    snprintf(mount, sizeof mount, "1 1 0:1 /%s /mnt rw - cgroup2 c rw\n", point);
    EXPECT(!cgroup_find(mount, "0::/\n", out, sizeof out));
    snprintf(self, sizeof self, "0::/%s", point);
    EXPECT(!cgroup_find(good, self, out, sizeof out));
}
