/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - signal names and numbers, which come from the C library, and descriptors for signals.
 * Layer: base.
 */
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>

#include "base/text.h"

/* Aliases in common use; the C library has one name per number. */
static const struct {
    const char *name;
    int signum;
} aliases[] = {{"IOT", SIGIOT}, {"CLD", SIGCHLD}, {"IO", SIGIO}, {"POLL", SIGPOLL}};

/* "RTMIN", "RTMIN+n", "RTMAX", "RTMAX-n"; -1 if it is none of them. */
static int realtime_from_name(const char *name)
{
    int64_t n = 0;
    bool from_min = strncasecmp(name, "RTMIN", 5) == 0;

    if (!from_min && strncasecmp(name, "RTMAX", 5) != 0)
        return -1;
    name += 5;
    if (*name != '\0') {
        if (*name != (from_min ? '+' : '-') || !text_to_i64(name + 1, 0, SIGRTMAX - SIGRTMIN, &n))
            return -1;
    }
    return from_min ? SIGRTMIN + (int)n : SIGRTMAX - (int)n;
}

int signal_from_name(const char *name)
{
    int64_t number;

    if (text_to_i64(name, 1, SIGRTMAX, &number))
        return (int)number;
    if (strncasecmp(name, "SIG", 3) == 0)
        name += 3;
    for (int i = 1; i < SIGRTMIN; i++) {
        const char *abbrev = sigabbrev_np(i);

        if (abbrev != NULL && strcasecmp(name, abbrev) == 0)
            return i;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcasecmp(name, aliases[i].name) == 0)
            return aliases[i].signum;
    }
    return realtime_from_name(name);
}

const char *signal_name(int signum)
{
    static char name[24];
    const char *abbrev = sigabbrev_np(signum);

    if (abbrev != NULL && signum > 0)
        snprintf(name, sizeof name, "SIG%s", abbrev);
    else if (signum == SIGRTMIN)
        snprintf(name, sizeof name, "SIGRTMIN");
    else if (signum > SIGRTMIN && signum <= SIGRTMAX)
        snprintf(name, sizeof name, "SIGRTMIN+%d", signum - SIGRTMIN);
    else
        return "SIG?";
    return name;
}

static sigset_t set_of(const int *wanted)
{
    sigset_t set;

    sigemptyset(&set);
    for (; *wanted != 0; wanted++)
        sigaddset(&set, *wanted);
    return set;
}

int signals_open(const int *wanted, int flags)
{
    sigset_t set = set_of(wanted);
    int fd;

    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    fd = signalfd(-1, &set, SFD_CLOEXEC | flags);
    return fd < 0 ? -errno : fd;
}

void signals_unblock(const int *wanted)
{
    sigset_t set = set_of(wanted);

    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
