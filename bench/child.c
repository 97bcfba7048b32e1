/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - starting children and being sure to end them (see common.h)
 *
 * The driver is a subreaper: what a killed daemon leaves behind becomes the
 * driver's child and is found there. children_end() uses only calls that are
 * safe in a signal handler, because Ctrl-C comes at any moment.
 */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CHILDREN_MAX 64
#define CHILD_END_MS 15000

static volatile pid_t children[CHILDREN_MAX];
static pid_t driver_pid;
static const char *shown_file;

void die_show_file(const char *path)
{
    shown_file = path;
}

static void show_file_end(void)
{
    char text[2048];
    ssize_t n;
    int fd = shown_file != NULL ? open(shown_file, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    if (lseek(fd, -(off_t)sizeof(text), SEEK_END) < 0)
        lseek(fd, 0, SEEK_SET);
    n = read(fd, text, sizeof(text));
    if (n > 0)
        fprintf(stderr, "--- the daemon's last words:\n%.*s\n", (int)n, text);
    close(fd);
}

void die(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fputs("bench: FAILED: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    show_file_end();
    exit(1);
}

/* True when `pid` has ended and is reaped within the time. */
static bool wait_ms(pid_t pid, unsigned ms)
{
    for (unsigned waited = 0; waited <= ms; waited += 5) {
        pid_t rc = waitpid(pid, NULL, WNOHANG);

        if (rc == pid || (rc < 0 && errno == ECHILD))
            return true;
        sleep_ms(5);
    }
    return false;
}

/* Orphans that came to us; a list of one line, pids apart by blanks. */
static void adopted_end(void)
{
    char text[4096];
    ssize_t n;
    pid_t pid = 0;
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);

    n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    for (ssize_t i = 0; i < n; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            pid = pid * 10 + (text[i] - '0');
        } else if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            pid = 0;
        }
    }
    if (fd >= 0)
        close(fd);
}

static void children_end(void)
{
    if (getpid() != driver_pid)
        return;
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (children[i] > 0)
            kill(children[i], SIGTERM);
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (children[i] > 0 && !wait_ms(children[i], 3000)) {
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
        }
        children[i] = 0;
    }
    for (int again = 0; again < 20; again++)
        adopted_end();
}

static void on_signal(int sig)
{
    children_end();
    _exit(128 + sig);
}

void children_init(void)
{
    driver_pid = getpid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    atexit(children_end);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, on_signal);
    signal(SIGPIPE, SIG_IGN);
}

static void children_add(pid_t pid)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (children[i] == 0) {
            children[i] = pid;
            return;
        }
    }
    kill(pid, SIGKILL);
    die("more than %d children at once", CHILDREN_MAX);
}

static void child_exec(const char *const argv[])
{
    /* The driver may be killed outright; nothing of its own outlives it. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (int sig = 1; sig < 32; sig++)
        if (sig != SIGKILL && sig != SIGSTOP)
            signal(sig, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    dprintf(2, "bench: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static pid_t child_fork(void)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid > 0)
        children_add(pid);
    return pid;
}

pid_t child_start(const char *const argv[], int in, int out, int err)
{
    pid_t pid = child_fork();

    if (pid == 0) {
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        child_exec(argv);
    }
    return pid;
}

static int pty_open(char *slave_path, size_t size)
{
    struct winsize window = {.ws_row = 24, .ws_col = 80};
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 || ptsname_r(fd, slave_path, size) != 0 ||
        ioctl(fd, TIOCSWINSZ, &window) != 0)
        die("no terminal: %s", strerror(errno));
    return fd;
}

pid_t child_start_pty(const char *const argv[], int *master)
{
    char path[64];
    pid_t pid;
    int fd = pty_open(path, sizeof(path));

    pid = child_fork();
    if (pid == 0) {
        int slave;

        setsid();
        slave = open(path, O_RDWR);
        dup2(slave, 0);
        dup2(slave, 1);
        dup2(slave, 2);
        if (slave > 2)
            close(slave);
        child_exec(argv);
    }
    *master = fd;
    return pid;
}

void child_end(pid_t pid, int sig)
{
    if (pid <= 0)
        return;
    if (sig != 0)
        kill(pid, sig);
    if (!wait_ms(pid, CHILD_END_MS))
        die("process %d did not end within %d s", (int)pid, CHILD_END_MS / 1000);
    for (size_t i = 0; i < CHILDREN_MAX; i++)
        if (children[i] == pid)
            children[i] = 0;
}
