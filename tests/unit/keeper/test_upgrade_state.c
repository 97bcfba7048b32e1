/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_upgrade_state.c - what one keeper leaves to the next: saved, damaged, or without memory for it
 */
#include "test.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "keeper/keeper_own.h"
#include "keeper/upgrade_state.h"

/* Wraps: memfd_create malloc calloc fstat write pread open signalfd */
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(void *, malloc, (size_t size), (size), 0)
FAILING(void *, calloc, (size_t n, size_t size), (n, size), 0)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), -1)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)
FAILING(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), -1)
FAILING(ssize_t, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at), -1)

static int carry_result; /* what the command says to being asked */

static int carry_some(struct buf *out, void *arg)
{
    (void)arg;
    if (carry_result == 0)
        buf_put(out, "carried", 7);
    return carry_result;
}

static struct keeper_options options;

/* A keeper with two processes. */
static void begin(struct keeper *k)
{
    log_set_level(LOG_ERROR);
    options = (struct keeper_options){.carry_write = carry_some};
    *k = (struct keeper){.options = &options, .state_fd = -1};
    (void)cgroup_resume(&k->cgroup, "", 0);
    table_init(&k->table);
    table_set_pid(&k->table, table_add(&k->table), 4711);
    table_set_pid(&k->table, table_add(&k->table), 4712);
}

static void end(struct keeper *k)
{
    cgroup_fini(&k->cgroup, false);
    table_fini(&k->table);
}

static void drop_slot(struct keeper *k)
{
    struct entry *e = table_first(&k->table);

    if (e->slot != NULL)
        cgroup_abandon(e->slot);
    e->slot = NULL;
}

static int vault_fd = -1; /* >= 0: there is a vault behind the next keeper */

static int load(struct keeper *k, int fd)
{
    *k = (struct keeper){.options = &options, .deposit = {.channel = {.fd = vault_fd}}};
    table_init(&k->table);
    (void)cgroup_resume(&k->cgroup, "", 0);
    return state_load(k, fd);
}

TEST(a_state_that_cannot_be_written_is_an_error)
{
    struct keeper k;
    int fd = -1;

    begin(&k);
    FAIL(memfd_create, .error = EMFILE);
    EXPECT_INT(state_save(&k, &fd), -EMFILE);
    for (int i = 0; i < 4; i++) {
        FAIL(write, .error = ENOSPC, .after = i);
        EXPECT_INT(state_save(&k, &fd), -ENOSPC);
    }
    FAIL_NO_MORE(write);
    carry_result = -ENOMEM;
    EXPECT_INT(state_save(&k, &fd), -ENOMEM);
    carry_result = 0;
    options.carry_write = NULL;
    EXPECT_INT(state_save(&k, &fd), 0);
    close(fd);
    end(&k);
}

TEST(a_state_that_cannot_be_read_is_an_error_and_nothing_is_taken)
{
    struct keeper k, next;
    size_t len, count;
    void *bytes;
    int fd, fds[KEEPER_CARRY_FDS_MAX];

    begin(&k);
    REQUIRE(state_save(&k, &fd) == 0);
    FAIL(malloc, .error = ENOMEM, .times = -1);
    EXPECT_INT(load(&next, fd), -ENOMEM);
    EXPECT_U64(next.table.count, 0);
    end(&next);
    FAIL(fstat, .error = EIO);
    EXPECT_INT(keeper_resume_carry(fd, &bytes, &len, fds, &count), -EINVAL);
    FAIL(malloc, .error = ENOMEM, .after = 1, .times = -1);
    EXPECT_INT(keeper_resume_carry(fd, &bytes, &len, fds, &count), -ENOMEM);
    FAIL_NO_MORE(malloc);
    FAIL(pread, .error = EIO);
    EXPECT_INT(keeper_resume_carry(fd, &bytes, &len, fds, &count), -EINVAL);
    REQUIRE(ftruncate(fd, 65L * 1024 * 1024) == 0);
    EXPECT_INT(keeper_resume_carry(fd, &bytes, &len, fds, &count), -EINVAL);
    close(fd);
    end(&k);
}

/* One process that nobody knows any more is bad; all of them would be worse. */
TEST(an_entry_that_is_there_twice_costs_only_itself)
{
    struct state_entry one;
    struct keeper k, next;
    int fd;

    begin(&k);
    REQUIRE(state_save(&k, &fd) == 0);
    REQUIRE(pread(fd, &one, sizeof one, sizeof(struct state_head)) == sizeof one);
    REQUIRE(pwrite(fd, &one, sizeof one, sizeof(struct state_head) + sizeof one) == sizeof one);
    EXPECT_INT(load(&next, fd), 0);
    EXPECT_U64(next.table.count, 1);
    close(fd);
    end(&next);
    end(&k);
}

/* --- without memory ------------------------------------------------------- */

/* The first two allocations are the table's own. */
TEST(memory_that_comes_back_costs_no_process)
{
    struct keeper k, next;
    int fd;

    begin(&k);
    REQUIRE(state_save(&k, &fd) == 0);
    FAIL(calloc, .error = ENOMEM, .after = 3, .times = 3);
    FAIL(malloc, .error = ENOMEM, .times = 3);
    EXPECT_INT(load(&next, fd), 0);
    EXPECT_INT(FAILED(calloc), 3);
    EXPECT_INT(FAILED(malloc), 3);
    EXPECT_U64(next.table.count, 2);
    close(fd);
    end(&next);
    end(&k);
}

TEST(memory_that_does_not_come_back_ends_a_keeper_that_has_a_vault)
{
    struct keeper k, next;
    int fd;

    begin(&k);
    REQUIRE(state_save(&k, &fd) == 0);
    vault_fd = fd;
    FAIL(calloc, .error = ENOMEM, .after = 3, .times = -1);
    EXPECT_INT(load(&next, fd), -ENOMEM);
    end(&next);
    /* Without a vault all others would end with it. */
    vault_fd = -1;
    FAIL(calloc, .error = ENOMEM, .after = 3, .times = -1);
    EXPECT_INT(load(&next, fd), 0);
    EXPECT_U64(next.table.count, 1);
    FAIL_NO_MORE(calloc);
    close(fd);
    end(&next);
    end(&k);
}

/* A directory that has the name of a cgroup's. Its slots are directories in it. */
TEST(a_cgroup_that_cannot_be_opened_just_now_is_not_forgotten)
{
    char path[] = "/tmp/hf-state-XXXXXX";
    struct keeper k, next;
    int fd;

    REQUIRE(mkdtemp(path) != NULL);
    begin(&k);
    REQUIRE(cgroup_resume(&k.cgroup, path, 0) == 0);
    table_first(&k.table)->slot = cgroup_reopen(&k.cgroup, 7);
    REQUIRE(state_save(&k, &fd) == 0);
    FAIL(open, .error = EMFILE, .times = 3, .path = path);
    EXPECT_INT(load(&next, fd), 0);
    EXPECT_INT(FAILED(open), 3);
    EXPECT(next.cgroup.dir_fd >= 0 && table_first(&next.table)->slot != NULL);
    EXPECT_U64(table_first(&next.table)->slot->number, 7);
    drop_slot(&next);
    end(&next);
    /* The entry's slot has memory, the entry has none: neither is taken. */
    FAIL(calloc, .error = ENOMEM, .after = 4);
    EXPECT_INT(load(&next, fd), 0);
    EXPECT_U64(next.table.count, 2);
    drop_slot(&next);
    end(&next);
    vault_fd = fd;
    FAIL(open, .error = EMFILE, .times = -1, .path = path);
    EXPECT_INT(load(&next, fd), -EMFILE);
    end(&next);
    vault_fd = -1;
    FAIL(open, .error = ENOENT, .times = -1, .path = path);
    EXPECT_INT(load(&next, fd), 0);
    EXPECT_INT(next.cgroup.dir_fd, -1);
    EXPECT(table_first(&next.table)->slot == NULL);
    FAIL_NO_MORE(open);
    end(&next);
    close(fd);
    drop_slot(&k);
    end(&k);
    rmdir(path);
}

/* In a process of its own, which has a dead child. */
__attribute__((noreturn)) static void fail_to_take_over(void)
{
    struct keeper k;
    struct zombie d;
    int fd, status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(7);
    while (zombie_peek(pid, &d) != pid)
        usleep(1000);
    begin(&k);
    if (state_save(&k, &fd) < 0)
        _exit(1);
    FAIL(signalfd, .error = EMFILE);
    if (keeper_run(&options, fd) != 1)
        _exit(2);
    _exit(waitpid(pid, &status, WNOHANG) == pid && WEXITSTATUS(status) == 7 ? 0 : 3);
}

/* The vault becomes their parent, and tells the next keeper. */
TEST(a_keeper_that_cannot_take_over_leaves_the_dead_for_the_next)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        fail_to_take_over();
    REQUIRE(waitpid(pid, &status, 0) == pid);
    EXPECT_INT(status, 0);
}

TEST(a_number_an_id_and_a_path_are_checked)
{
    struct {
        struct state_head head;
        struct state_entry entries[2];
    } s = {.head = {.version = KEEPER_STATE_VERSION, .entry_count = 2}};

    memcpy(s.head.magic, STATE_MAGIC, 8);
    s.entries[0] = s.entries[1] = (struct state_entry){.entry = 1, .pid = 100};
    EXPECT_STR(state_fault(&s, sizeof s), NULL);
    s.entries[0].entry = 0;
    EXPECT_STR(state_fault(&s, sizeof s), "number");
    s.entries[0].entry = 1;
    memset(s.entries[0].id, 'a', sizeof s.entries[0].id);
    EXPECT_STR(state_fault(&s, sizeof s), "id");
    memset(s.head.cgroup_path, 'a', sizeof s.head.cgroup_path);
    EXPECT_STR(state_fault(&s, sizeof s), "path");
}

/* --- the trial ------------------------------------------------------------ */

static bool yes(int fd, void *arg)
{
    (void)fd;
    (void)arg;
    return true;
}

static bool no(int fd, void *arg)
{
    (void)fd;
    (void)arg;
    return false;
}

TEST(a_candidate_names_what_it_cannot_go_on_from)
{
    struct keeper_trial good = {.record = yes, .state = yes};
    struct keeper_trial no_record = {.record = no, .state = yes};
    struct keeper_trial no_state = {.record = yes, .state = no};
    struct keeper k;
    int fd;

    begin(&k);
    table_first(&k.table)->pub.record_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    options.carry.fds[0] = 0;
    options.carry.fds[1] = 999999;
    options.carry.fd_count = 1;
    REQUIRE(state_save(&k, &fd) == 0);
    EXPECT_STR(keeper_try(fd, &good), NULL);
    EXPECT_STR(keeper_try(fd, &no_record), "the record of a process has another version");
    EXPECT_STR(keeper_try(fd, &no_state), "the shared state has another version");
    close(fd);
    options.carry.fd_count = 2;
    REQUIRE(state_save(&k, &fd) == 0);
    EXPECT_STR(keeper_try(fd, &good), "a listening socket is missing");
    close(fd);
    EXPECT_STR(keeper_try(-1, &good), "cannot read the state");
    end(&k);
}

TEST(a_state_that_is_not_ours_is_refused)
{
    struct {
        struct state_head head;
        struct state_entry entries[2];
        char carry[3];
    } s;

    memset(&s, 0, sizeof s);
    memcpy(s.head.magic, STATE_MAGIC, 8);
    s.head.version = KEEPER_STATE_VERSION;
    s.head.entry_count = 2;
    s.head.carry_len = 3;
    s.entries[0].entry = 1;
    s.entries[0].pid = 100;
    s.entries[1] = s.entries[0];
    EXPECT_STR(state_fault(&s, offsetof(__typeof__(s), carry) + 3), NULL);
    EXPECT_STR(state_fault(&s, offsetof(__typeof__(s), carry) + 2), "length");
    EXPECT_STR(state_fault(&s, 10), "head");
    s.entries[1].pid = 1;
    EXPECT_STR(state_fault(&s, offsetof(__typeof__(s), carry) + 3), "pid");
    s.head.entry_count = UINT32_MAX;
    EXPECT_STR(state_fault(&s, sizeof s), "count");
    s.head.entry_count = 2;
    s.head.carry_fd_count = 65;
    EXPECT_STR(state_fault(&s, sizeof s), "count");
    s.head.version++;
    EXPECT_STR(state_fault(&s, sizeof s), "version");
    s.head.magic[0]++;
    EXPECT_STR(state_fault(&s, sizeof s), "head");
}
