/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_sink.c - non-blocking writes to standard output and error. Layer: cli.
 */
#include "cli/client/output_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define SAFE_BYTES 4096 /* PIPE_BUF: a pipe that poll(2) reports writable accepts this much */
#define FILE_BYTES (1024 * 1024)

void sink_open(struct sink *s, int fd)
{
    char path[32];
    struct stat st;
    int own;

    *s = (struct sink){.fd = fd, .most = SAFE_BYTES};
    if (fstat(fd, &st) < 0)
        return;
    if (S_ISREG(st.st_mode)) {
        s->most = FILE_BYTES;
        return;
    }
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own < 0)
        return;
    s->fd = own;
    s->reopened = true;
    s->most = FILE_BYTES;
}

void sink_close(struct sink *s)
{
    if (s->reopened)
        io_close(&s->fd);
    buf_fini(&s->buf);
}

void sink_put(struct sink *s, const void *bytes, size_t len)
{
    if (s->failed == 0)
        buf_put(&s->buf, bytes, len);
}

static int is_writable(const struct sink *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLOUT};

    return poll(&p, 1, 0) > 0;
}

int sink_flush(struct sink *s)
{
    while (s->buf.len > 0) {
        size_t n = s->buf.len < s->most ? s->buf.len : s->most;
        ssize_t done;

        if (s->most == SAFE_BYTES && !is_writable(s))
            return -EAGAIN;
        done = hf_write(s->fd, buf_data(&s->buf), n);
        if (done == -EAGAIN)
            return -EAGAIN;
        if (done < 0) {
            s->failed = (int)done;
            buf_clear(&s->buf);
            return s->failed;
        }
        buf_drop(&s->buf, (size_t)done);
    }
    return 0;
}

int sink_drain(struct sink *s)
{
    int rc;

    while ((rc = sink_flush(s)) == -EAGAIN) {
        struct pollfd p = {.fd = s->fd, .events = POLLOUT};

        poll(&p, 1, -1);
    }
    return rc;
}
