/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_terminal.c - raw mode, window size and signals of the user's terminal. Layer: cli.
 */
#include "cli/client/user_terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/io.h"
#include "base/signals.h"

static struct termios found;
static volatile sig_atomic_t is_raw;
static bool keeps_lines;
static char farewell[512];
static volatile size_t farewell_len;

bool user_terminal_is_raw(void)
{
    return is_raw;
}

/* Also runs in signal handlers: tcsetattr(3) and write(2) are async-signal-safe. */
void user_terminal_restore(void)
{
    int saved = errno;

    if (is_raw) {
        is_raw = 0;
        if (farewell_len > 0 && write(STDOUT_FILENO, farewell, farewell_len) < 0)
            errno = saved;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &found);
    }
    errno = saved;
}

void user_terminal_set_farewell(const char *bytes, size_t len)
{
    farewell_len = 0;
    len = len < sizeof farewell ? len : sizeof farewell;
    if (len > 0)
        memcpy(farewell, bytes, len);
    farewell_len = len;
}

static void on_crash(int signum)
{
    user_terminal_restore();
    signal(signum, SIG_DFL);
    raise(signum);
}

/* Only signals without a handler: a sanitizer installs its own. */
static void guard_crashes(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGSYS};
    struct sigaction now, ours = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(fatal[i], &ours, NULL);
}

int user_terminal_raw_again(void)
{
    struct termios raw = found;

    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (keeps_lines)
        raw.c_oflag = found.c_oflag;
    if (!is_raw || tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0)
        return 0;
    is_raw = 0;
    return -errno;
}

int user_terminal_raw(bool lines)
{
    static bool guarded;

    keeps_lines = lines;
    if (is_raw)
        return 0;
    if (tcgetattr(STDIN_FILENO, &found) < 0)
        return -errno;
    if (!guarded) {
        guarded = true;
        guard_crashes();
        atexit(user_terminal_restore);
    }
    is_raw = 1; /* first: restoring unchanged modes is harmless */
    return user_terminal_raw_again();
}

bool user_terminal_size(uint16_t *rows, uint16_t *cols)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
        return false;
    *rows = size.ws_row > 0 ? size.ws_row : 24;
    *cols = size.ws_col > 0 ? size.ws_col : 80;
    return true;
}

/* --- signals ---------------------------------------------------------------------- */

static const int caught[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGWINCH,
                             SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, 0};

/* Another process that shares standard input may have made it non-blocking. */
ssize_t user_terminal_read(void *bytes, size_t size)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    ssize_t n;

    while ((n = hf_read(STDIN_FILENO, bytes, size)) == -EAGAIN)
        poll(&ready, 1, -1);
    return n;
}

int user_terminal_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    /* Restoring modes from the background must not stop us. */
    signal(SIGTTOU, SIG_IGN);
    return signals_open(caught, SFD_NONBLOCK);
}

void user_terminal_signals_default(void)
{
    signals_unblock(caught);
}

int user_terminal_next_signal(int fd)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof info) != sizeof info)
        return 0;
    return (int)info.ssi_signo;
}

void user_terminal_stop_self(void)
{
    bool raw = user_terminal_is_raw();

    user_terminal_restore();
    kill(getpid(), SIGSTOP);
    if (raw)
        user_terminal_raw(keeps_lines);
}

void user_terminal_die_of(int signum)
{
    const int it[] = {signum, 0};

    user_terminal_restore();
    signal(signum, SIG_DFL);
    raise(signum);
    signals_unblock(it);
    _exit(128 + signum);
}
