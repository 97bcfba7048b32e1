/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keeper_spawn.c - processes through the keeper's link: what they start
 * with, what they leave, and how failures are told
 */
#include "test.h"

#include "keeper_rig.h"

#include "keeper/core.h"
#include "keeper/spawn.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

TEST(a_pipe_process_gives_its_output_and_exit)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_exited x;
    char out[256];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("echo hello; exit 3"));
    x = rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "hello\n");
    EXPECT(WIFEXITED(x.status) && WEXITSTATUS(x.status) == 3);
    EXPECT(x.maxrss_kib > 0);
    EXPECT(x.at_wall_ms > clock_wall_ms() - 60000);
    EXPECT_U64(x.oom, 0);
    rig_end(&r, &w);
}

TEST(the_cpu_time_of_a_process_is_told)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_exited x;
    char out[16];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
    x = rig_run(&w, &s, out, sizeof out);
    EXPECT(x.utime_us + x.stime_us > 1000);
    rig_end(&r, &w);
}

TEST(stdout_and_stderr_are_apart_and_stdin_reaches_the_program)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    struct k_close c;
    char out[256];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("cat; echo oops >&2"));
    s.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    REQUIRE(m.fds == (K_FD_STDIN | K_FD_STDOUT | K_FD_STDERR));
    for (int i = 0; i < 3; i++)
        EXPECT(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
    REQUIRE(write(fds[0], "typed", 5) == 5);
    close(fds[0]);
    /* The keeper's own copy holds the pipe open until it is told. */
    c = (struct k_close){.type = K_CLOSE, .entry = m.entry, .which = K_FD_STDIN};
    rig_send(w.link, &c, sizeof c, NULL, 0);
    rig_read_until(fds[1], out, sizeof out, NULL);
    EXPECT_STR(out, "typed");
    rig_read_until(fds[2], out, sizeof out, NULL);
    EXPECT_STR(out, "oops\n");
    close(fds[1]);
    close(fds[2]);
    EXPECT_INT(rig_exited(&w).status, 0);
    rig_end(&r, &w);
}

TEST(without_stdin_the_program_reads_the_end_at_once)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("cat; echo end"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "end\n");
    rig_end(&r, &w);
}

TEST(a_terminal_has_its_size_and_mode_before_the_program_looks)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    char out[1024];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("stty size; stty -a | grep -o ' iutf8'; tty"));
    s.m.pty = 1;
    s.m.rows = 33;
    s.m.cols = 123;
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    REQUIRE(m.fds == K_FD_TTY);
    rig_read_until(fds[0], out, sizeof out, NULL);
    out[25] = '\0';
    EXPECT_STR(out, "33 123\r\n iutf8\r\n/dev/pts/");
    EXPECT(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
    EXPECT_INT(rig_exited(&w).status, 0);
    close(fds[0]);
    rig_end(&r, &w);
}

TEST(ctrl_c_typed_into_the_terminal_interrupts_the_program)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[256];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("echo up; exec sleep 60"));
    s.m.pty = 1;
    rig_spawn(&w, &s);
    rig_spawned(&w, fds);
    rig_read_until(fds[0], out, sizeof out, "up");
    REQUIRE(write(fds[0], "\003", 1) == 1);
    EXPECT_INT(rig_exited(&w).status, SIGINT);
    close(fds[0]);
    rig_end(&r, &w);
}

TEST(arguments_and_environment_arrive_exactly)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", "printf '<%s>' \"$0\" \"$@\"; env", "", "a b", "\xc3\xa4\n", NULL};
    static const char *const envp[] = {"ONE=1", "EMPTY=", "HOLDFAST_PROCESS_ID=proc_outer", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[512];

    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    s.envp = envp;
    rig_run(&w, &s, out, sizeof out);
    EXPECT(strncmp(out, "<><a b><\xc3\xa4\n>", 12) == 0);
    EXPECT(strstr(out, "ONE=1\n") != NULL);
    EXPECT(strstr(out, "EMPTY=\n") != NULL);
    /* An inherited mark would make this process part of another tree. */
    EXPECT(strstr(out, "HOLDFAST_PROCESS_ID=proc_rig\n") != NULL);
    EXPECT(strstr(out, "proc_outer") == NULL);
    rig_end(&r, &w);
}

TEST(long_strings_come_through_a_memory_file)
{
    static char big[100 * 1024];
    const char *const argv[] = {"/bin/sh", "-c", "printf %s \"$1\" | wc -c", "sh", big, NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];

    memset(big, 'x', sizeof big - 1);
    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    s.by_memfd = true;
    rig_run(&w, &s, out, sizeof out);
    EXPECT_INT(atoi(out), (int)sizeof big - 1);
    rig_end(&r, &w);
}

/* A search path of colons is no fault of the worker's. */
TEST(too_many_strings_are_an_answer)
{
    enum { COUNT = 70000 };
    static const char *argv[COUNT + 2];
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[16];

    argv[0] = "/bin/true";
    for (int i = 1; i <= COUNT; i++)
        argv[i] = "";
    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    s.by_memfd = true;
    rig_fail(&w, &s, K_STAGE_EXEC, E2BIG, 0);
    rig_spec_init(&s, SH("echo on"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "on\n");
    rig_end(&r, &w);
}

TEST(no_descriptor_but_the_three_is_inherited)
{
    static const char *const argv[] = {"/bin/ls", "/proc/self/fd", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s, other;
    int fds[8], more[8];
    char out[256];

    rig_begin(&r, &w);
    /* Another process's terminal and pipes are open in the keeper meanwhile. */
    rig_spec_init(&other, SH("exec sleep 60"));
    other.m.pty = 1;
    rig_spawn(&w, &other);
    rig_spawned(&w, fds);
    other.m.pty = 0;
    other.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &other);
    rig_spawned(&w, more);
    rig_spec_init(&s, argv);
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "0\n1\n2\n3\n"); /* 3 is the directory that ls reads */
    close(fds[0]);
    for (int i = 0; i < 3; i++)
        close(more[i]);
    rig_end(&r, &w);
}

static void ignore_signals(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
}

TEST(signals_are_at_default_and_none_is_blocked)
{
    static const char *const argv[] = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
                                       NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[256];

    rig_init(&r);
    r.before = ignore_signals;
    rig_start(&r);
    rig_worker(&r, &w);
    rig_spec_init(&s, argv);
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    rig_end(&r, &w);
}

TEST(a_process_leads_its_own_session_and_group)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int pid = 0, pgid = 1, sid = 2;
    char out[256];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("ps -o pid=,pgid=,sid= -p $$"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_INT(sscanf(out, "%d %d %d", &pid, &pgid, &sid), 3);
    EXPECT_INT(pgid, pid);
    EXPECT_INT(sid, pid);
    rig_end(&r, &w);
}

TEST(what_cannot_be_executed_is_told_with_errno_and_path)
{
    static const char *const none[] = {"/nowhere/a", "/nowhere/b", NULL};
    static const char *const denied[] = {"/nowhere/a", "/etc/passwd", "/nowhere/b", NULL};
    static const char *const dir[] = {"/etc/passwd/x", "/tmp", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int before;

    rig_begin(&r, &w);
    before = rig_steady_fds(w.boot.keeper_pid);
    rig_spec_init(&s, SH("true"));
    s.paths = none;
    rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 1);
    s.paths = denied;
    rig_fail(&w, &s, K_STAGE_EXEC, EACCES, 1);
    s.paths = dir;
    s.m.pty = 1;
    rig_fail(&w, &s, K_STAGE_EXEC, EACCES, 1);
    s.paths = s.argv;
    s.cwd = "/nowhere";
    rig_fail(&w, &s, K_STAGE_CWD, ENOENT, 0);
    s.cwd = "/etc/passwd";
    rig_fail(&w, &s, K_STAGE_CWD, ENOTDIR, 0);
    s.cwd = "";
    s.m.set_oom = 1;
    s.m.oom_score_adj = 5000;
    rig_fail(&w, &s, K_STAGE_LIMITS, EINVAL, 0);
    s.m.set_oom = 0;
    s.m.set_user = 1;
    s.m.uid = s.m.gid = UINT32_MAX - 1;
    s.m.group_count = 1;
    s.m.groups[0] = UINT32_MAX;
    rig_fail(&w, &s, K_STAGE_USER, geteuid() == 0 ? EINVAL : EPERM, 0);
    EXPECT(rig_count_fds(w.boot.keeper_pid) <= before + 2 * 16); /* slots of the cgroup */
    rig_end(&r, &w);
}

/* Orderly means that neither the entry nor the dead child is left. */
TEST(a_failed_start_leaves_nothing_behind)
{
    static const char *const none[] = {"/nowhere/a", NULL};
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int before;

    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_begin(&r, &w);
    rig_spec_init(&s, SH("true"));
    s.paths = none;
    /* From the second terminal on, what is made ahead is there. */
    for (int i = 0; i < 2; i++) {
        s.m.pty = 1;
        rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 0);
    }
    before = rig_steady_fds(w.boot.keeper_pid);
    for (int i = 0; i < 50; i++) {
        s.m.pty = i % 2;
        rig_fail(&w, &s, K_STAGE_EXEC, ENOENT, 0);
    }
    EXPECT(rig_has_fds(w.boot.keeper_pid, before));
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 0);
    rig_end(&r, &w);
}

/* The shell once ran whatever the kernel did not know: a broken program looked like a bad script. */
TEST(a_file_without_a_known_head_is_an_error_with_its_path)
{
    char path[] = "/tmp/holdfast-script-XXXXXX";
    const char *const argv[] = {path, "arg", NULL};
    const char *const paths[] = {"/nowhere/a", path, "/bin/true", NULL};
    int fd = mkstemp(path);
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;

    REQUIRE(write(fd, "echo \"script $1\"\n", 17) == 17);
    fchmod(fd, 0755);
    close(fd);
    rig_begin(&r, &w);
    rig_spec_init(&s, argv);
    rig_fail(&w, &s, K_STAGE_EXEC, ENOEXEC, 0);
    s.paths = paths;
    rig_fail(&w, &s, K_STAGE_EXEC, ENOEXEC, 1);
    unlink(path);
    rig_end(&r, &w);
}

TEST(the_working_directory_is_set)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[128];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("pwd -P"));
    s.cwd = "/usr";
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "/usr\n");
    rig_end(&r, &w);
}

TEST(user_groups_limits_and_priorities_are_set)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[512];

    if (geteuid() != 0)
        return;
    rig_begin(&r, &w);
    rig_spec_init(&s, SH("id -u; id -g; id -G; ulimit -n; ulimit -t; ulimit -f; nice;"
                         "cat /proc/self/oom_score_adj; : > /dev/stdout && echo own"));
    s.m.set_user = 1;
    s.m.uid = 1234;
    s.m.gid = 2345;
    s.m.group_count = 2;
    s.m.groups[0] = 2345;
    s.m.groups[1] = 77;
    s.m.open_files = 99;
    s.m.cpu_s = 55;
    s.m.file_bytes = 512 * 10;
    s.m.set_nice = 1;
    s.m.nice = 7;
    s.m.set_oom = 1;
    s.m.oom_score_adj = 321;
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "1234\n2345\n2345 77\n99\n55\n10\n7\n321\nown\n");
    rig_end(&r, &w);
}

/* A child that shares our memory and writes its oom_score_adj would write ours as well. */
TEST(the_keeper_is_as_it_was_after_children_with_limits_and_users)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[512], path[64];
    struct stat st;
    int fd;

    if (geteuid() != 0)
        return;
    rig_begin(&r, &w);
    rig_spec_init(&s, SH("true"));
    s.m.set_user = 1;
    s.m.uid = s.m.gid = 1234;
    rig_run(&w, &s, out, sizeof out);
    s.m.set_oom = 1;
    s.m.oom_score_adj = 321;
    s.m.set_nice = 1;
    s.m.nice = 3;
    rig_run(&w, &s, out, sizeof out);
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)w.boot.keeper_pid);
    fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0);
    out[read(fd, out, sizeof out - 1)] = '\0';
    close(fd);
    EXPECT(atoi(out) != 321);
    EXPECT_INT(getpriority(PRIO_PROCESS, (id_t)w.boot.keeper_pid), 0);
    snprintf(path, sizeof path, "/proc/%d/io", (int)w.boot.keeper_pid);
    REQUIRE(stat(path, &st) == 0);
    EXPECT_INT(st.st_uid, geteuid());
    rig_end(&r, &w);
}

static void few_files(void)
{
    struct rlimit few = {.rlim_cur = 200, .rlim_max = 1000};

    setrlimit(RLIMIT_NOFILE, &few);
}

TEST(the_keeper_raises_its_own_number_of_files_and_children_do_not_see_it)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct rlimit keeper;
    char out[64];

    rig_init(&r);
    r.before = few_files;
    rig_start(&r);
    rig_worker(&r, &w);
    REQUIRE(prlimit(w.boot.keeper_pid, RLIMIT_NOFILE, NULL, &keeper) == 0);
    EXPECT_U64(keeper.rlim_cur, 1000);
    rig_spec_init(&s, SH("ulimit -Sn; ulimit -Hn"));
    rig_run(&w, &s, out, sizeof out);
    EXPECT_STR(out, "200\n1000\n");
    rig_end(&r, &w);
}

/* The answer says so, and the worker that could not know lives on. */
TEST(a_full_table_of_files_is_an_answer)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct rlimit few;
    struct k_spawned m;
    int fds[8], started = 0;

    rig_begin(&r, &w);
    REQUIRE(prlimit(w.boot.keeper_pid, RLIMIT_NOFILE, NULL, &few) == 0);
    few.rlim_cur = 40;
    REQUIRE(prlimit(w.boot.keeper_pid, RLIMIT_NOFILE, &few, NULL) == 0);
    rig_spec_init(&s, SH("exec sleep 60"));
    for (int i = 0; i < 30; i++) {
        rig_spawn(&w, &s);
        m = rig_spawned(&w, fds);
        if (m.error == 0) {
            started++;
            close(fds[0]);
            close(fds[1]);
        } else {
            EXPECT_INT(m.error, EMFILE);
        }
    }
    EXPECT(started > 2 && started < 20);
    EXPECT(rig_state(w.boot.pid) != 0);
    rig_end(&r, &w);
}

TEST(many_starts_overlap_and_each_is_answered)
{
    enum { COUNT = 64 };
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    bool seen[COUNT] = {false};
    int spawned = 0, exited = 0;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exit 0"));
    for (uint32_t i = 0; i < COUNT; i++) {
        s.m.req = i;
        rig_spawn(&w, &s);
    }
    while (exited < COUNT) {
        struct k_surveyed room;
        size_t count;
        int fds[8];

        ssize_t len = rig_receive(w.link, &room, sizeof room, fds, &count);

        REQUIRE(len > 0);
        if (room.type == K_SPAWNED) {
            const struct k_spawned *m = (const struct k_spawned *)&room;

            REQUIRE(m->req < COUNT && m->error == 0 && !seen[m->req]);
            seen[m->req] = true;
            spawned++;
            exited += len == sizeof(struct k_ran);
            close(fds[0]);
            close(fds[1]);
        } else {
            REQUIRE(room.type == K_EXITED);
            exited++;
            EXPECT(exited <= spawned);
        }
    }
    rig_end(&r, &w);
}

/* --- starts that nobody waits for ------------------------------------------- */

TEST(a_quiet_start_of_a_short_program_is_told_with_its_exit)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int fds[8], together = 0;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exit 7"));
    s.m.quiet = 1;
    /* A busy machine may need longer than the quiet lasts, even many times in a row. */
    for (int i = 0; i < 20 || (together == 0 && i < 2000); i++) {
        struct k_exited x;

        rig_spawn(&w, &s);
        EXPECT_INT(rig_spawned(&w, fds).error, 0);
        together += w.has_exit;
        x = rig_exited(&w);
        EXPECT_INT(WEXITSTATUS(x.status), 7);
        rig_forget(&w, x.entry);
        close(fds[0]);
        close(fds[1]);
    }
    EXPECT(together > 0);
    rig_end(&r, &w);
}

TEST(a_quiet_start_of_a_long_program_is_told_soon_all_the_same)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("read x"));
    s.m.quiet = 1;
    s.m.stdin_mode = K_STDIN_PIPE;
    rig_spawn(&w, &s);
    EXPECT_INT(rig_spawned(&w, fds).error, 0);
    EXPECT(!w.has_exit);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    rig_end(&r, &w);
}

TEST(a_quiet_start_that_fails_says_why)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, (const char *const[]){"/nowhere/at/all", NULL});
    s.m.quiet = 1;
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    EXPECT_U64(m.entry, 0);
    EXPECT_INT(m.error, ENOENT);
    EXPECT_U64(m.stage, K_STAGE_EXEC);
    rig_end(&r, &w);
}

/* --- starts that hang ------------------------------------------------------ */

/*
 * A program whose execution hangs: opening a file with a lease on it waits
 * until the holder gives it up, as opening one on a dead file server waits.
 */
struct hanging {
    char path[40];
    int fd; /* -1: this file system has no leases */
};

static struct hanging hang_make(void)
{
    struct hanging h = {.path = "/tmp/holdfast-hang-XXXXXX"};
    int fd = mkstemp(h.path);

    REQUIRE(write(fd, "#!/bin/sh\necho late\n", 20) == 20);
    fchmod(fd, 0755);
    close(fd);
    signal(SIGIO, SIG_IGN);
    h.fd = open(h.path, O_RDONLY | O_CLOEXEC);
    if (fcntl(h.fd, F_SETLEASE, F_WRLCK) < 0) {
        close(h.fd);
        unlink(h.path);
        h.fd = -1;
    }
    return h;
}

static void hang_release(struct hanging *h)
{
    /* Not by closing alone: the keeper has inherited the descriptor. */
    fcntl(h->fd, F_SETLEASE, F_UNLCK);
    close(h->fd);
    h->fd = -1;
}

TEST(a_start_that_hangs_does_not_hold_the_others)
{
    struct hanging h = hang_make();
    struct rig r;
    struct rig_worker w;
    struct rig_spec slow, quick;
    struct k_spawned m;
    char out[64];
    int fds[8];

    if (h.fd < 0)
        return;
    rig_begin(&r, &w);
    rig_spec_init(&slow, (const char *const[]){h.path, NULL});
    slow.m.req = 99;
    rig_spawn(&w, &slow);
    rig_spec_init(&quick, SH("echo quick"));
    for (int i = 0; i < 3; i++) {
        rig_run(&w, &quick, out, sizeof out);
        EXPECT_STR(out, "quick\n");
    }
    hang_release(&h);
    m = rig_spawned(&w, fds);
    EXPECT_U64(m.req, 99);
    EXPECT_INT(m.error, 0);
    rig_read_until(fds[0], out, sizeof out, NULL);
    EXPECT_STR(out, "late\n");
    close(fds[0]);
    close(fds[1]);
    EXPECT_INT(rig_exited(&w).status, 0);
    unlink(h.path);
    rig_end(&r, &w);
}

/* The next worker could not know what the process was for. */
TEST(a_start_that_hangs_is_given_up_with_the_worker_that_asked)
{
    struct hanging h = hang_make();
    struct rig r;
    struct rig_worker w;
    struct rig_spec slow, quick;
    char out[64];
    int before;

    if (h.fd < 0)
        return;
    setenv("HOLDFAST_NO_CGROUP", "1", 1);
    rig_begin(&r, &w);
    rig_ready(&w);
    rig_spec_init(&quick, SH("echo quick"));
    rig_run(&w, &quick, out, sizeof out);
    before = rig_steady_fds(r.keeper);
    rig_spec_init(&slow, (const char *const[]){h.path, NULL});
    rig_spawn(&w, &slow);
    rig_run(&w, &quick, out, sizeof out);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 0);
    EXPECT(rig_has_fds(r.keeper, before));
    hang_release(&h);
    unlink(h.path);
    rig_end(&r, &w);
}

/*
 * Half a minute is enough for any exec. The keeper's parts are put together
 * here without its loop, so that the clock can be told what time it is.
 */
TEST(a_start_that_hangs_too_long_is_answered)
{
    static const char strings[] = "/tmp";
    struct hanging h = hang_make();
    struct keeper_options options = {.state_bytes = 0};
    struct keeper k = {.options = &options, .pid = getpid(), .nofile = {1024, 1024}};
    struct rig_worker w = {.link = -1};
    struct k_spawned m;
    char packet[sizeof(struct k_spawn) + 128];
    struct k_spawn *spawn = (struct k_spawn *)packet;
    char *at = packet + sizeof *spawn;
    int fds[8] = {-1, -1};
    pid_t pid;

    if (h.fd < 0)
        return;
    table_init(&k.table);
    cgroup_resume(&k.cgroup, "", 0);
    spawns_init(&k);
    chores_init(&k);
    worker_init(&k);
    REQUIRE(link_open(&k.worker.link, &w.link) == 0);
    memset(packet, 0, sizeof packet);
    spawn->req = 31;
    strcpy(spawn->id, "proc_late");
    spawn->cpu_s = spawn->memory_bytes = spawn->processes = K_UNSET;
    spawn->open_files = spawn->file_bytes = K_UNSET;
    spawn->path_count = spawn->arg_count = 1;
    at = stpcpy(at, strings) + 1;
    at = stpcpy(at, h.path) + 1;
    at = stpcpy(at, "late") + 1;
    spawn->strings_len = (uint32_t)(at - packet - (long)sizeof *spawn);
    EXPECT(spawn_request(&k, spawn, packet + sizeof *spawn, fds));
    EXPECT_U64(k.spawns.count, 1);
    EXPECT_U64(k.table.count, 1);
    pid = list_entry(k.table.all.next, struct entry, in_all)->pub.pid;
    /* It is on its way, and its time is not up. */
    for (int i = 0; i < 1000 && rig_state(pid) != 'S' && rig_state(pid) != 'D'; i++)
        usleep(1000);
    spawns_step(&k, clock_mono_ms());
    EXPECT_U64(k.table.count, 1);

    spawns_step(&k, clock_mono_ms() + SPAWN_DEADLINE_MS + 1000);
    m = rig_spawned(&w, fds);
    EXPECT_U64(m.req, 31);
    EXPECT_U64(m.entry, 0);
    EXPECT_INT(m.error, ETIMEDOUT);
    EXPECT_U64(m.stage, K_STAGE_EXEC);
    EXPECT_U64(k.table.count, 0);
    EXPECT(spawns_are_settled(&k));
    /* Its memory goes when the child has gone. */
    EXPECT_INT(waitpid(pid, NULL, 0), pid);
    spawns_abandon(&k);
    EXPECT_U64(k.spawns.count, 0);
    link_close(&k.worker.link);
    close(w.link);
    spawns_fini(&k);
    table_fini(&k.table);
    hang_release(&h);
    unlink(h.path);
}

/* The program talks over it and its children do not have it, whatever numbers were free. */
TEST(a_side_socket_is_descriptor_three_in_both_directions)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    char out[64];
    int fds[8];

    rig_begin(&r, &w);
    for (int stdin_mode = K_STDIN_NULL; stdin_mode <= K_STDIN_PIPE; stdin_mode++) {
        size_t side = stdin_mode == K_STDIN_PIPE ? 3 : 2;

        rig_spec_init(&s, SH("read x <&3; echo got $x >&3; ls /proc/self/fd 3>&- | tr '\\n' ' '"));
        s.m.stdin_mode = (uint8_t)stdin_mode;
        s.m.side = 1;
        rig_spawn(&w, &s);
        m = rig_spawned(&w, fds);
        REQUIRE(m.error == 0 && (m.fds & K_FD_SIDE));
        EXPECT(fcntl(fds[side], F_GETFL) & O_NONBLOCK);
        REQUIRE(write(fds[side], "this\n", 5) == 5);
        rig_read_until(fds[side], out, sizeof out, "\n");
        EXPECT_STR(out, "got this\n");
        rig_read_until(fds[side - 2], out, sizeof out, NULL);
        EXPECT_STR(out, "0 1 2 3 "); /* 3 is the directory that ls reads */
        EXPECT_INT(rig_exited(&w).status, 0);
        for (size_t i = 0; i <= side; i++)
            close(fds[i]);
        rig_forget(&w, m.entry);
    }
    rig_end(&r, &w);
}
