/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.c - reports readiness, reloads and shutdown to the service manager. Layer: cli.
 */
#include "cli/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define NOTIFY_ENV "NOTIFY_SOCKET"

static struct sockaddr_un manager;
static socklen_t manager_len; /* 0: there is none */

void notify_init(void)
{
    const char *name = getenv(NOTIFY_ENV);
    size_t len = name == NULL ? 0 : strlen(name);

    if (len > 1 && len < sizeof manager.sun_path && (name[0] == '/' || name[0] == '@')) {
        manager.sun_family = AF_UNIX;
        memcpy(manager.sun_path, name, len);
        if (name[0] == '@')
            manager.sun_path[0] = '\0';
        manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    } else if (len > 0) {
        log_warn(NOTIFY_ENV " is not the address of a socket: %s", name);
    }
    unsetenv(NOTIFY_ENV);
}

static void notify_send(const char *text)
{
    int fd;

    if (manager_len == 0)
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&manager, manager_len) < 0)
        log_warn("cannot notify the service manager: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

void notify_ready(const char *status)
{
    char text[256];

    snprintf(text, sizeof text, "READY=1\nSTATUS=%s", status);
    notify_send(text);
}

/* Type=notify-reload requires the time. */
void notify_reloading(void)
{
    struct timespec now;
    char text[96];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)now.tv_sec * 1000000ULL +
                 (unsigned long long)now.tv_nsec / 1000ULL);
    notify_send(text);
}

void notify_stopping(void)
{
    notify_send("STOPPING=1");
}
