/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cgroup_slot.c - the slot of a process, made of plain files
 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "keeper/cgroup.h"

static void put(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void expect_file(int dir, const char *name, const char *want)
{
    char text[64] = "";
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

    REQUIRE(fd >= 0 && read(fd, text, sizeof text - 1) >= 0);
    close(fd);
    EXPECT_STR(text, want);
}

TEST(limits_members_and_deaths_are_those_of_the_slots_files)
{
    static const char *const files[] = {"cgroup.events", "cgroup.procs",  "memory.max",
                                        "pids.max",      "memory.events", "cgroup.kill"};
    struct cgroup c = {.has_memory = true, .has_pids = true};
    struct cgroup_slot slot = {.number = 1, .dir_fd = -1};
    char path[] = "/tmp/holdfast-slot-XXXXXX";
    size_t count;
    pid_t *pids;
    int dir;

    REQUIRE(mkdtemp(path) != NULL);
    c.dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(mkdirat(c.dir_fd, "p1", 0700) == 0);
    dir = openat(c.dir_fd, "p1", O_PATH | O_DIRECTORY | O_CLOEXEC);
    EXPECT(!cgroup_is_empty(&c, &slot));
    for (size_t i = 0; i < 6; i++)
        put(dir, files[i], "");

    EXPECT(!cgroup_is_empty(&c, &slot));
    put(dir, "cgroup.events", "populated 1\nfrozen 0\n");
    EXPECT(!cgroup_is_empty(&c, &slot));
    put(dir, "cgroup.events", "populated 0\nfrozen 0\n");
    EXPECT(cgroup_is_empty(&c, &slot));

    EXPECT_INT(cgroup_limit(&c, &slot, UINT64_MAX, UINT64_MAX), 0);
    EXPECT(!slot.used_up);
    EXPECT_INT(cgroup_limit(&c, &slot, 1048576, 10), 0);
    EXPECT(slot.used_up);
    expect_file(dir, "memory.max", "1048576");
    expect_file(dir, "pids.max", "10");

    put(dir, "memory.events", "low 0\noom 3\noom_kill 0\noom_group_kill 0\n");
    EXPECT(!cgroup_had_oom(&c, &slot));
    put(dir, "memory.events", "low 0\noom 4\noom_kill 3\noom_group_kill 0\n");
    EXPECT(cgroup_had_oom(&c, &slot));
    c.has_memory = false;
    EXPECT(!cgroup_had_oom(&c, &slot));

    put(dir, "cgroup.procs", "12\n0\n345\n");
    pids = cgroup_members(&c, &slot, &count);
    EXPECT_U64(count, 2);
    EXPECT(pids != NULL && pids[0] == 12 && pids[1] == 345);
    free(pids);
    EXPECT_INT(cgroup_kill(&c, &slot), 0);
    expect_file(dir, "cgroup.kill", "1");

    for (size_t i = 0; i < 6; i++)
        unlinkat(dir, files[i], 0);
    close(dir);
    unlinkat(c.dir_fd, "p1", AT_REMOVEDIR);
    close(c.dir_fd);
    rmdir(path);
}

/* A cgroup with one slot, in which nobody is. */
static void slot_rig(struct cgroup *c, char *path, const char *memory_events)
{
    int dir;

    *c = (struct cgroup){.has_memory = true, .last_number = 1};
    list_init(&c->idle);
    list_init(&c->lingering);
    REQUIRE(mkdtemp(path) != NULL);
    c->dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(mkdirat(c->dir_fd, "p1", 0700) == 0);
    dir = openat(c->dir_fd, "p1", O_PATH | O_DIRECTORY | O_CLOEXEC);
    put(dir, "cgroup.events", "populated 0\n");
    put(dir, "memory.events", memory_events);
    close(dir);
}

static void slot_rig_end(struct cgroup *c, const char *path)
{
    unlinkat(c->dir_fd, "p1/cgroup.events", 0);
    unlinkat(c->dir_fd, "p1/memory.events", 0);
    cgroup_fini(c, false);
    rmdir(path);
}

/*
 * After an upgrade a slot that had been killed was taken for a good one, and the next
 * process was killed by the kernel at birth.
 */
TEST(a_slot_from_before_an_upgrade_is_not_used_again)
{
    char path[] = "/tmp/holdfast-slot-XXXXXX";
    struct cgroup c;
    struct cgroup_slot *slot;

    slot_rig(&c, path, "oom_kill 0\n");
    slot = cgroup_reopen(&c, 1);
    REQUIRE(slot != NULL);
    cgroup_release_if_empty(&c, &slot);
    EXPECT(slot == NULL);
    EXPECT_U64(c.idle_count, 0);
    cgroup_release(&c, cgroup_reopen(&c, 1));
    EXPECT_U64(c.idle_count, 0);
    slot_rig_end(&c, path);
}

/* Else the next one in it that gets SIGKILL would have died for want of memory. */
TEST(a_slot_in_which_memory_ran_out_is_not_used_again)
{
    char path[] = "/tmp/holdfast-slot-XXXXXX";
    struct cgroup c;
    struct cgroup_slot *slot;

    slot_rig(&c, path, "oom_kill 0\n");
    slot = cgroup_reopen(&c, 1);
    REQUIRE(slot != NULL);
    slot->used_up = false;
    cgroup_release(&c, slot);
    EXPECT_U64(c.idle_count, 1);
    slot = cgroup_take(&c, false);
    REQUIRE(slot != NULL);
    put(slot->dir_fd, "memory.events", "oom_kill 1\n");
    cgroup_release(&c, slot);
    EXPECT_U64(c.idle_count, 0);
    slot_rig_end(&c, path);
}
