/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keeper.c - a keeper that runs, and whose system calls fail
 *
 * Whatever fails, processes and keeper go on: a start is refused with its errno, a worker is
 * replaced, an upgrade or a reload does not happen. At the end of each test the keeper ends with code 0.
 */
#include "test.h"

#include "keeper_rig.h"

#include <sys/signalfd.h>
#include <sys/stat.h>

#include "failing.h"
#include "keeper/child.h"
#include "keeper/spawn.h"

#define SH(line) ((const char *const[]){"/bin/sh", "-c", (line), NULL})

/* Wraps: signalfd memfd_create pipe2 fork socketpair sendmsg recvmsg getrlimit close_range */
/* Wraps: open fcntl malloc calloc mmap child_start setenv prctl wait4 execv */
FAILING(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), -1)
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(int, pipe2, (int *pair, int flags), (pair, flags), -1)
FAILING(pid_t, fork, (void), (), -1)
FAILING(int, socketpair, (int domain, int type, int protocol, int *pair),
        (domain, type, protocol, pair), -1)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(int, getrlimit, (int which, struct rlimit *to), (which, to), -1)
FAILING(int, close_range, (unsigned from, unsigned to, int flags), (from, to, flags), -1)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING_BY(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1, cmd, NULL)
FAILING(void *, malloc, (size_t size), (size), 0)
FAILING(void *, calloc, (size_t n, size_t size), (n, size), 0)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING(pid_t, child_start, (struct child_plan * plan, void *stack, int cgroup),
        (plan, stack, cgroup), -EAGAIN)
FAILING(int, setenv, (const char *name, const char *value, int overwrite), (name, value, overwrite),
        -1)
FAILING_BY(int, prctl,
           (int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d),
           (what, a, b, c, d), -1, what, NULL)
FAILING(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage),
        (pid, status, options, usage), -1)
FAILING(int, execv, (const char *path, char *const *argv), (path, argv), -1)

/* Until a call has failed in the keeper, so that the next step is behind it. */
#define WAIT_FAILED(name, times)                                                                   \
    do {                                                                                           \
        uint64_t until_ = clock_mono_ms() + RIG_WAIT_MS;                                           \
                                                                                                   \
        while (FAILED(name) < (times) && clock_mono_ms() < until_)                                 \
            usleep(1000);                                                                          \
        EXPECT(FAILED(name) >= (times));                                                           \
    } while (0)

static void quiet_log(void)
{
    log_set_level(LOG_ERROR);
}

/* --- the start ------------------------------------------------------------ */

static void without_signalfd(void)
{
    FAIL(signalfd, .error = EMFILE);
}

static void without_memfd(void)
{
    FAIL(memfd_create, .error = ENOMEM);
}

TEST(a_keeper_that_cannot_start_says_so_and_ends)
{
    static void (*const reasons[])(void) = {without_signalfd, without_memfd};
    struct rig r;

    for (size_t i = 0; i < 2; i++) {
        rig_init(&r);
        r.before = reasons[i];
        rig_start(&r);
        EXPECT_INT(rig_wait_keeper(&r), 1);
    }
}

static void without_siding(void)
{
    FAIL(pipe2, .error = EMFILE);
    FAIL(close_range, .error = ENOSYS);
}

static void with_small_siding(void)
{
    FAIL(fcntl, .error = EPERM, .only = F_SETPIPE_SZ);
}

static void without_standard_input(void)
{
    close(STDIN_FILENO);
}

static void without_dev_null(void)
{
    FAIL(open, .error = ENOENT, .path = "/dev/null");
    FAIL(pipe2, .error = EMFILE);
}

static void without_limits(void)
{
    FAIL(getrlimit, .error = EPERM, .times = 2);
}

TEST(a_keeper_that_does_not_know_its_limits_starts)
{
    struct rig_worker w;
    struct rig r;

    rig_init(&r);
    r.before = without_limits;
    rig_start(&r);
    rig_worker(&r, &w);
    EXPECT_INT(FAILED(getrlimit), 2);
    rig_end(&r, &w);
}

/* What a keeper would like to have and can do without. */
TEST(a_keeper_starts_without_what_it_does_not_need)
{
    static void (*const reasons[])(void) = {without_siding, with_small_siding,
                                            without_standard_input, without_dev_null};
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    struct rig r;

    for (size_t i = 0; i < 4; i++) {
        rig_init(&r);
        r.before = reasons[i];
        r.options.pid_file = "/nonexistent/pid";
        rig_start(&r);
        rig_worker(&r, &w);
        rig_spec_init(&s, SH("echo fine"));
        EXPECT_INT(rig_run(&w, &s, out, sizeof out).status, 0);
        EXPECT_STR(out, "fine\n");
        rig_end(&r, &w);
    }
}

/* --- workers -------------------------------------------------------------- */

TEST(a_worker_that_cannot_be_started_is_tried_again)
{
    struct rig_worker w;
    struct rig r;

    rig_init(&r);
    r.before = quiet_log;
    rig_start(&r);
    rig_worker(&r, &w);
    FAIL(fork, .error = EAGAIN, .pid = r.keeper);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_INT(FAILED(fork), 1);
    FAIL(socketpair, .error = EMFILE, .pid = r.keeper);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_INT(FAILED(socketpair), 1);
    rig_end(&r, &w);
}

/* One that could outlive its keeper does not begin. */
TEST(a_worker_that_cannot_be_tied_to_its_keeper_ends)
{
    struct rig_worker w;
    struct rig r;

    rig_begin(&r, &w);
    FAIL(prctl, .error = EPERM, .only = PR_SET_PDEATHSIG, .pid = -1);
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_INT(FAILED(prctl), 1);
    FAIL(prctl, .error = EPERM, .only = PR_SET_PDEATHSIG);
    EXPECT_INT(keeper_guard_worker(getppid()), -EPERM);
    EXPECT_INT(keeper_guard_worker(1 << 30), -ESRCH);
    (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    rig_end(&r, &w);
}

TEST(what_cannot_be_sent_for_a_while_is_sent_later)
{
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    struct rig r;

    rig_begin(&r, &w);
    FAIL(sendmsg, .error = ETOOMANYREFS, .pid = r.keeper, .times = 3);
    rig_spec_init(&s, SH("echo fine"));
    EXPECT_INT(rig_run(&w, &s, out, sizeof out).status, 0);
    EXPECT_INT(FAILED(sendmsg), 3);
    rig_end(&r, &w);
}

TEST(a_channel_that_fails_costs_the_worker_alone)
{
    static const int errors[] = {EPIPE, ECONNRESET, EIO};
    struct k_simple m = {.type = K_READY};
    struct rig_worker w;
    struct rig_spec s;
    struct rig r;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exec sleep 60"));
    for (size_t i = 0; i < 3; i++) {
        FAIL(sendmsg, .error = errors[i], .pid = r.keeper);
        rig_spawn(&w, &s);
        rig_drop(&w);
        rig_worker(&r, &w);
        EXPECT_U64(w.boot.entry_count, i + 1);
        rig_ready(&w);
    }
    FAIL(recvmsg, .error = EIO, .pid = r.keeper);
    rig_send(w.channel, &m, sizeof m, NULL, 0);
    rig_drop(&w);
    rig_worker(&r, &w);
    /* Behind a stall. */
    FAIL(sendmsg, .error = EMSGSIZE, .pid = r.keeper, .times = -1);
    rig_spawn(&w, &s);
    WAIT_FAILED(sendmsg, 1);
    FAIL_NO_MORE(sendmsg);
    rig_drop(&w);
    rig_worker(&r, &w);
    rig_end(&r, &w);
}

/* The keeper reads what a dead worker has left, and stops at what is no message. */
TEST(last_words_that_are_malformed_are_the_last)
{
    struct k_simple m = {.type = 999};
    struct rig_worker w;
    struct rig r;

    rig_begin(&r, &w);
    kill(r.keeper, SIGSTOP);
    while (rig_state(r.keeper) != 'T')
        usleep(1000);
    rig_send(w.channel, &m, sizeof m, NULL, 0);
    m.type = K_READY;
    rig_send(w.channel, &m, sizeof m, NULL, 0);
    rig_kill_worker(&w);
    while (rig_state(w.boot.pid) != 'Z')
        usleep(1000);
    kill(r.keeper, SIGCONT);
    rig_worker(&r, &w);
    rig_end(&r, &w);
}

/* --- starts --------------------------------------------------------------- */

TEST(a_start_without_memory_is_refused)
{
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    struct rig r;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("echo fine"));
    FAIL(malloc, .error = ENOMEM, .pid = r.keeper);
    rig_fail(&w, &s, K_STAGE_TABLE, ENOMEM, 0);
    FAIL(calloc, .error = ENOMEM, .pid = r.keeper);
    rig_fail(&w, &s, K_STAGE_TABLE, EAGAIN, 0);
    FAIL(malloc, .error = ENOMEM, .pid = r.keeper, .after = 1);
    rig_fail(&w, &s, K_STAGE_FORK, ENOMEM, 0);
    FAIL(mmap, .error = ENOMEM, .pid = r.keeper);
    rig_fail(&w, &s, K_STAGE_FORK, ENOMEM, 0);
    EXPECT_INT(FAILED(mmap), 1);
    EXPECT_INT(rig_run(&w, &s, out, sizeof out).status, 0);
    rig_end(&r, &w);
}

TEST(a_start_without_pipes_or_processes_is_refused_and_leaves_nothing)
{
    struct rig_worker w;
    struct rig_spec pipes, terminal;
    char out[64];
    struct rig r;
    int before;

    rig_begin(&r, &w);
    rig_spec_init(&pipes, SH("echo fine"));
    rig_spec_init(&terminal, SH("echo fine"));
    terminal.m.pty = 1;
    rig_run(&w, &pipes, out, sizeof out);
    before = rig_steady_fds(r.keeper);
    FAIL(child_start, .give = true, .instead = -EAGAIN, .pid = r.keeper);
    rig_fail(&w, &pipes, K_STAGE_FORK, EAGAIN, 0);
    FAIL(child_start, .give = true, .instead = -ENOMEM, .pid = r.keeper);
    rig_fail(&w, &terminal, K_STAGE_FORK, ENOMEM, 0);
    /* The spare pipes are complete again, and the next start takes them all. */
    EXPECT_INT(rig_run(&w, &pipes, out, sizeof out).status, 0);
    (void)rig_steady_fds(r.keeper);
    FAIL(pipe2, .error = EMFILE, .pid = r.keeper, .times = -1);
    EXPECT_INT(rig_run(&w, &pipes, out, sizeof out).status, 0);
    rig_fail(&w, &pipes, K_STAGE_PIPE, EMFILE, 0);
    rig_fail(&w, &terminal, K_STAGE_PIPE, EMFILE, 0);
    FAIL_NO_MORE(pipe2);
    /* One that goes well fills what is kept for the next; a terminal is kept from now on. */
    EXPECT_INT(rig_run(&w, &pipes, out, sizeof out).status, 0);
    EXPECT(rig_has_fds(r.keeper, before + 2));
    rig_end(&r, &w);
}

/* Where children cannot be born into a cgroup, they are started without one. */
TEST(a_cgroup_that_clone_does_not_like_is_given_up)
{
    static const int errors[] = {ENODEV, EOPNOTSUPP};
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    struct rig r;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("echo fine"));
    for (size_t i = 0; i < 2 && w.boot.has_cgroup; i++) {
        FAIL(child_start, .give = true, .instead = -errors[i], .pid = r.keeper);
        EXPECT_INT(rig_run(&w, &s, out, sizeof out).status, 0);
        EXPECT_INT(FAILED(child_start), 1);
    }
    EXPECT_INT(rig_run(&w, &s, out, sizeof out).status, 0);
    rig_end(&r, &w);
}

/* Its own table being full, the keeper cannot even take the record of the new process. */
TEST(a_start_whose_record_finds_no_place_is_refused)
{
    struct rlimit was, few;
    struct k_simple ready = {.type = K_READY};
    struct rig_worker w;
    struct rig_spec s;
    struct rig r;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exec sleep 60"));
    (void)rig_steady_fds(r.keeper);
    REQUIRE(prlimit(r.keeper, RLIMIT_NOFILE, NULL, &was) == 0);
    few = was;
    few.rlim_cur = 3; /* all taken, and as many as poll(2) is asked for */
    REQUIRE(prlimit(r.keeper, RLIMIT_NOFILE, &few, NULL) == 0);
    rig_fail(&w, &s, K_STAGE_TABLE, EMFILE, 0);
    /* A descriptor that nobody asked for is lost as well, and nothing else comes of it. */
    rig_send(w.channel, &ready, sizeof ready, &w.state, 1);
    rig_fail(&w, &s, K_STAGE_TABLE, EMFILE, 0);
    REQUIRE(prlimit(r.keeper, RLIMIT_NOFILE, &was, NULL) == 0);
    rig_end(&r, &w);
}

TEST(a_child_that_cannot_be_reaped_at_once_is_reaped_later)
{
    struct rig_worker w;
    struct rig_spec s;
    char out[64];
    struct rig r;

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exit 3"));
    FAIL(wait4, .error = EINTR, .pid = r.keeper, .times = 1);
    EXPECT_INT(WEXITSTATUS(rig_run(&w, &s, out, sizeof out).status), 3);
    rig_end(&r, &w);
}

/* A program that has exited gets no signal that is forwarded, nor one that has not begun. */
TEST(signals_are_forwarded_to_the_living)
{
    struct rig_worker w;
    struct rig_spec s;
    struct k_spawned m;
    char out[64];
    struct rig r;
    int fds[8];

    rig_begin(&r, &w);
    rig_spec_init(&s, SH("exit 0"));
    rig_spawn(&w, &s);
    m = rig_spawned(&w, fds);
    close(fds[0]);
    close(fds[1]);
    (void)rig_exited(&w);
    rig_spec_init(&s, SH("trap 'echo got; exit 0' USR1; echo on; while :; do sleep 0.02; done"));
    rig_spawn(&w, &s);
    (void)rig_spawned(&w, fds);
    rig_read_until(fds[0], out, sizeof out, "on");
    kill(r.keeper, SIGUSR1);
    rig_read_until(fds[0], out, sizeof out, "got");
    close(fds[0]);
    close(fds[1]);
    (void)rig_exited(&w);
    rig_forget(&w, m.entry);
    rig_end(&r, &w);
}

/* --- a start under way ---------------------------------------------------- */

/* A program whose execution waits for the holder of a lease; fd -1: there are none here. */
static int hang(char *path)
{
    int fd = mkstemp(path);

    REQUIRE(fd >= 0 && write(fd, "#!/bin/sh\n", 10) == 10);
    fchmod(fd, 0755);
    close(fd);
    signal(SIGIO, SIG_IGN);
    fd = open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
        return fd;
    close(fd);
    return -1;
}

union any {
    struct k_simple simple;
    struct k_signal sig;
    struct k_close close;
    struct k_holds holds;
    struct k_flood flood;
};

static size_t request(union any *m, uint32_t type, uint32_t entry)
{
    memset(m, 0, sizeof *m);
    switch (type) {
    case K_SIGNAL:
        m->sig = (struct k_signal){.type = type, .entry = entry, .signum = SIGTERM};
        return sizeof m->sig;
    case K_CLOSE: m->close = (struct k_close){.type = type, .entry = entry}; return sizeof m->close;
    case K_HOLDS:
        m->holds = (struct k_holds){.type = type, .entry = entry, .count = 1};
        return sizeof m->holds;
    case K_FLOOD: m->flood = (struct k_flood){.type = type, .entry = entry}; return sizeof m->flood;
    default: m->simple = (struct k_simple){.type = type, .entry = entry}; return sizeof m->simple;
    }
}

/* Nobody was told of it yet, so nobody can mean it: neither a number in use nor one that never was. */
static void name_unknown(const char *path, uint32_t type)
{
    struct rig_worker w;
    struct rig_spec s;
    union any m;
    struct rig r;

    rig_init(&r);
    r.before = quiet_log;
    rig_start(&r);
    rig_worker(&r, &w);
    if (path != NULL) {
        rig_spec_init(&s, (const char *const[]){path, NULL});
        rig_spawn(&w, &s);
    }
    rig_send(w.channel, &m, request(&m, type, 1), NULL, 0);
    rig_drop(&w);
    rig_worker(&r, &w);
    rig_send(w.channel, &m, request(&m, type, 4711), NULL, 0);
    rig_drop(&w);
    rig_worker(&r, &w);
    EXPECT_U64(w.boot.entry_count, 0);
    rig_end(&r, &w);
}

TEST(who_names_an_entry_that_it_cannot_know_is_ended)
{
    static const uint32_t types[] = {K_SIGNAL, K_SURVEY, K_CLOSE, K_FORGET,
                                     K_PROBE,  K_HOLDS,  K_FLOOD};
    char path[] = "/tmp/holdfast-hang-XXXXXX";
    int lease = hang(path);

    for (size_t i = 0; i < 7; i++)
        name_unknown(lease < 0 ? NULL : path, types[i]);
    if (lease >= 0) {
        fcntl(lease, F_SETLEASE, F_UNLCK);
        close(lease);
    }
    unlink(path);
}

/* --- credentials ---------------------------------------------------------- */

static int read_nothing(int fd, int64_t grace_ms, void *arg)
{
    (void)fd;
    (void)arg;
    if (grace_ms == 1)
        raise(SIGKILL);
    return 0;
}

static void take_nothing(int fd, void *arg)
{
    (void)arg;
    close(fd);
}

static int reload(struct rig_worker *w, uint64_t grace_ms)
{
    struct k_reload m = {.type = K_RELOAD, .req = 4, .grace_ms = grace_ms};
    struct k_credentials answer;
    size_t count;
    int fds[8];

    rig_send(w->channel, &m, sizeof m, NULL, 0);
    rig_expect(w, K_CREDENTIALS, &answer, sizeof answer, fds, &count);
    EXPECT_U64(answer.req, 4);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return answer.error;
}

TEST(credentials_that_cannot_be_read_again_are_an_answer)
{
    struct rig_worker w;
    struct rig r;

    rig_init(&r);
    r.before = quiet_log;
    r.options.reload = (struct keeper_reload){.read = read_nothing, .take = take_nothing};
    rig_start(&r);
    rig_worker(&r, &w);
    EXPECT_INT(reload(&w, 0), 0);
    FAIL(memfd_create, .error = EMFILE, .pid = r.keeper);
    EXPECT_INT(reload(&w, 0), EMFILE);
    FAIL(fork, .error = EAGAIN, .pid = r.keeper);
    EXPECT_INT(reload(&w, 0), EAGAIN);
    EXPECT_INT(reload(&w, 1), EIO);
    rig_end(&r, &w);
}

TEST(who_has_no_credentials_or_is_ending_reads_none)
{
    struct k_stop stop;
    struct rig_worker w;
    struct rig r;
    size_t count;
    int fds[8];

    rig_begin(&r, &w);
    EXPECT_INT(reload(&w, 0), ENOSYS);
    rig_end(&r, &w);

    rig_init(&r);
    r.options.reload = (struct keeper_reload){.read = read_nothing, .take = take_nothing};
    rig_start(&r);
    rig_worker(&r, &w);
    kill(r.keeper, SIGTERM);
    rig_expect(&w, K_STOP, &stop, sizeof stop, fds, &count);
    EXPECT_INT(reload(&w, 0), ENOSYS);
    rig_exit_worker(&r, &w, 0);
    EXPECT_INT(rig_wait_keeper(&r), 0);
}

TEST(a_worker_that_cannot_be_told_of_credentials_or_the_end_is_replaced_or_ended)
{
    struct k_reload m = {.type = K_RELOAD, .req = 4};
    struct rig_worker w;
    struct rig r;

    rig_begin(&r, &w);
    FAIL(sendmsg, .error = EIO, .pid = r.keeper);
    rig_send(w.channel, &m, sizeof m, NULL, 0);
    rig_drop(&w);
    rig_worker(&r, &w);
    FAIL(sendmsg, .error = EIO, .pid = r.keeper);
    kill(r.keeper, SIGTERM);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    rig_drop(&w);
}

/* --- upgrades ------------------------------------------------------------- */

static char candidate[] = "/tmp/holdfast-candidate-XXXXXX";
static char *candidate_argv[] = {candidate, NULL};

/* A script as the binary to come, with this for an answer. */
static void begin_upgrade(struct rig *r, struct rig_worker *w, const char *answer)
{
    char text[128];
    int fd;

    strcpy(candidate + strlen(candidate) - 6, "XXXXXX");
    fd = mkstemp(candidate);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", answer);
    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    fchmod(fd, 0755);
    close(fd);
    rig_init(r);
    r->before = quiet_log;
    r->options.exe_path = candidate;
    r->options.argv = candidate_argv;
    rig_start(r);
    rig_worker(r, w);
}

static void end_upgrade(struct rig *r, struct rig_worker *w)
{
    unlink(candidate);
    rig_end(r, w);
}

/* The keeper answers, so whatever it was doing before is done. */
static void answers(struct rig_worker *w)
{
    struct rig_spec s;
    char out[64];

    rig_spec_init(&s, SH("echo fine"));
    rig_run(w, &s, out, sizeof out);
    EXPECT_STR(out, "fine\n");
}

TEST(an_upgrade_that_cannot_begin_changes_nothing)
{
    struct rig_worker w;
    struct rig r;

    begin_upgrade(&r, &w, "exit 1");
    answers(&w);
    FAIL(pipe2, .error = EMFILE, .pid = r.keeper, .after = 3);
    FAIL(fork, .error = EAGAIN, .pid = r.keeper);
    kill(r.keeper, SIGHUP);
    WAIT_FAILED(fork, 1);
    FAIL_NO_MORE(pipe2);
    answers(&w);
    FAIL(memfd_create, .error = EMFILE, .pid = -1);
    kill(r.keeper, SIGHUP);
    WAIT_FAILED(memfd_create, 1);
    answers(&w);
    end_upgrade(&r, &w);
}

TEST(a_trial_that_cannot_be_prepared_is_a_no)
{
    struct rig_worker w;
    struct rig r;

    begin_upgrade(&r, &w, "exit 93");
    FAIL(setenv, .error = ENOMEM, .pid = -1);
    kill(r.keeper, SIGHUP);
    WAIT_FAILED(setenv, 1);
    answers(&w);
    end_upgrade(&r, &w);
}

/* What it said goes to the log, where somebody may look for the reason. */
TEST(a_candidate_that_refuses_may_say_why)
{
    static const char *const answers_of[] = {"echo one; echo two; exit 1", "echo why; kill -9 $$"};
    struct rig_worker w;
    struct rig r;

    for (size_t i = 0; i < 2; i++) {
        begin_upgrade(&r, &w, answers_of[i]);
        kill(r.keeper, SIGHUP);
        answers(&w);
        end_upgrade(&r, &w);
    }
}

TEST(a_candidate_that_dies_says_nothing)
{
    struct rig_worker w;
    struct rig r;

    begin_upgrade(&r, &w, "kill -9 $$");
    kill(r.keeper, SIGHUP);
    kill(r.keeper, SIGHUP);
    answers(&w);
    end_upgrade(&r, &w);
}

/* Retires the worker; the old binary's next one comes because the exec does not happen. */
static void expect_old_binary(struct rig *r, struct rig_worker *w)
{
    struct k_simple m;
    size_t count;
    int fds[8];

    rig_expect(w, K_RETIRE, &m, sizeof m, fds, &count);
    rig_exit_worker(r, w, 0);
    rig_worker(r, w);
    answers(w);
}

TEST(an_exec_that_cannot_be_prepared_leaves_the_old_binary)
{
    struct rig_worker w;
    struct rig r;

    begin_upgrade(&r, &w, "exit 93");
    FAIL(setenv, .error = ENOMEM, .pid = r.keeper);
    kill(r.keeper, SIGHUP);
    expect_old_binary(&r, &w);
    EXPECT_INT(FAILED(setenv), 1);
    FAIL(memfd_create, .error = ENOMEM, .pid = r.keeper);
    kill(r.keeper, SIGHUP);
    expect_old_binary(&r, &w);
    EXPECT_INT(FAILED(memfd_create), 1);
    FAIL(execv, .error = E2BIG, .pid = r.keeper);
    kill(r.keeper, SIGHUP);
    expect_old_binary(&r, &w);
    EXPECT_INT(FAILED(execv), 1);
    end_upgrade(&r, &w);
}

/* What it had read cannot be asked for later, and the next worker needs to know it. */
TEST(what_a_dead_worker_had_read_is_asked_for_more_than_once)
{
    struct rig_worker w;
    struct rig r;

    rig_init(&r);
    rig_start(&r);
    rig_worker(&r, &w);
    FAIL(open, .error = EMFILE, .times = 2, .pid = r.keeper, .path = "/io");
    rig_kill_worker(&w);
    rig_worker(&r, &w);
    EXPECT_INT(FAILED(open), 2);
    EXPECT(w.boot.prev_io_known);
    rig_end(&r, &w);
}

TEST(a_worker_that_cannot_be_told_to_leave_is_killed_for_the_upgrade)
{
    struct rig_worker w;
    struct rig r;

    begin_upgrade(&r, &w, "exit 93");
    FAIL(execv, .error = E2BIG, .pid = r.keeper);
    FAIL(sendmsg, .error = EIO, .pid = r.keeper);
    kill(r.keeper, SIGHUP);
    rig_drop(&w);
    rig_worker(&r, &w);
    answers(&w);
    end_upgrade(&r, &w);
}

TEST(who_is_ending_does_not_begin_an_upgrade)
{
    struct k_stop stop;
    struct rig_worker w;
    struct rig r;
    size_t count;
    int fds[8];

    begin_upgrade(&r, &w, "exit 93");
    kill(r.keeper, SIGTERM);
    rig_expect(&w, K_STOP, &stop, sizeof stop, fds, &count);
    kill(r.keeper, SIGHUP);
    answers(&w);
    rig_exit_worker(&r, &w, 0);
    EXPECT_INT(rig_wait_keeper(&r), 0);
    unlink(candidate);
}
