/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.c - starts $BROWSER or xdg-open, detached from this process. Layer: cli.
 */
#include "cli/client/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "cli/token_file.h"

#define BROWSER_WORDS_MAX 16

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

const char *browser_way(void)
{
    if (is_set("BROWSER"))
        return "$BROWSER";
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") ? "xdg-open" : NULL;
}

/* "firefox --new-window %s": words, without a shell. If no word is %s, the link comes last. */
static void become(char *line, char *url)
{
    char *argv[BROWSER_WORDS_MAX + 2], *save = NULL, *word;
    bool placed = false;
    size_t n = 0;

    for (word = strtok_r(line, " ", &save); word != NULL && n < BROWSER_WORDS_MAX;
         word = strtok_r(NULL, " ", &save)) {
        bool here = strcmp(word, "%s") == 0;

        argv[n++] = here ? url : word;
        placed = placed || here;
    }
    if (n == 0)
        return;
    if (!placed)
        argv[n++] = url;
    argv[n] = NULL;
    execvp(argv[0], argv);
}

/* $BROWSER is a colon-separated list of programs; use the first that can be executed. */
static void become_any(const char *list, const char *url)
{
    hf_autofree char *lines = hf_xstrdup(list), *link = hf_xstrdup(url);
    char *save = NULL, *line;

    errno = ENOENT;
    for (line = strtok_r(lines, ":", &save); line != NULL; line = strtok_r(NULL, ":", &save))
        become(line, link);
}

/* The browser does not need our token, and its children would inherit it. */
static void leave_behind(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    unsetenv(TOKEN_ENV);
    signal(SIGPIPE, SIG_DFL);
}

/* Runs in the grandchild, which is never waited for. `status` closes on a successful exec. */
static void begin(const char *url, int status)
{
    int reason;

    leave_behind();
    become_any(is_set("BROWSER") ? getenv("BROWSER") : "xdg-open", url);
    reason = errno;
    hf_write(status, &reason, sizeof reason);
    _exit(127);
}

int browser_open(const char *url)
{
    int status[2], reason = 0;
    pid_t child;

    if (pipe2(status, O_CLOEXEC) < 0)
        return -errno;
    child = fork();
    if (child == 0) {
        if (setsid() >= 0 && fork() == 0)
            begin(url, status[1]);
        _exit(0);
    }
    io_close(&status[1]);
    if (child < 0 || hf_read(status[0], &reason, sizeof reason) != sizeof reason)
        reason = child < 0 ? EAGAIN : 0;
    if (child > 0)
        waitpid(child, NULL, 0);
    io_close(&status[0]);
    return -reason;
}
