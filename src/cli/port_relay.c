/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_relay.c - one connection to a port of the sandbox, for the daemon
 *
 * The worker may not open sockets; this short-lived process may, with the rights of the sandbox's
 * own programs. It exits when the port closes its side, and forwards the end of its input. An error
 * is a sentence on standard error, with exit status 1. See
 * dialects/kubernetes/kube_port_forward.h. Layer: cli.
 */
#include "cli/builtin_commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"

#define COPY_BYTES (64 * 1024)

static int try_connect(const struct sockaddr *to, socklen_t len)
{
    int on = 1, fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), errnum;

    if (fd < 0)
        return -errno;
    if (connect(fd, to, len) == 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
    errnum = errno;
    close(fd);
    return -errnum;
}

/* As "localhost" resolves: first IPv4, then IPv6. */
static int dial(uint16_t port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = try_connect((struct sockaddr *)&v4, sizeof v4), second;

    if (fd >= 0)
        return fd;
    second = try_connect((struct sockaddr *)&v6, sizeof v6);
    return second >= 0 ? second : fd;
}

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* The other direction runs in a thread: both block, and neither may wait for the other. */
static void *copy_input(void *arg)
{
    static char block[COPY_BYTES];
    int fd = *(int *)arg;
    ssize_t n;

    while ((n = hf_read(STDIN_FILENO, block, sizeof block)) > 0)
        if (!send_all(fd, block, (size_t)n))
            return NULL;
    shutdown(fd, SHUT_WR);
    return NULL;
}

static int copy_output(int fd)
{
    static char block[COPY_BYTES];

    for (;;) {
        ssize_t n = recv(fd, block, sizeof block, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        n = io_write_all(STDOUT_FILENO, block, (size_t)n);
        if (n < 0)
            return (int)n;
    }
}

static int fail(uint16_t port, const char *what, int errnum)
{
    fprintf(stderr, "%s port %u: %s\n", what, (unsigned)port, strerror(errnum));
    return 1;
}

int port_relay_main(int argc, char **argv)
{
    pthread_t thread;
    int64_t port;
    int fd, rc;

    if (argc != 3 || !text_to_i64(argv[2], 1, 65535, &port)) {
        fprintf(stderr, "this command is for internal use by the daemon\n");
        return 2;
    }
    fd = dial((uint16_t)port);
    if (fd < 0)
        return fail((uint16_t)port, "cannot connect to", -fd);
    rc = pthread_create(&thread, NULL, copy_input, &fd);
    if (rc != 0)
        return fail((uint16_t)port, "cannot start a thread for", rc);
    rc = copy_output(fd);
    if (rc < 0)
        fail((uint16_t)port, "lost the connection to", -rc);
    _exit(rc < 0 ? 1 : 0); /* the thread may block in read(2) forever */
}
