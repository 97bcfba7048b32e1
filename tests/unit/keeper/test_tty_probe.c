/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tty_probe.c - which process waits for terminal input or owns a socket, and the report
 * where /proc says nothing
 *
 * A child of the test waits on a terminal of its own, in one of the ways in which programs do.
 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "failing.h"
#include "keeper/keeper_own.h"
#include "keeper/streams.h"
#include "keeper/tty_probe.h"

/* Wraps: open opendir ioctl readlink process_vm_readv stat read access */
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING_BY(DIR *, opendir, (const char *path), (path), 0, 0, path)
FAILING_BY(int, ioctl, (int fd, unsigned long request, void *arg), (fd, request, arg), -1,
           (long)request, NULL)
FAILING(ssize_t, readlink, (const char *path, char *to, size_t size), (path, to, size), -1)
FAILING(ssize_t, process_vm_readv,
        (pid_t pid, const struct iovec *l, unsigned long ln, const struct iovec *r,
         unsigned long rn, unsigned long flags),
        (pid, l, ln, r, rn, flags), -1)
FAILING_BY(int, stat, (const char *path, struct stat *st), (path, st), -1, 0, path)
FAILING_BY(int, access, (const char *path, int mode), (path, mode), -1, 0, path)
FAILING(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), -1)

#define WAIT_MS 20000

struct scene {
    struct streams io;
    struct entry e;
};

/* Runs `act` in a child that leads the session of a fresh terminal. */
static void begin(struct scene *s, void (*act)(void))
{
    struct k_spawn m = {.pty = 1, .rows = 24, .cols = 80};
    char byte = 0;
    int ready[2];
    pid_t pid;

    REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
    REQUIRE(streams_open(&s->io, &m, -1, NULL) == 0);
    fflush(NULL);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        setsid();
        for (int fd = 0; fd < 3; fd++)
            dup2(s->io.child[0], fd);
        ioctl(0, TIOCSCTTY, NULL);
        close(s->io.tty);
        close(s->io.child[0]);
        if (write(ready[1], "x", 1) == 1)
            act();
        _exit(1);
    }
    close(ready[1]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    s->e = (struct entry){.pub = {.pid = pid, .tty_fd = s->io.tty}};
}

static void end(struct scene *s)
{
    kill(-s->e.pub.pid, SIGKILL);
    waitpid(s->e.pub.pid, NULL, 0);
    streams_close(&s->io);
}

static struct k_probed look(const struct scene *s)
{
    struct k_probed out = {0};

    tty_probe_terminal(&s->e, &out);
    return out;
}

static bool becomes(const struct scene *s, uint32_t want)
{
    uint64_t until = clock_mono_ms() + WAIT_MS;

    while (look(s).reading != want) {
        if (clock_mono_ms() > until)
            return false;
        usleep(1000);
    }
    return true;
}

/* The state letter of a process. */
static char state_of(pid_t pid)
{
    char path[64], text[256] = "";
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    if (fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    fclose(f);
    return strrchr(text, ')') == NULL ? 0 : strrchr(text, ')')[2];
}

static void wait_state(pid_t pid, char state)
{
    uint64_t until = clock_mono_ms() + WAIT_MS;

    while (state_of(pid) != state && clock_mono_ms() < until)
        usleep(1000);
    REQUIRE(state_of(pid) == state);
}

/* Some kernels tell nobody what a process sleeps in; there everything is unknown. */
static bool kernel_tells(void)
{
    return access("/proc/self/task", F_OK) == 0 && access("/proc/self/syscall", F_OK) == 0;
}

/* --- the ways to wait ----------------------------------------------------- */

static void act_read(void)
{
    char byte;

    (void)!read(0, &byte, 1);
}

static void act_readv(void)
{
    char byte;
    struct iovec v = {&byte, 1};

    (void)!readv(0, &v, 1);
}

static void act_dev_tty(void)
{
    char byte;
    int fd = open("/dev/tty", O_RDONLY, 0);

    (void)!read(fd, &byte, 1);
}

static void act_poll(void)
{
    struct pollfd p[100];

    for (int i = 0; i < 100; i++)
        p[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    p[0] = (struct pollfd){.fd = 0, .events = POLLPRI};
    p[2].fd = 0;
    poll(p, 100, -1);
}

/* To be written to, which the terminal is not ready for: its output is stopped. */
static void act_poll_output(void)
{
    struct pollfd p = {.fd = -1, .events = POLLIN};

    poll(&p, 1, -1);
}

/* Looked at up to 64 descriptors of 1,024; the call has more of both. */
static void act_select(void)
{
    unsigned char set[4096 / 8] = {1};
    int ends[2];

    if (pipe(ends) < 0)
        _exit(1);
    for (int fd = 100; fd < 180; fd++) {
        if (dup2(ends[0], fd) != fd)
            _exit(1);
        set[fd / 8] |= (unsigned char)(1 << (fd % 8));
    }
    syscall(SYS_pselect6, 4096, set, NULL, NULL, NULL, NULL);
}

static void act_select_nothing(void)
{
    syscall(SYS_pselect6, 0, NULL, NULL, NULL, NULL, NULL);
}

static void act_select_pipe(void)
{
    fd_set set;
    int ends[2];

    if (pipe(ends) < 0)
        _exit(1);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    select(ends[0] + 1, &set, NULL, NULL, NULL);
}

/* The side of a terminal that programs are not at: a device with the number 5, as /dev/tty. */
static void act_read_master(void)
{
    char byte;
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY, 0);

    (void)!read(fd, &byte, 1);
}

static void act_read_other_terminal(void)
{
    struct k_spawn m = {.pty = 1, .rows = 24, .cols = 80};
    struct streams other;
    char byte;

    if (streams_open(&other, &m, -1, NULL) == 0)
        (void)!read(other.child[0], &byte, 1);
}

static void epoll_with(uint32_t events)
{
    struct epoll_event e = {.events = events}, out;
    int fd = epoll_create1(0);

    if (epoll_ctl(fd, EPOLL_CTL_ADD, 0, &e) < 0)
        _exit(1);
    while (epoll_wait(fd, &out, 1, -1) >= 0)
        ;
}

static void act_epoll(void)
{
    epoll_with(EPOLLIN);
}

static void act_epoll_pri(void)
{
    epoll_with(EPOLLPRI);
}

static void act_pause(void)
{
    pause();
}

static void act_read_pipe(void)
{
    int ends[2];
    char byte;

    if (pipe(ends) == 0)
        (void)!read(ends[0], &byte, 1);
}

/* A leader that waits for a child that reads, as `sh -c 'cat; date'`. */
static void act_child_reads(void)
{
    if (fork() == 0) {
        act_read();
        _exit(0);
    }
    wait(NULL);
    pause();
}

static void *sleeper(void *arg)
{
    pause();
    return arg;
}

static void act_many_threads(void)
{
    pthread_attr_t attr;
    pthread_t t;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 * 1024);
    for (int i = 0; i < 70; i++)
        pthread_create(&t, &attr, sleeper, NULL);
    pause();
}

static void act_many_children(void)
{
    for (int i = 0; i < 70; i++) {
        if (fork() == 0) {
            pause();
            _exit(0);
        }
    }
    pause();
}

TEST(every_way_to_wait_for_input_is_seen)
{
    static void (*const ways[])(void) = {act_read,   act_readv, act_dev_tty,    act_poll,
                                         act_select, act_epoll, act_child_reads};
    struct scene s;

    if (!kernel_tells())
        return;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin(&s, ways[i]);
        if (!test_check(becomes(&s, K_LOOK_YES), __FILE__, __LINE__, "reading"))
            fprintf(stderr, "way %zu\n", i);
        EXPECT_INT(look(&s).group, s.e.pub.pid);
        end(&s);
    }
}

TEST(who_waits_for_something_else_does_not_read)
{
    static void (*const ways[])(void) = {
        act_pause,       act_poll_output,         act_select_nothing, act_epoll_pri,
        act_read_pipe,   act_many_threads,        act_many_children,  act_select_pipe,
        act_read_master, act_read_other_terminal,
    };
    struct scene s;

    if (!kernel_tells())
        return;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin(&s, ways[i]);
        wait_state(s.e.pub.pid, 'S');
        if (!test_check(becomes(&s, K_LOOK_NO), __FILE__, __LINE__, "not reading"))
            fprintf(stderr, "way %zu\n", i);
        end(&s);
    }
}

TEST(a_leader_that_is_stopped_does_not_read)
{
    struct scene s;

    begin(&s, act_read);
    kill(s.e.pub.pid, SIGSTOP);
    wait_state(s.e.pub.pid, 'T');
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    end(&s);
}

TEST(input_that_nobody_has_taken_is_seen_first)
{
    struct scene s;

    begin(&s, act_pause);
    REQUIRE(write(s.io.tty, "line\n", 5) == 5);
    wait_state(s.e.pub.pid, 'S');
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    end(&s);
}

TEST(what_may_not_be_looked_at_is_unknown)
{
    static const int errors[] = {EACCES, EPERM, ENOSYS, ENOENT};
    struct scene s;

    if (!kernel_tells())
        return;
    begin(&s, act_read);
    REQUIRE(becomes(&s, K_LOOK_YES));
    for (size_t i = 0; i < 4; i++) {
        FAIL(open, .error = errors[i], .path = "/syscall");
        EXPECT_U64(look(&s).reading, K_LOOK_UNKNOWN);
    }
    FAIL(opendir, .error = EACCES, .path = "/task");
    EXPECT_U64(look(&s).reading, K_LOOK_UNKNOWN);
    end(&s);
}

/* A thread, a process or a descriptor may be gone by the time that it is looked at. */
TEST(who_is_gone_meanwhile_does_not_read)
{
    struct scene s;

    if (!kernel_tells())
        return;
    begin(&s, act_read);
    REQUIRE(becomes(&s, K_LOOK_YES));
    FAIL(opendir, .error = ENOENT, .path = "/task");
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    FAIL(open, .error = ESRCH, .path = "/syscall");
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    FAIL(open, .error = ENOENT, .path = "/stat");
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    FAIL(open, .error = ENOENT, .path = "/syscall");
    FAIL(access, .error = ENOENT, .path = "/stat");
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    FAIL(read, .give = true, .instead = 5);
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    FAIL(stat, .error = ENOENT, .path = "/fd/0");
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    FAIL(read, .error = ESRCH, .after = 1);
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    end(&s);
}

TEST(memory_and_sets_that_cannot_be_read_have_nobody_wait)
{
    struct scene s;

    if (!kernel_tells())
        return;
    begin(&s, act_poll);
    REQUIRE(becomes(&s, K_LOOK_YES));
    FAIL(process_vm_readv, .error = EPERM);
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    end(&s);
    begin(&s, act_epoll);
    REQUIRE(becomes(&s, K_LOOK_YES));
    FAIL(read, .give = true, .after = 2);
    EXPECT_U64(look(&s).reading, K_LOOK_NO);
    end(&s);
}

TEST(without_a_list_of_processes_the_leader_alone_is_looked_at)
{
    struct scene s;

    begin(&s, act_pause);
    wait_state(s.e.pub.pid, 'S');
    FAIL(opendir, .error = EACCES, .path = "/proc");
    EXPECT_U64(look(&s).reading, kernel_tells() ? K_LOOK_NO : K_LOOK_UNKNOWN);
    EXPECT_INT(FAILED(opendir), 1);
    end(&s);
}

TEST(no_terminal_and_no_foreground_say_nothing)
{
    struct scene s, none = {.e = {.pub = {.tty_fd = -1}}};

    EXPECT_INT(look(&none).group, 0);
    begin(&s, act_pause);
    s.e.pub.exited = true;
    EXPECT_INT(look(&s).group, 0);
    s.e.pub.exited = false;
    FAIL(ioctl, .error = ENOTTY, .only = TIOCGPTN);
    EXPECT_INT(look(&s).group, 0);
    FAIL(ioctl, .error = ENOTTY, .only = TIOCGPGRP);
    EXPECT_INT(look(&s).group, 0);
    FAIL(ioctl, .give = true, .only = TIOCGPGRP);
    EXPECT_INT(look(&s).group, 0);
    FAIL(ioctl, .error = EINVAL, .only = (long)_IO('T', 0x41));
    EXPECT_INT(look(&s).group, s.e.pub.pid);
    end(&s);
}

static char deep[] = "/tmp/holdfast-look-XXXXXX";

static void act_in_root(void)
{
    if (chdir("/") == 0)
        pause();
}

static void act_in_deep(void)
{
    if (chdir(deep) == 0)
        pause();
}

TEST(a_directory_that_is_gone_or_cannot_be_read_is_not_told)
{
    struct scene s;

    REQUIRE(mkdtemp(deep) != NULL);
    begin(&s, act_in_deep);
    wait_state(s.e.pub.pid, 'S');
    EXPECT_STR(look(&s).cwd, deep);
    FAIL(readlink, .error = EACCES);
    EXPECT_STR(look(&s).cwd, "");
    FAIL(readlink, .give = true, .instead = K_CWD_MAX);
    EXPECT_STR(look(&s).cwd, "");
    rmdir(deep);
    EXPECT_STR(look(&s).cwd, "");
    end(&s);
    begin(&s, act_in_root);
    wait_state(s.e.pub.pid, 'S');
    EXPECT_STR(look(&s).cwd, "/");
    end(&s);
}

/* --- texts ---------------------------------------------------------------- */

TEST(what_an_epoll_waits_for_is_read_up_to_a_bound)
{
    static const char text[] = "tfd:        7 events:       19 data: 0\n"
                               "tfd:        8 events:        2 data: 0\n"
                               "tfd:       -1 events:       19 data: 0\n"
                               "tfd: 99999999999 events:    19 data: 0\n"
                               "tfd:        9 events:       19 data: 0\n"
                               "tfd:       10";
    int fds[8];

    EXPECT_U64(tty_probe_parse_epoll(text, fds, 8), 2);
    EXPECT(fds[0] == 7 && fds[1] == 9);
    EXPECT_U64(tty_probe_parse_epoll(text, fds, 1), 1);
    EXPECT_U64(tty_probe_parse_epoll("", fds, 8), 0);
}

/* --- sockets -------------------------------------------------------------- */

static uint64_t inode_of(int fd)
{
    struct stat st;

    REQUIRE(fstat(fd, &st) == 0);
    return st.st_ino;
}

TEST(a_socket_is_found_at_whoever_holds_it)
{
    struct keeper_options options = {0};
    struct keeper k = {.options = &options, .pid = getpid()};
    uint64_t inodes[2] = {1, 0};
    struct entry *e;
    int pair[2];
    pid_t pid;

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    inodes[1] = inode_of(pair[0]);
    table_init(&k.table);
    e = table_add(&k.table);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    table_set_pid(&k.table, e, pid);
    EXPECT(tty_probe_holds(&k, e, inodes, 2));
    EXPECT(!tty_probe_holds(&k, e, inodes, 1));
    FAIL(opendir, .error = EACCES, .path = "/fd");
    EXPECT(!tty_probe_holds(&k, e, inodes, 2));
    /* Without a list of processes the leader alone is asked. */
    census_end(&k);
    FAIL(opendir, .error = EACCES, .path = "/proc");
    EXPECT(tty_probe_holds(&k, e, inodes, 2));
    EXPECT_INT(FAILED(opendir), 1);
    kill(e->pub.pid, SIGKILL);
    waitpid(e->pub.pid, NULL, 0);
    census_end(&k);
    table_fini(&k.table);
    close(pair[0]);
    close(pair[1]);
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
