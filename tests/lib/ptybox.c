/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptybox.c - a program on a real terminal, held by pipes that a test can use
 *
 *   ptybox ROWS COLS COMMAND [ARG...]
 *
 * Standard input is typed at the terminal, what it shows comes out of standard
 * output. Lines on descriptor 3: "size ROWS COLS", "modes", "signal N" (to the
 * program), "hangup". Lines on descriptor 4: "pid N" first, "modes ..." when asked, "exit N" or
 * "signal N" when the program has ended; what it left on the terminal has come by then. The
 * terminal stays open until standard input ends, so its modes can be looked at afterwards.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

static int master, slave;
static pid_t child;

static void say(const char *line)
{
    if (write(4, line, strlen(line)) < 0)
        exit(3);
}

static void say_modes(void)
{
    struct termios t;
    char line[120];

    if (tcgetattr(slave, &t) < 0)
        memset(&t, 0, sizeof t);
    snprintf(line, sizeof line, "modes icanon=%d echo=%d isig=%d opost=%d icrnl=%d\n",
             !!(t.c_lflag & ICANON), !!(t.c_lflag & ECHO), !!(t.c_lflag & ISIG),
             !!(t.c_oflag & OPOST), !!(t.c_iflag & ICRNL));
    say(line);
}

static void obey(char *line)
{
    struct winsize size = {0};
    int n;

    if (sscanf(line, "size %hu %hu", &size.ws_row, &size.ws_col) == 2)
        ioctl(master, TIOCSWINSZ, &size);
    else if (strncmp(line, "modes", 5) == 0)
        say_modes();
    else if (sscanf(line, "signal %d", &n) == 1)
        kill(child, n);
    else if (strncmp(line, "hangup", 6) == 0) {
        close(slave);
        close(master);
        master = slave = -1;
    }
}

static void obey_all(void)
{
    static char text[4096];
    static size_t len;
    ssize_t n = read(3, text + len, sizeof text - 1 - len);
    char *end;

    if (n <= 0)
        return;
    len += (size_t)n;
    text[len] = '\0';
    while ((end = strchr(text, '\n')) != NULL) {
        *end = '\0';
        obey(text);
        len -= (size_t)(end + 1 - text);
        memmove(text, end + 1, len + 1);
    }
}

static int copy(int from, int to)
{
    char bytes[65536];
    ssize_t n = read(from, bytes, sizeof bytes), done = 0;

    while (n > 0 && done < n) {
        ssize_t w = write(to, bytes + done, (size_t)(n - done));
        if (w < 0 && errno != EINTR)
            return -1;
        done += w > 0 ? w : 0;
    }
    return (int)n;
}

/* True when there was something. */
static int drain_master(int wait_ms)
{
    struct pollfd p = {.fd = master, .events = POLLIN};

    return master >= 0 && poll(&p, 1, wait_ms) > 0 && (p.revents & POLLIN) && copy(master, 1) > 0;
}

static void reap(void)
{
    char line[40];
    int status;

    if (waitpid(child, &status, WNOHANG) != child)
        return;
    while (drain_master(20))
        ;
    if (WIFSIGNALED(status))
        snprintf(line, sizeof line, "signal %d\n", WTERMSIG(status));
    else
        snprintf(line, sizeof line, "exit %d\n", WEXITSTATUS(status));
    say(line);
}

int main(int argc, char **argv)
{
    struct winsize size = {0};
    char line[40];
    sigset_t set;
    int sig;

    if (argc < 4)
        return 2;
    size.ws_row = (unsigned short)atoi(argv[1]);
    size.ws_col = (unsigned short)atoi(argv[2]);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (openpty(&master, &slave, NULL, NULL, &size) < 0)
        return 3;
    child = fork();
    if (child < 0)
        return 3; /* kill(2) of -1 would be everybody */
    if (child == 0) {
        close(3);
        close(4);
        close(master);
        if (login_tty(slave) == 0)
            execvp(argv[3], argv + 3);
        _exit(127);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    sig = signalfd(-1, &set, 0);
    snprintf(line, sizeof line, "pid %d\n", child);
    say(line);
    reap();
    for (;;) {
        struct pollfd p[] = {{0, POLLIN, 0}, {master, POLLIN, 0}, {3, POLLIN, 0}, {sig, POLLIN, 0}};
        struct signalfd_siginfo info;

        if (poll(p, 4, -1) < 0 && errno != EINTR)
            return 3;
        if (p[2].revents & POLLIN)
            obey_all();
        if (master >= 0 && (p[1].revents & POLLIN))
            copy(master, 1);
        if ((p[3].revents & POLLIN) && read(sig, &info, sizeof info) > 0)
            reap();
        if ((p[0].revents & (POLLIN | POLLHUP)) && (master < 0 || copy(0, master) <= 0))
            break;
    }
    kill(child, SIGKILL);
    return 0;
}
