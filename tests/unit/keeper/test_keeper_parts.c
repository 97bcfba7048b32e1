/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keeper_parts.c - the parts of the keeper that need no other process:
 * messages, table, saved state, and the reading of /proc and cgroup texts
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "keeper/cgroup.h"
#include "keeper/entry_table.h"
#include "keeper/keeper_own.h"
#include "keeper/procfs.h"
#include "keeper/request_check.h"
#include "keeper/spawn.h"
#include "keeper/tty_probe.h"
#include "keeper/upgrade_state.h"

/* --- messages ------------------------------------------------------------- */

static union {
    struct k_spawn m;
    char bytes[sizeof(struct k_spawn) + K_INLINE_MAX + 16];
} room;

static const char strings[] = "/tmp\0/bin/a\0/bin/b\0a\0-x\0A=1";

static size_t sound_spawn(void)
{
    memset(&room, 0, sizeof room);
    room.m.type = K_SPAWN;
    strcpy(room.m.id, "proc_abc123");
    room.m.pty = 1;
    room.m.rows = 24;
    room.m.cols = 80;
    room.m.path_count = 2;
    room.m.arg_count = 2;
    room.m.env_count = 1;
    room.m.strings_len = sizeof strings;
    memcpy(&room.m + 1, strings, sizeof strings);
    return sizeof room.m + sizeof strings;
}

TEST(a_sound_spawn_is_taken_with_its_strings_inline_or_beside_it)
{
    size_t len = sound_spawn();

    EXPECT_STR(request_check_fault(&room, len, 1), NULL);
    EXPECT_STR(request_check_fault(&room, sizeof room.m, 2), NULL);
}

#define EXPECT_FAULT(change, word)                                                                 \
    do {                                                                                           \
        size_t len_ = sound_spawn();                                                               \
        change;                                                                                    \
        EXPECT_STR(request_check_fault(&room, len_, 1), word);                                     \
    } while (0)

TEST(each_field_of_a_spawn_is_checked)
{
    EXPECT_FAULT(room.m.path_count = 0, "paths");
    EXPECT_FAULT(room.m.path_count = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.arg_count = 0, "arguments");
    EXPECT_FAULT(room.m.arg_count = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.env_count = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.group_count = K_GROUPS_MAX + 1, "groups");
    EXPECT_FAULT(room.m.strings_len = 0, "strings");
    EXPECT_FAULT(room.m.strings_len = UINT32_MAX, "strings");
    EXPECT_FAULT(room.m.strings_len++, "length");
    EXPECT_FAULT(room.m.pty = 2, "flag");
    EXPECT_FAULT(room.m.set_user = 255, "flag");
    EXPECT_FAULT(room.m.set_nice = 2, "flag");
    EXPECT_FAULT(room.m.set_oom = 2, "flag");
    EXPECT_FAULT(room.m.quiet = 2, "flag");
    EXPECT_FAULT(room.m.side = 2, "flag");
    EXPECT_FAULT(room.m.stdin_mode = 2, "stdin");
    EXPECT_FAULT(room.m.rows = 0, "size");
    EXPECT_FAULT(room.m.rows = 4097, "size");
    EXPECT_FAULT(room.m.cols = 0, "size");
    EXPECT_FAULT(room.m.cols = 4097, "size");
    EXPECT_FAULT(room.m.id[0] = '\0', "id");
    EXPECT_FAULT(room.m.id[2] = '/', "id");
    EXPECT_FAULT(room.m.id[2] = 'A', "id");
    EXPECT_FAULT(room.m.id[2] = '~', "id");
    EXPECT_FAULT(room.m.id[2] = ':', "id");
    EXPECT_FAULT(memset(room.m.id, 'a', sizeof room.m.id), "id");
    EXPECT_FAULT(len_ = sizeof room.m - 1, "length");
    EXPECT_FAULT(len_++, "length");
    EXPECT_FAULT(len_ = 3, "length");
    sound_spawn();
    EXPECT_STR(request_check_fault(&room, sizeof room.m + sizeof strings, 0), "descriptors");
    EXPECT_STR(request_check_fault(&room, sizeof room.m + sizeof strings, 3), "descriptors");
    EXPECT_STR(request_check_fault(&room, sizeof room.m + sizeof strings, 2), "length");
}

TEST(the_other_messages_are_checked)
{
    struct k_simple s = {.type = K_READY};
    struct k_signal g = {.type = K_SIGNAL, .signum = 15, .target = K_TREE};
    struct k_close c = {.type = K_CLOSE, .which = 31};

    EXPECT_STR(request_check_fault(&s, sizeof s, 0), NULL);
    EXPECT_STR(request_check_fault(&s, sizeof s + 1, 0), "length");
    EXPECT_STR(request_check_fault(&s, sizeof s, 1), "descriptors");
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), NULL);
    EXPECT_STR(request_check_fault(&c, sizeof c, 0), NULL);
    g.signum = 0;
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), "signal");
    g.signum = 65;
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), "signal");
    g = (struct k_signal){.type = K_SIGNAL, .signum = 15, .target = K_RECENT + 1};
    EXPECT_STR(request_check_fault(&g, sizeof g, 0), "target");
    c.which = 32;
    EXPECT_STR(request_check_fault(&c, sizeof c, 0), "descriptors");
    for (uint32_t type = 0; type < 30; type++) {
        s.type = type;
        if (type != K_READY && type != K_SURVEY && type != K_FORGET && type != K_UPGRADE &&
            type != K_CLOSE && type != K_PROBE)
            EXPECT(request_check_fault(&s, sizeof s, 0) != NULL);
    }
}

TEST(a_question_for_sockets_names_some_and_not_too_many)
{
    struct k_holds h = {.type = K_HOLDS, .count = 1};

    EXPECT_STR(request_check_fault(&h, sizeof h, 0), NULL);
    EXPECT_STR(request_check_fault(&h, sizeof h - 1, 0), "length");
    h.count = 0;
    EXPECT_STR(request_check_fault(&h, sizeof h, 0), "count");
    h.count = K_HOLDS_MAX + 1;
    EXPECT_STR(request_check_fault(&h, sizeof h, 0), "count");
}

TEST(a_flood_is_there_or_not)
{
    struct k_flood f = {.type = K_FLOOD, .on = 1};

    EXPECT_STR(request_check_fault(&f, sizeof f, 0), NULL);
    EXPECT_STR(request_check_fault(&f, sizeof f - 4, 0), "length");
    f.on = 2;
    EXPECT_STR(request_check_fault(&f, sizeof f, 0), "flag");
}

TEST(what_a_process_sleeps_in_is_read_from_proc)
{
    struct tty_probe_call c;
    int fds[2];

    EXPECT(tty_probe_parse_syscall("0 0x3 0x7f 0x20000 0x1 0xffffffff 0x0 0x7ffd 0x7f2b\n", &c));
    EXPECT_INT(c.nr, 0);
    EXPECT_U64(c.args[0], 3);
    EXPECT_U64(c.args[4], 0xffffffff);
    EXPECT(!tty_probe_parse_syscall("running\n", &c));
    EXPECT(!tty_probe_parse_syscall("-1 0x7ffd 0x7f2b\n", &c));
    EXPECT(!tty_probe_parse_syscall("7 0x1 0x2\n", &c));
    EXPECT(!tty_probe_parse_syscall("", &c));
    EXPECT_U64(tty_probe_parse_epoll("pos:\t0\ntfd:       11 events:        1 data: b\n"
                                     "tfd:       12 events:        4 data: c\n"
                                     "tfd:        0 events:       19 data: 0\n",
                                     fds, 2),
               2);
    EXPECT_INT(fds[0], 11);
    EXPECT_INT(fds[1], 0);
    EXPECT_U64(tty_probe_parse_epoll("tfd: 5", fds, 2), 0);
}

TEST(strings_must_fill_their_bytes_exactly)
{
    char bytes[] = "a\0\0bc";
    char *at[4];

    EXPECT(request_check_split(bytes, 6, at, 3));
    EXPECT_STR(at[0], "a");
    EXPECT_STR(at[1], "");
    EXPECT_STR(at[2], "bc");
    EXPECT(!request_check_split(bytes, 6, at, 2));
    EXPECT(!request_check_split(bytes, 6, at, 4));
    EXPECT(!request_check_split(bytes, 5, at, 3));
}

TEST(a_plan_has_its_arrays_in_place)
{
    struct spawn *s;

    sound_spawn();
    REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
    EXPECT_STR(s->plan.cwd, "/tmp");
    EXPECT_STR(s->plan.paths[1], "/bin/b");
    EXPECT_STR(s->plan.argv[0], "a");
    EXPECT_STR(s->plan.argv[1], "-x");
    EXPECT(s->plan.argv[2] == NULL);
    EXPECT_STR(s->plan.envp[0], "A=1");
    EXPECT_STR(s->plan.envp[1], "HOLDFAST_PROCESS_ID=proc_abc123");
    EXPECT(s->plan.envp[2] == NULL);
    spawn_free(s);
    room.m.env_count = 2;
    EXPECT_INT(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s), -EBADMSG);
    room.m.path_count = SPAWN_STRINGS_MAX;
    EXPECT_INT(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s), -E2BIG);
}

/* To become who one is needs no change, which only root may ask for. */
TEST(a_user_is_changed_only_where_it_makes_a_difference)
{
    static const struct {
        uint32_t uid, gid;
        bool changes;
    } cases[] = {{0, 0, true}, {4711, 0, true}, {4711, 4711, true}};
    struct spawn *s;

    for (size_t i = 0; i < 3; i++) {
        sound_spawn();
        room.m.set_user = 1;
        room.m.uid = cases[i].uid;
        room.m.gid = cases[i].gid;
        REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
        EXPECT_INT(s->plan.set_user, cases[i].changes);
        spawn_free(s);
    }
    if (fork() == 0) {
        if (geteuid() == 0 && (setresgid(4711, 4711, 4711) < 0 || setresuid(4711, 4711, 4711) < 0))
            _exit(1);
        room.m.uid = geteuid();
        room.m.gid = getegid();
        REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
        EXPECT(!s->plan.set_user);
        spawn_free(s);
        room.m.gid++;
        REQUIRE(spawn_new(&room.m, (const char *)(&room.m + 1), -1, &s) == 0);
        EXPECT(s->plan.set_user);
        spawn_free(s);
        _exit(test_failures > 0);
    }
    {
        int status = -1;

        wait(&status);
        EXPECT_INT(status, 0);
    }
}

TEST(a_process_runs_as_one_of_the_users_with_none_but_their_groups)
{
    struct keeper_user users[] = {{.uid = 5, .gid = 50, .group_count = 2, .groups = {51, 52}},
                                  {.uid = geteuid(), .gid = getegid()}};
    struct keeper_options o = {.users_only = true, .users = users, .user_count = 1};
    struct keeper k = {.options = &o};
    struct k_spawn m = {.set_user = 1, .uid = 5, .gid = 50, .group_count = 1, .groups = {52}};

    EXPECT(spawn_user_is_allowed(&k, &m));
    m.gid = 51;
    EXPECT(spawn_user_is_allowed(&k, &m));
    m.gid = 99;
    EXPECT(!spawn_user_is_allowed(&k, &m));
    m.gid = 50;
    m.groups[0] = 99;
    EXPECT(!spawn_user_is_allowed(&k, &m));
    m.groups[0] = 50;
    m.uid = 6;
    EXPECT(!spawn_user_is_allowed(&k, &m));
    m.set_user = 0; /* as the keeper itself */
    EXPECT(!spawn_user_is_allowed(&k, &m));
    o.user_count = 2;
    EXPECT(spawn_user_is_allowed(&k, &m));
    m.set_user = 1;
    o.users_only = false;
    EXPECT(spawn_user_is_allowed(&k, &m));
}

TEST(the_wait_before_another_worker_doubles_up_to_its_bound)
{
    EXPECT_INT(worker_backoff_ms(0, 0), 0);
    EXPECT_INT(worker_backoff_ms(2, 2), 0);
    EXPECT_INT(worker_backoff_ms(3, 3), 100);
    EXPECT_INT(worker_backoff_ms(4, 4), 200);
    EXPECT_INT(worker_backoff_ms(8, 8), 3200);
    EXPECT_INT(worker_backoff_ms(9, 100), 5000);
    EXPECT_INT(worker_backoff_ms(4000000000U, 4000000000U), 5000);
    /* Ends from outside: at once, then after a wait that stays short. */
    EXPECT_INT(worker_backoff_ms(0, 9), 0);
    EXPECT_INT(worker_backoff_ms(0, 10), 50);
    EXPECT_INT(worker_backoff_ms(2, 4000000000U), 50);
}

/* --- table ---------------------------------------------------------------- */

TEST(entries_are_found_by_number_and_until_reaped_by_pid)
{
    enum { COUNT = 1000 };
    static struct entry *e[COUNT];
    struct table t;

    table_init(&t);
    for (int i = 0; i < COUNT; i++) {
        e[i] = table_add(&t);
        REQUIRE(e[i] != NULL);
        table_set_pid(&t, e[i], 5000 + i * 3);
    }
    for (int i = 0; i < COUNT; i++) {
        EXPECT(table_find(&t, e[i]->pub.entry) == e[i]);
        EXPECT(table_find_pid(&t, 5000 + i * 3) == e[i]);
        if (i % 2 == 0)
            table_clear_pid(&t, e[i]);
    }
    EXPECT(table_find_pid(&t, 5000) == NULL);
    EXPECT_INT(e[0]->pub.pid, 5000);
    for (int i = 0; i < COUNT; i += 3) {
        uint32_t number = e[i]->pub.entry;

        table_remove(&t, e[i]);
        EXPECT(table_find(&t, number) == NULL);
    }
    EXPECT_U64(t.count, COUNT - (COUNT + 2) / 3);
    /* Numbers that are taken are passed over when the count begins anew. */
    t.last_number = UINT32_MAX;
    EXPECT_U64(table_add(&t)->pub.entry, 1);
    EXPECT_U64(table_add(&t)->pub.entry, 4);
    table_fini(&t);
}

/* --- saved state ---------------------------------------------------------- */

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

/* --- texts ---------------------------------------------------------------- */

TEST(a_stat_line_is_read_whatever_the_program_calls_itself)
{
    static const char line[] =
        "1234 (a) b) (c) S 12 34 56 34817 99 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 8192 1 18446\n";
    struct proc p;

    EXPECT(procfs_parse_stat(line, strlen(line), &p));
    EXPECT_INT(p.pid, 1234);
    EXPECT_STR(p.comm, "a) b) (c");
    EXPECT_INT(p.state, 'S');
    EXPECT_INT(p.ppid, 12);
    EXPECT_INT(p.pgrp, 34);
    EXPECT_INT(p.sid, 56);
    EXPECT_U64(p.tty_nr, 34817);
    EXPECT_U64(p.start_ticks, 987654);
    EXPECT(!procfs_parse_stat(line, 20, &p));
    EXPECT(!procfs_parse_stat("", 0, &p));
    EXPECT(!procfs_parse_stat(")(", 2, &p));
}

static void abort_on_signal(int signum)
{
    (void)signum;
    abort();
}

TEST(status_tells_which_signals_have_a_handler)
{
    static const char text[] = "Name:\tSigCgt: ffff\nSigIgn:\tffffffffffffffff\n"
                               "SigCgt:\t8000000000004002\nCapInh:\t0\n";

    EXPECT(procfs_status_catches(text, SIGINT) && procfs_status_catches(text, SIGTERM));
    EXPECT(procfs_status_catches(text, 64));
    EXPECT(!procfs_status_catches(text, SIGHUP) && !procfs_status_catches(text, SIGUSR1));
    EXPECT(!procfs_status_catches("Name:\tx\n", SIGTERM));
    EXPECT(!procfs_catches(getpid(), SIGUSR2));
    signal(SIGUSR2, SIG_IGN);
    EXPECT(!procfs_catches(getpid(), SIGUSR2));
    signal(SIGUSR2, abort_on_signal);
    EXPECT(procfs_catches(getpid(), SIGUSR2));
    signal(SIGUSR2, SIG_DFL);
}

TEST(a_process_has_a_parent_or_is_gone)
{
    EXPECT_INT(procfs_parent(getpid()), getppid());
    EXPECT_INT(procfs_parent(INT32_MAX), 0);
    EXPECT(!procfs_catches(INT32_MAX, SIGTERM));
}

TEST(an_environment_is_searched_by_whole_variables)
{
    static const char env[] = "X_ID=1\0ID=proc_1\0ID=proc_2";

    EXPECT_INT(procfs_find_env(env, sizeof env, "ID=", "proc_1"), 1);
    EXPECT_INT(procfs_find_env(env, sizeof env, "ID=", "proc_2"), 0);
    EXPECT_INT(procfs_find_env(env, sizeof env, "ID=", "proc_"), 0);
    EXPECT_INT(procfs_find_env(env, 7, "ID=", "1"), -1);
    EXPECT_INT(procfs_find_env(NULL, 0, "ID=", "1"), -1);
    /* Without the last NUL, as a process may have overwritten it. */
    EXPECT_INT(procfs_find_env("ID=a", 4, "ID=", "a"), 1);
}

TEST(our_cgroup_is_found_in_the_mounts)
{
    static const char mounts[] =
        "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
        "31 22 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "32 22 0:29 /elsewhere /mnt/x rw - cgroup2 cgroup2 rw\n"
        "41 31 0:38 / /sys/fs/my\\040cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
    char out[64];

    EXPECT(cgroup_find(mounts, "3:cpu:/x\n0::/a/b\n", out, sizeof out));
    EXPECT_STR(out, "/sys/fs/my cgroup/a/b");
    EXPECT(cgroup_find(mounts, "0::/\n", out, sizeof out));
    EXPECT_STR(out, "/sys/fs/my cgroup");
    EXPECT(cgroup_find(mounts, "0::/elsewhere/z", out, sizeof out));
    EXPECT_STR(out, "/mnt/x/z");
    EXPECT(!cgroup_find(mounts, "1:memory:/a\n", out, sizeof out));
    EXPECT(!cgroup_find(mounts, "0::/../other\n", out, sizeof out));
    EXPECT(!cgroup_find("", "0::/\n", out, sizeof out));
    EXPECT(!cgroup_find(mounts, "0::/a/b\n", out, 8));
    EXPECT(!cgroup_find("1 2 - cgroup2 \n\n", "0::/\n", out, sizeof out));
}

/* --- a slot, made of plain files ------------------------------------------ */

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

/* --- streams -------------------------------------------------------------- */

TEST(without_dev_null_the_end_is_read_from_a_pipe)
{
    char dir[] = "/tmp/holdfast-root-XXXXXX", byte;
    int status = -1;
    pid_t pid;

    if (geteuid() != 0)
        return;
    REQUIRE(mkdtemp(dir) != NULL);
    pid = fork();
    if (pid == 0) {
        int fd = chroot(dir) == 0 ? streams_open_null() : -1;

        _exit(fd >= 0 && read(fd, &byte, 1) == 0 ? 0 : 1);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    rmdir(dir);
}
