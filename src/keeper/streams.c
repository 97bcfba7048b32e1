/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c - the terminal or the pipes of a new process. Layer: keeper.
 */
#include "keeper/streams.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"

static const struct streams streams_none = {-1, -1, -1, -1, -1, {-1, -1, -1, -1}};

void streams_take_child(struct streams *s, int out[STREAMS_CHILD])
{
    /* A terminal is one descriptor three times. The null input is stdin_fd's absence. */
    out[0] = s->tty >= 0 || s->stdin_fd >= 0 ? s->child[0] : -1;
    out[1] = s->tty < 0 ? s->child[1] : -1;
    out[2] = s->tty < 0 ? s->child[2] : -1;
    out[3] = s->child[3];
    for (int i = 0; i < STREAMS_CHILD; i++)
        s->child[i] = -1;
}

void streams_close(struct streams *s)
{
    int child[STREAMS_CHILD];

    streams_take_child(s, child);
    for (int i = 0; i < STREAMS_CHILD; i++)
        io_close(&child[i]);
    io_close(&s->tty);
    io_close(&s->stdin_fd);
    io_close(&s->stdout_fd);
    io_close(&s->stderr_fd);
    io_close(&s->side);
}

int streams_open_null(void)
{
    int pair[2];
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        return fd;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -errno;
    close(pair[1]);
    return pair[0];
}

static int pty_open_master(void)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = open("/dev/ptmx", flags);

    if (fd < 0 && errno == ENOENT)
        fd = open("/dev/pts/ptmx", flags);
    return fd < 0 ? -errno : fd;
}

/* The kernel can open the other end without a path; older ones need /dev/pts. */
static int pty_open_slave(int master)
{
    int fd = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    char path[32];
    unsigned number;

    if (fd >= 0)
        return fd;
    if (ioctl(master, TIOCGPTN, &number) < 0)
        return -errno;
    snprintf(path, sizeof path, "/dev/pts/%u", number);
    fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens both ends; erasing works by whole UTF-8 characters. 0 or -errno. */
static int pty_open(int *master, int *slave)
{
    struct termios mode = {0};
    int unlock = 0, rc = 0;

    *slave = -1;
    *master = pty_open_master();
    if (*master < 0)
        return *master;
    if (ioctl(*master, TIOCSPTLCK, &unlock) < 0)
        rc = -errno;
    if (rc == 0)
        rc = *slave = pty_open_slave(*master);
    if (rc >= 0 && ioctl(*slave, TCGETS, &mode) < 0)
        rc = -errno;
    mode.c_iflag |= IUTF8;
    if (rc >= 0 && ioctl(*slave, TCSETS, &mode) < 0)
        rc = -errno;
    if (rc >= 0)
        return 0;
    io_close(master);
    io_close(slave);
    return rc;
}

/* --- created ahead ----------------------------------------------------------- */

void spare_streams_init(struct spares *s)
{
    *s = (struct spares){.master = -1, .slave = -1};
}

void spare_streams_fini(struct spares *s)
{
    while (s->pipe_count > 0) {
        s->pipe_count--;
        close(s->pipes[s->pipe_count][0]);
        close(s->pipes[s->pipe_count][1]);
    }
    io_close(&s->master);
    io_close(&s->slave);
}

void spare_streams_fill(struct spares *s)
{
    while (s->pipe_count < SPARE_PIPES && pipe2(s->pipes[s->pipe_count], O_CLOEXEC) == 0)
        s->pipe_count++;
    if (s->want_tty && s->master < 0)
        (void)pty_open(&s->master, &s->slave);
}

int spare_streams_take_pipe(struct spares *s, int pair[2])
{
    if (s == NULL || s->pipe_count == 0)
        return pipe2(pair, O_CLOEXEC) < 0 ? -errno : 0;
    s->pipe_count--;
    pair[0] = s->pipes[s->pipe_count][0];
    pair[1] = s->pipes[s->pipe_count][1];
    return 0;
}

static int spares_take_pty(struct spares *s, int *master, int *slave)
{
    if (s != NULL)
        s->want_tty = true;
    if (s == NULL || s->master < 0)
        return pty_open(master, slave);
    *master = s->master;
    *slave = s->slave;
    s->master = s->slave = -1;
    return 0;
}

/* --- one process's -------------------------------------------------------- */

static int streams_open_pty(struct streams *s, const struct k_spawn *m, struct spares *spares)
{
    struct winsize size = {.ws_row = m->rows, .ws_col = m->cols};
    int slave, rc;

    rc = spares_take_pty(spares, &s->tty, &slave);
    if (rc < 0)
        return rc;
    s->child[0] = s->child[1] = s->child[2] = slave;
    /* Set before the program reads it. */
    if (ioctl(slave, TIOCSWINSZ, &size) < 0)
        return -errno;
    /* Allows a program of that user to open its terminal by name. */
    if (m->set_user)
        (void)!fchown(slave, m->uid, (gid_t)-1);
    return 0;
}

/* `mine` is 0 for the reading end, 1 for the writing end. */
static int pipe_open(int mine, int *our_end, int *child_end, const struct k_spawn *m,
                     struct spares *spares)
{
    int pair[2];
    int rc = spare_streams_take_pipe(spares, pair);

    if (rc < 0)
        return rc;
    *our_end = pair[mine];
    *child_end = pair[!mine];
    /* Opening a pipe by name, as /dev/stdout does, requires its owner. */
    if (m->set_user)
        (void)!fchown(pair[0], m->uid, m->gid);
    return fcntl(pair[mine], F_SETFL, O_NONBLOCK | (mine ? O_WRONLY : O_RDONLY)) < 0 ? -errno : 0;
}

static int streams_open_pipes(struct streams *s, const struct k_spawn *m, int null_fd,
                              struct spares *spares)
{
    int rc = 0;

    if (m->stdin_mode == K_STDIN_PIPE)
        rc = pipe_open(1, &s->stdin_fd, &s->child[0], m, spares);
    else
        s->child[0] = null_fd;
    if (rc == 0)
        rc = pipe_open(0, &s->stdout_fd, &s->child[1], m, spares);
    if (rc == 0)
        rc = pipe_open(0, &s->stderr_fd, &s->child[2], m, spares);
    return rc;
}

/* A stream in both directions; our end never blocks. */
static int streams_open_side(struct streams *s)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    s->side = pair[0];
    s->child[3] = pair[1];
    return io_set_nonblocking(pair[0], true);
}

int streams_open(struct streams *s, const struct k_spawn *m, int null_fd, struct spares *spares)
{
    int rc;

    *s = streams_none;
    rc = m->pty ? streams_open_pty(s, m, spares) : streams_open_pipes(s, m, null_fd, spares);
    if (rc == 0 && m->side)
        rc = streams_open_side(s);
    if (rc < 0)
        streams_close(s);
    return rc;
}
