/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keeper_shutdown.c - the ways out: asked, twice asked, by a keeper alone, and
 * as PID 1
 */
#include "test.h"

#include "keeper_rig.h"

#include <sched.h>

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

/* A shell line that has said "up"; its pipes are the caller's. */
static struct k_spawned start_with(struct rig_worker *w, const char *line, int fds[8])
{
    struct rig_spec s;
    struct k_spawned m;
    char out[64];

    rig_spec_init(&s, SH(line));
    rig_spawn(w, &s);
    m = rig_spawned(w, fds);
    REQUIRE(m.error == 0);
    rig_read_until(fds[0], out, sizeof out, "up");
    return m;
}

static struct k_spawned start(struct rig_worker *w, const char *line)
{
    int fds[8];
    struct k_spawned m = start_with(w, line, fds);

    close(fds[0]);
    close(fds[1]);
    return m;
}

static void expect_stop(struct rig_worker *w, uint32_t grace_ms)
{
    struct k_stop m;
    size_t count;
    int fds[8];

    rig_expect(w, K_STOP, &m, sizeof m, fds, &count);
    EXPECT_U64(m.grace_ms, grace_ms);
}

TEST(the_worker_is_asked_to_end_everything)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m;

    rig_begin(&r, &w);
    m = start(&w, "echo up; exec sleep 60");
    kill(r.keeper, SIGINT);
    expect_stop(&w, 500);
    /* A lazy worker leaves a process: it does not outlive the keeper. */
    rig_exit_worker(&r, &w, 0);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    EXPECT_INT(rig_state(m.pid), 0);
}

TEST(a_worker_that_dies_while_ending_leaves_it_to_the_keeper)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned polite, stubborn;
    uint64_t at = clock_mono_ms();

    rig_begin(&r, &w);
    polite = start(&w, "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done");
    stubborn = start(&w, "trap '' TERM; echo up; sleep 60; sleep 60");
    kill(r.keeper, SIGTERM);
    expect_stop(&w, 500);
    rig_kill_worker(&w);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    EXPECT(clock_mono_ms() - at >= 500);
    EXPECT_INT(rig_state(polite.pid), 0);
    EXPECT_INT(rig_state(stubborn.pid), 0);
}

TEST(when_all_obey_nobody_waits_for_the_grace)
{
    struct rig r;
    struct rig_worker w;
    uint64_t at;

    rig_init(&r);
    r.options.grace_ms = 20000;
    rig_start(&r);
    rig_worker(&r, &w);
    start(&w, "echo up; exec sleep 60");
    start(&w, "(setsid sleep 60 &); echo up");
    EXPECT_INT(rig_exited(&w).status, 0);
    at = clock_mono_ms();
    kill(r.keeper, SIGTERM);
    expect_stop(&w, 20000);
    rig_kill_worker(&w);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    EXPECT(clock_mono_ms() - at < r.options.grace_ms);
}

/*
 * Who could not be told from others' when SIGTERM went out gets it as soon as it can; and what
 * a program starts in order to end well does not get it.
 */
TEST(who_was_overlooked_hears_of_the_end_later)
{
    struct rig r;
    struct rig_worker w;
    uint64_t at;
    char out[64] = "";
    int fds[8];

    rig_init(&r);
    r.options.grace_ms = 20000;
    rig_start(&r);
    rig_worker(&r, &w);
    start(&w, "(setsid env -i sh -c 'sleep 0.3; exec env HOLDFAST_PROCESS_ID=x sleep 60' &);"
              "echo up");
    EXPECT_INT(rig_exited(&w).status, 0);
    /* Before it executes sleep, the child still has the shell's trap, which would lose the signal. */
    start_with(&w,
               "trap 'sleep 1 && echo well; exit' TERM; sleep 60 &"
               "until grep -q sleep /proc/$!/comm; do :; done; echo up; wait",
               fds);
    at = clock_mono_ms();
    kill(r.keeper, SIGTERM);
    expect_stop(&w, 20000);
    rig_kill_worker(&w);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    EXPECT(clock_mono_ms() - at < r.options.grace_ms);
    rig_read_until(fds[0], out, sizeof out, "well");
    EXPECT(strstr(out, "well") != NULL);
    close(fds[0]);
    close(fds[1]);
}

TEST(the_second_signal_ends_at_once)
{
    struct rig r;
    struct rig_worker w;
    struct k_spawned m;
    uint64_t at;

    rig_init(&r);
    r.options.grace_ms = 20000;
    rig_start(&r);
    rig_worker(&r, &w);
    m = start(&w, "trap '' TERM; echo up; sleep 60; sleep 60");
    at = clock_mono_ms();
    kill(r.keeper, SIGTERM);
    expect_stop(&w, 20000);
    kill(r.keeper, SIGTERM);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    EXPECT(clock_mono_ms() - at < r.options.grace_ms);
    EXPECT_INT(rig_state(m.pid), 0);
    rig_drop(&w);
}

TEST(other_signals_are_forwarded_to_the_processes)
{
    struct rig r;
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("trap 'echo got; exit 4' USR1; echo up; while :; do sleep 0.01; done"));
    rig_spawn(&w, &s);
    rig_spawned(&w, fds);
    rig_read_until(fds[0], out, sizeof out, "up");
    kill(r.keeper, SIGUSR1);
    EXPECT_INT(WEXITSTATUS(rig_exited(&w).status), 4);
    close(fds[0]);
    close(fds[1]);
    rig_end(&r, &w);
}

TEST(the_pid_file_is_there_while_the_keeper_is)
{
    char path[] = "/tmp/holdfast-pid-XXXXXX", text[32] = "";
    int fd = mkstemp(path);
    struct rig r;
    struct rig_worker w;

    rig_init(&r);
    r.options.pid_file = path;
    rig_start(&r);
    rig_worker(&r, &w);
    REQUIRE(read(fd, text, sizeof text - 1) > 0);
    EXPECT_INT(atoi(text), r.keeper);
    close(fd);
    rig_end(&r, &w);
    EXPECT(access(path, F_OK) < 0);
}

/* It sleeps in one call: no wake-ups, nothing to do. */
TEST(an_idle_keeper_does_not_run)
{
    struct rig r;
    struct rig_worker w;
    char path[64], before[4096] = "", after[4096] = "";
    int fd;

    rig_begin(&r, &w);
    start(&w, "echo up; exec sleep 60");
    snprintf(path, sizeof path, "/proc/%d/status", (int)r.keeper);
    usleep(50 * 1000);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(pread(fd, before, sizeof before - 1, 0) > 0);
    usleep(300 * 1000);
    REQUIRE(pread(fd, after, sizeof after - 1, 0) > 0);
    close(fd);
    /* The last lines count context switches. */
    EXPECT_STR(strstr(after, "voluntary_ctxt"), strstr(before, "voluntary_ctxt"));
    rig_end(&r, &w);
}

/* --- PID 1 ---------------------------------------------------------------- */

/* Runs the test's keeper as PID 1 of a namespace; the pids in it are not ours to name. */
static void as_init(void)
{
    pid_t pid;
    int status;

    if (unshare(CLONE_NEWPID) < 0)
        _exit(77);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    /* Signals for the keeper go to its real pid, which the test learns from the worker. */
    while (waitpid(pid, &status, 0) < 0)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static pid_t child_of(pid_t parent)
{
    char path[64], text[64] = "";
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        text[0] = '\0';
    close(fd);
    return atoi(text);
}

TEST(as_pid_1_it_reaps_orphans_and_ends_cleanly)
{
    struct rig r;
    struct rig_worker w;
    pid_t init;
    int status;

    if (geteuid() != 0)
        return;
    rig_init(&r);
    r.before = as_init;
    rig_start(&r);
    if (waitpid(r.keeper, &status, WNOHANG) == r.keeper)
        return; /* no namespaces here */
    rig_worker(&r, &w);
    EXPECT_INT(w.boot.keeper_pid, 1);
    init = child_of(r.keeper);
    REQUIRE(init > 1);
    start(&w, "(setsid sleep 60 &); (env -i setsid sleep 61 &); echo up; exec sleep 62");
    kill(init, SIGTERM);
    expect_stop(&w, 500);
    rig_exit_worker(&r, &w, 0);
    EXPECT_INT(rig_wait_keeper(&r), 0);
}
