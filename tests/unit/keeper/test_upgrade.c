/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_upgrade.c - another binary in the keeper's place: this very
 * test program, which knows by its arguments and environment what it is to be
 */
#include "test.h"

#include "keeper_rig.h"

#include <limits.h>
#include <sys/stat.h>

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

static char exe[PATH_MAX];
static char *exe_argv[] = {exe, (char *)(uintptr_t)("new-keeper"), NULL};

static int carry(struct buf *out, void *arg)
{
    (void)arg;
    buf_puts(out, "carried");
    return 0;
}

static bool is_memory(int fd, void *arg)
{
    struct stat st;

    (void)arg;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* The candidate's trial: it gets the state, its descriptors, and the command line to come. */
static int rig_try(int argc, char **argv)
{
    const struct keeper_trial t = {.record = is_memory, .state = is_memory};
    const char *resume = getenv(KEEPER_RESUME_ENV), *fault;

    if (getenv("RIG_REFUSE") != NULL || atoi(argv[2]) != KEEPER_STATE_VERSION)
        return 1;
    if (argc != 5 || strcmp(argv[4], "new-keeper") != 0 || resume == NULL)
        return 2;
    fault = keeper_try(atoi(resume), &t);
    if (fault != NULL)
        fprintf(stderr, "%s\n", fault);
    return fault == NULL ? KEEPER_CHECK_YES : 1;
}

/* Runs before main() of test.h: the executed binary never gets there. */
__attribute__((constructor)) static void be_new_keeper(int argc, char **argv)
{
    const char *resume = getenv(KEEPER_RESUME_ENV);
    struct rig r = {.worker_main = rig_worker_main};
    void *carried;
    size_t len;
    int fd;

    if (argc >= 3 && strcmp(argv[1], "upgrade-check") == 0)
        _exit(rig_try(argc, argv));
    if (argc != 2 || strcmp(argv[1], "new-keeper") != 0 || resume == NULL)
        return;
    fd = atoi(resume);
    r.options = (struct keeper_options){.worker_main = rig_worker_main,
                                        .state_bytes = 4096,
                                        .grace_ms = 500,
                                        .exe_path = argv[0],
                                        .argv = argv,
                                        .worker_uid = geteuid(),
                                        .worker_gid = getegid()};
    log_set_level(getenv("RIG_LOG") != NULL ? LOG_DEBUG : LOG_ERROR);
    if (keeper_resume_carry(fd, &carried, &len, r.options.carry.fds, &r.options.carry.fd_count) <
            0 ||
        len != 7 || memcmp(carried, "carried", 7) != 0 || r.options.carry.fd_count != 1)
        _exit(99);
    free(carried);
    r.options.carry_write = carry;
    r.options.arg = &r.options.carry.fds[0];
    exit(keeper_run(&r.options, fd));
}

static void begin(struct rig *r, struct rig_worker *w)
{
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    REQUIRE(n > 0);
    exe[n] = '\0';
    rig_init(r);
    r->options.exe_path = exe;
    r->options.argv = exe_argv;
    r->options.carry = (struct keeper_carry){.fds = {r->workers}, .fd_count = 1};
    r->options.carry_write = carry;
    rig_start(r);
    rig_worker(r, w);
}

/* The worker is told to leave, does so, and the new keeper's worker comes. */
static void retire(struct rig *r, struct rig_worker *w)
{
    struct k_simple m;
    size_t count;
    int fds[8];

    rig_expect(w, K_RETIRE, &m, sizeof m, fds, &count);
    rig_exit_worker(r, w, 0);
    rig_worker(r, w);
}

static bool is_new(pid_t keeper)
{
    char path[64], text[4096] = "";
    int fd;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)keeper);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strcmp(text + strlen(text) + 1, "new-keeper") == 0;
}

TEST(an_upgrade_keeps_processes_descriptors_and_exits)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned tty, done, pipes;
    int a[8], b[8], c[8], before;
    char out[64];

    begin(&r, &w);
    rig_spec_init(&s, SH("echo up; read line; echo \"got $line\"; exit 6"));
    s.m.pty = 1;
    strcpy(s.m.id, "proc_tty");
    rig_spawn(&w, &s);
    tty = rig_spawned(&w, a);
    rig_read_until(a[0], out, sizeof out, "up");
    rig_spec_init(&s, SH("exit 5"));
    rig_spawn(&w, &s);
    done = rig_spawned(&w, b);
    EXPECT_INT(WEXITSTATUS(rig_exited(&w).status), 5);
    rig_spec_init(&s, SH("sleep 60 & exec sleep 61"));
    s.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &s);
    pipes = rig_spawned(&w, c);
    before = rig_steady_fds(r.keeper);
    EXPECT(!is_new(r.keeper));

    kill(r.keeper, SIGHUP);
    retire(&r, &w);

    EXPECT(is_new(r.keeper));
    EXPECT_U64(w.boot.generation, 2);
    EXPECT(w.boot.prev_io_known);
    REQUIRE(w.boot.entry_count == 3);
    EXPECT_STR(w.boot.entries[0].id, "proc_tty");
    EXPECT_U64(w.boot.entries[0].entry, tty.entry);
    EXPECT_INT(w.boot.entries[0].pid, tty.pid);
    EXPECT(w.boot.entries[0].tty_fd >= 0 && !w.boot.entries[0].exited);
    EXPECT_U64(w.boot.entries[1].entry, done.entry);
    EXPECT(w.boot.entries[1].exited && WEXITSTATUS(w.boot.entries[1].status) == 5);
    EXPECT(w.boot.entries[2].stdin_fd >= 0 && w.boot.entries[2].stdout_fd >= 0);
    /* The terminal goes on, and the exit comes to the new worker. */
    REQUIRE(write(a[0], "typed\n", 6) == 6);
    rig_read_until(a[0], out, sizeof out, "got typed");
    EXPECT(strstr(out, "got typed") != NULL);
    EXPECT_INT(WEXITSTATUS(rig_exited(&w).status), 6);
    /* The tree is known, numbers go on, and nothing leaks into new children. */
    EXPECT_U64(rig_survey(&w, pipes.entry).total, 2);
    EXPECT(rig_count_fds(r.keeper) <= before + 2);
    rig_spec_init(&s, (const char *const[]){"/bin/ls", "/proc/self/fd", NULL});
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "0\n1\n2\n3\n");
    close(a[0]);
    close(b[0]);
    close(b[1]);
    for (int i = 0; i < 3; i++)
        close(c[i]);
    rig_end(&r, &w);
}

TEST(upgrades_can_follow_each_other_and_leak_nothing)
{
    struct rig r;
    struct rig_worker w;
    struct k_simple up = {.type = K_UPGRADE};
    int before = 0;

    begin(&r, &w);
    for (int i = 0; i < 4; i++) {
        rig_send(w.channel, &up, sizeof up, NULL, 0);
        retire(&r, &w);
        EXPECT_U64(w.boot.generation, (uint64_t)i + 2);
        if (i == 0)
            before = rig_steady_fds(r.keeper);
    }
    EXPECT(rig_has_fds(r.keeper, before));
    rig_end(&r, &w);
}

TEST(a_binary_that_refuses_changes_nothing)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    setenv("RIG_REFUSE", "1", 1);
    begin(&r, &w);
    kill(r.keeper, SIGHUP);
    usleep(200 * 1000);
    rig_spec_init(&s, SH("echo still"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "still\n");
    EXPECT(!is_new(r.keeper));
    rig_end(&r, &w);
}

/* The check passes, but then the binary is not there any more. */
TEST(an_exec_that_fails_starts_a_worker_of_the_old_binary)
{
    char script[] = "/tmp/holdfast-upgrade-XXXXXX";
    int fd = mkstemp(script);
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_simple m;
    char out[64];
    size_t count;
    int fds[8];

    REQUIRE(write(fd, "#!/bin/sh\nexit 93\n", 18) == 18);
    fchmod(fd, 0755);
    close(fd);
    rig_init(&r);
    r.options.exe_path = script;
    r.options.argv = exe_argv;
    rig_start(&r);
    rig_worker(&r, &w);
    kill(r.keeper, SIGHUP);
    rig_expect(&w, K_RETIRE, &m, sizeof m, fds, &count);
    unlink(script);
    rig_exit_worker(&r, &w, 0);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.generation, 2);
    rig_spec_init(&s, (const char *const[]){"/bin/ls", "/proc/self/fd", NULL});
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "0\n1\n2\n3\n");
    rig_end(&r, &w);
}

TEST(a_worker_that_does_not_leave_is_killed_for_the_upgrade)
{
    struct rig r;
    struct rig_worker w;
    struct k_simple m;
    size_t count;
    int fds[8];

    begin(&r, &w);
    kill(r.keeper, SIGHUP);
    rig_expect(&w, K_RETIRE, &m, sizeof m, fds, &count);
    rig_drop(&w);
    rig_worker(&r, &w);
    EXPECT(is_new(r.keeper));
    EXPECT_U64(w.boot.generation, 2);
    rig_end(&r, &w);
}

TEST(a_stop_during_an_upgrade_stops)
{
    struct rig r;
    struct rig_worker w;

    begin(&r, &w);
    kill(r.keeper, SIGSTOP);
    kill(r.keeper, SIGHUP);
    kill(r.keeper, SIGTERM);
    kill(r.keeper, SIGCONT);
    rig_exit_worker(&r, &w, 0);
    EXPECT_INT(rig_wait_keeper(&r), 0);
}
