/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spawn_many.c - starting processes while many others live
 *
 * From HIGH_FROM_ENTRIES on a child is born with the keeper's table of
 * descriptors and cuts off its own; what goes wrong there would hit the keeper
 * or every other process.
 */
#include "test.h"

#include "keeper_rig.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "keeper/high_fds.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})
#define OPENED 1000

/* This program, executed as a process of the keeper: do new descriptors come one after the other? */
__attribute__((constructor)) static void open_many(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "--open-many") != 0)
        return;
    for (int want = 3; want < OPENED; want++) {
        int fd = open("/dev/null", O_RDONLY);

        if (fd != want)
            dprintf(STDOUT_FILENO, "%d instead of %d\n", fd, want);
        if (fd != want)
            _exit(1);
    }
    dprintf(STDOUT_FILENO, "all\n");
    _exit(0); /* the look for leaks would need a descriptor */
}

static void start_some(struct rig_worker *w, int many)
{
    struct rig_spec s;
    int fds[8];

    rig_spec_init(&s, (const char *const[]){"/bin/sleep", "60", NULL});
    s.m.stdin_mode = K_STDIN_PIPE;
    for (int i = 0; i < many; i++) {
        struct k_spawned m;

        s.m.pty = i % 2;
        rig_spawn(w, &s);
        m = rig_spawned(w, fds);
        REQUIRE(m.error == 0);
        for (int n = 0; n < __builtin_popcount(m.fds); n++)
            close(fds[n]);
    }
}

static void start_many(struct rig_worker *w)
{
    start_some(w, HIGH_FROM_ENTRIES + 6);
}

static int count_low_fds(pid_t pid)
{
    char path[64];
    struct dirent *d;
    int n = 0;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    REQUIRE(dir != NULL);
    while ((d = readdir(dir)) != NULL)
        n += d->d_name[0] != '.' && atoi(d->d_name) < HIGH_FD;
    closedir(dir);
    return n;
}

static void standard_fds(pid_t pid, char out[3][128])
{
    for (int i = 0; i < 3; i++) {
        char path[64];
        ssize_t n;

        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, i);
        n = readlink(path, out[i], 127);
        out[i][n < 0 ? 0 : n] = '\0';
    }
}

TEST(among_many_a_process_is_started_as_alone)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[256], before[3][128], after[3][128];
    int count;

    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_begin(&r, &w);
    standard_fds(r.keeper, before);
    start_many(&w);
    EXPECT(count_low_fds(r.keeper) < HIGH_FROM_ENTRIES);
    count = rig_steady_fds(r.keeper);
    rig_spec_init(&s, (const char *const[]){"/bin/ls", "/proc/self/fd", NULL});
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "0\n1\n2\n3\n"); /* 3 is the directory that ls reads */
    rig_spec_init(&s, SH("echo out; echo err >&2; exit 7"));
    s.m.set_oom = 1; /* the memory is its own, the table is not */
    EXPECT_INT(WEXITSTATUS(rig_run(&w, &s, out, sizeof out).status), 7);
    EXPECT_STR(out, "out\n");
    s.m.set_oom = 0;
    s.cwd = "/nowhere";
    rig_fail(&w, &s, K_STAGE_CWD, ENOENT, 0);
    s.m.pty = 1;
    rig_fail(&w, &s, K_STAGE_CWD, ENOENT, 0);
    standard_fds(r.keeper, after);
    for (int i = 0; i < 3; i++)
        EXPECT_STR(after[i], before[i]);
    EXPECT(rig_has_fds(r.keeper, count));
    rig_end(&r, &w);
}

/*
 * Kernels before 6.11 copy marks of full blocks for numbers that they do not
 * copy, and a program that opens some hundred files then gets none of them.
 */
TEST(among_many_a_program_can_open_many_files)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[256];

    rig_begin(&r, &w);
    start_many(&w);
    rig_spec_init(&s, (const char *const[]){"/proc/self/exe", "--open-many", NULL});
    s.m.open_files = OPENED;
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "all\n");
    rig_end(&r, &w);
}

/* --- what can go wrong at the cut ------------------------------------------- */

/* From now on the system answers so when a child cuts its table. False: it cannot be told to. */
static bool answer_cut(uint32_t action, unsigned flags)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HIGH_FD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) >= 0;
}

/* Nobody listens at the other end, so the child waits for ever. */
static void hold_cut(void)
{
    if (!answer_cut(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER))
        _exit(77);
}

static void fail_cut(void)
{
    if (!answer_cut(SECCOMP_RET_ERRNO | ENOMEM, 0))
        _exit(77);
}

/* With HIGH_FROM_ENTRIES - 1 living processes: the next child will cut. */
static void begin_before_cut(struct rig *r, struct rig_worker *w, void (*before)(void))
{
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_init(r);
    r->before = before;
    rig_start(r);
    rig_worker(r, w);
    start_some(w, HIGH_FROM_ENTRIES - 1);
}

TEST(a_child_that_cannot_cut_says_so)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int before;

    begin_before_cut(&r, &w, fail_cut);
    before = rig_steady_fds(r.keeper);
    rig_spec_init(&s, SH("true"));
    rig_fail(&w, &s, K_STAGE_FORK, ENOMEM, 0);
    EXPECT(rig_has_fds(r.keeper, before));
    rig_end(&r, &w);
}

/* Its ends of the pipes are the keeper's to close, and no business of the next worker. */
TEST(a_child_that_dies_before_it_cuts_leaves_nothing_open)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int in_keeper, in_worker;

    begin_before_cut(&r, &w, hold_cut);
    rig_ready(&w);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    in_worker = rig_steady_fds(w.boot.pid);
    in_keeper = rig_steady_fds(r.keeper);
    rig_spec_init(&s, SH("true"));
    s.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &s);
    rig_ready(&w);
    for (int i = 0; i < 1000 && rig_count_fds(r.keeper) == in_keeper; i++)
        usleep(1000); /* until it is on its way */
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_INT(rig_steady_fds(w.boot.pid), in_worker);
    EXPECT(rig_has_fds(r.keeper, in_keeper));
    EXPECT_U64(w.boot.entry_count, HIGH_FROM_ENTRIES - 1);
    rig_end(&r, &w);
}

/* Killed anywhere between birth and exec, a child leaves nothing open in the keeper. */
TEST(starts_that_are_given_up_leave_nothing_behind)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int before;

    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_begin(&r, &w);
    start_many(&w);
    rig_spec_init(&s, (const char *const[]){"/nowhere/a", NULL});
    rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 0);
    before = rig_steady_fds(r.keeper);
    for (int i = 0; i < 20; i++) {
        rig_ready(&w);
        for (int n = 0; n < 4; n++) {
            s.m.pty = n % 2;
            rig_spawn(&w, &s);
        }
        rig_kill_worker(&w);
        rig_worker(&r, &w);
    }
    EXPECT(rig_has_fds(r.keeper, before));
    rig_end(&r, &w);
}

TEST(what_a_dead_child_was_lent_is_closed)
{
    struct keeper k = {0};
    struct spawn *s = calloc(1, sizeof *s);
    int pair[2];

    REQUIRE(s != NULL && pipe(pair) == 0);
    list_init(&k.spawns.flying);
    list_append(&k.spawns.flying, &s->link);
    s->pid = 77;
    s->report_fd = pair[0];
    memset(s->lent, -1, sizeof s->lent);
    s->lent[2] = pair[1];
    spawns_on_death(&k, 78);
    EXPECT_INT(s->lent[2], pair[1]);
    spawns_on_death(&k, 77);
    EXPECT_INT(s->lent[2], -1);
    EXPECT(fcntl(pair[1], F_GETFD) < 0);
    close(pair[0]);
    free(s);
}

TEST(a_descriptor_is_moved_up_where_the_limit_allows)
{
    struct rlimit limit;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), low = fd, none = -1;

    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    high_move(&none);
    EXPECT_INT(none, -1);
    high_move(&fd);
    EXPECT(fd >= HIGH_FD && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    EXPECT(fcntl(low, F_GETFD) < 0);
    low = fd;
    high_move(&fd); /* once is enough */
    EXPECT_INT(fd, low);
    close(fd);
    fd = low = open("/dev/null", O_RDONLY | O_CLOEXEC);
    limit.rlim_cur = 100;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    high_move(&fd);
    EXPECT_INT(fd, low);
    close(fd);
}
