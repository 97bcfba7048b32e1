/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - the floor: the least a program must do between a terminal or a
 * pair of pipes and one client on a loopback socket
 *
 *   relay pty|spin|pipe COMMAND [ARG]...
 *
 * Prints its port, takes one client, starts the command and moves bytes both
 * ways: one thread, epoll, no framing, no history, no second client, no
 * parsing. Whatever the daemon does beyond this is what its ratio shows. With "spin" it
 * does not sleep once a terminal's flood has begun, and sends large pieces: the fastest
 * that anything between a terminal and a client can be on this machine.
 */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_BYTES (1024 * 1024)
#define BUFFER_BYTES (256 * 1024)
#define SPIN_BYTES (128 * 1024) /* sent at once */
#define SPIN_LOOKS 5000         /* about a millisecond: then the flood is over */

struct relay {
    int loop;
    int sock;
    int out; /* what the command writes is read here */
    int in;  /* what it reads is written here; the same for a terminal */
    pid_t pid;
    bool spins;
    size_t from; /* [from, to) of the buffer is still to be sent */
    size_t to;
    char buf[BUFFER_BYTES];
};

static void want(struct relay *r, int op, int fd, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.fd = fd};

    if (epoll_ctl(r->loop, op, fd, &ev) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void start_on_pipes(struct relay *r, const char *const argv[])
{
    int to[2];
    int from[2];

    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        die("pipe: %s", strerror(errno));
    if (fcntl(from[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
        die("F_SETPIPE_SZ: %s", strerror(errno));
    r->pid = child_start(argv, to[0], from[1], 2);
    close(to[0]);
    close(from[1]);
    r->in = to[1];
    r->out = from[0];
}

static void start(struct relay *r, const char *kind, const char *const argv[])
{
    r->spins = strcmp(kind, "spin") == 0;
    if (r->spins || strcmp(kind, "pty") == 0) {
        r->pid = child_start_pty(argv, &r->out);
        r->in = r->out;
    } else {
        start_on_pipes(r, argv);
    }
    fd_set_nonblocking(r->out);
    want(r, EPOLL_CTL_ADD, r->out, EPOLLIN);
    want(r, EPOLL_CTL_ADD, r->sock, EPOLLIN);
}

/* The command's end: what is unsent is sent, then both are done. */
static void finish(struct relay *r)
{
    fcntl(r->sock, F_SETFL, 0);
    if (r->to > r->from)
        fd_write_all(r->sock, r->buf + r->from, r->to - r->from);
    shutdown(r->sock, SHUT_RDWR);
    child_end(r->pid, 0);
    exit(0);
}

static void send_rest(struct relay *r)
{
    while (r->from < r->to) {
        ssize_t n = write(r->sock, r->buf + r->from, r->to - r->from);

        if (n < 0 && errno == EAGAIN) {
            /* The client is slower: read nothing more until it has room. */
            want(r, EPOLL_CTL_MOD, r->sock, EPOLLIN | EPOLLOUT);
            want(r, EPOLL_CTL_MOD, r->out, 0);
            return;
        }
        if (n <= 0)
            die("relay: client: %s", strerror(errno));
        r->from += (size_t)n;
    }
}

static void on_output(struct relay *r)
{
    ssize_t n;

    do {
        n = read(r->out, r->buf, sizeof(r->buf));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            finish(r); /* end of file, or EIO from a terminal */
        r->from = 0;
        r->to = (size_t)n;
        send_rest(r);
    } while (n == sizeof(r->buf) && r->from == r->to);
}

/* Never asks read(2) before something is there: that would be a sleep (see term.c). */
static void on_flood(struct relay *r)
{
    while (r->from == r->to) {
        int there = 0;
        ssize_t n;

        r->from = r->to = 0;
        while (r->to < SPIN_BYTES) {
            for (int i = 0; i < SPIN_LOOKS && there == 0; i++)
                ioctl(r->out, FIONREAD, &there);
            n = read(r->out, r->buf + r->to, sizeof(r->buf) - r->to);
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                finish(r);
            if (n < 0)
                break;
            r->to += (size_t)n;
            there = 0;
        }
        if (r->to == 0)
            return;
        send_rest(r);
    }
}

static void on_room(struct relay *r)
{
    send_rest(r);
    if (r->from < r->to)
        return;
    want(r, EPOLL_CTL_MOD, r->sock, EPOLLIN);
    want(r, EPOLL_CTL_MOD, r->out, EPOLLIN);
}

static void on_input(struct relay *r)
{
    char keys[4096];
    ssize_t n = read(r->sock, keys, sizeof(keys));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        child_end(r->pid, SIGKILL);
        exit(0);
    }
    fd_write_all(r->in, keys, (size_t)n);
}

static void turn(struct relay *r)
{
    struct epoll_event ev[4];
    int n = epoll_wait(r->loop, ev, 4, -1);

    for (int i = 0; i < n; i++) {
        if (ev[i].data.fd == r->out) {
            r->spins ? on_flood(r) : on_output(r);
            continue;
        }
        if (ev[i].events & EPOLLOUT)
            on_room(r);
        if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            on_input(r);
    }
}

int main(int argc, char **argv)
{
    static struct relay r;
    int port;
    int listener;

    if (argc < 3)
        die("usage: relay pty|spin|pipe COMMAND [ARG]...");
    children_init();
    listener = tcp_listen(&port);
    printf("%d\n", port);
    fflush(stdout);
    r.sock = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (r.sock < 0)
        die("accept: %s", strerror(errno));
    close(listener);
    tcp_set_nodelay(r.sock);
    r.loop = epoll_create1(EPOLL_CLOEXEC);
    start(&r, argv[1], (const char *const *)argv + 2);
    for (;;)
        turn(&r);
}
