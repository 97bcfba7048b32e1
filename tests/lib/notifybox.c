/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notifybox.c - the service manager's end of sd_notify(3)
 *
 *   notifybox NAME
 *
 * Binds a datagram socket to NAME ('@' first: abstract) and prints each message as one line, its
 * lines joined by spaces. Ends with standard input.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char text[4096];

    if (argc != 2 || strlen(argv[1]) >= sizeof a.sun_path)
        return 2;
    memcpy(a.sun_path, argv[1], strlen(argv[1]));
    if (a.sun_path[0] == '@')
        a.sun_path[0] = '\0';
    if (bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(argv[1]))) < 0)
        return 3;
    puts("bound");
    fflush(stdout);
    for (;;) {
        struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
        ssize_t n;

        if (poll(p, 2, -1) < 0 || p[1].revents != 0)
            return 0;
        n = recv(fd, text, sizeof text - 1, 0);
        if (n <= 0)
            continue;
        text[n] = '\0';
        for (char *at = text; (at = strchr(at, '\n')) != NULL;)
            *at = ' ';
        puts(text);
        fflush(stdout);
    }
}
