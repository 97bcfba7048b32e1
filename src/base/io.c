/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io.c - descriptors, and the count of bytes moved by read(2) and write(2). Layer: base.
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

static struct io_count counted;

ssize_t hf_read(int fd, void *to, size_t len)
{
    ssize_t n;

    do
        n = read(fd, to, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    counted.read_bytes += (uint64_t)n;
    return n;
}

ssize_t hf_write(int fd, const void *from, size_t len)
{
    ssize_t n;

    do
        n = write(fd, from, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    counted.written_bytes += (uint64_t)n;
    return n;
}

struct io_count io_counted(void)
{
    return counted;
}

/* Finds "name: NUMBER\n" in the text of /proc/PID/io. */
static bool io_field(const char *text, const char *name, uint64_t *out)
{
    const char *at = strstr(text, name);
    char *end;

    if (at == NULL)
        return false;
    errno = 0;
    *out = strtoull(at + strlen(name), &end, 10);
    return errno == 0 && *end == '\n';
}

/* Reads with one call and sets *len, because this read is counted too. */
static bool io_parse(int fd, struct io_count *out, size_t *len)
{
    char text[512];
    ssize_t n = hf_read(fd, text, sizeof text - 1);

    if (n <= 0)
        return false;
    text[n] = '\0';
    *len = (size_t)n;
    return io_field(text, "rchar: ", &out->read_bytes) &&
           io_field(text, "wchar: ", &out->written_bytes);
}

bool io_count_sync(void)
{
    hf_autoclose int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    struct io_count now;
    size_t len;

    if (fd < 0 || !io_parse(fd, &now, &len))
        return false;
    /* The kernel reported its count before adding this very read. */
    now.read_bytes += len;
    counted = now;
    return true;
}

/*
 * Reading the file requires permission to trace the process. Without CAP_SYS_PTRACE that takes the
 * file system ids of the process; they change for this thread only. On such a change the kernel
 * makes us undumpable and clears our parent-death signal, and a worker forked later would inherit
 * the first: so both are restored.
 */
static bool io_parse_as(int fd, uid_t uid, gid_t gid, struct io_count *out, size_t *len)
{
    int dumpable = prctl(PR_GET_DUMPABLE), death_signal = 0;
    bool ok;

    prctl(PR_GET_PDEATHSIG, &death_signal);
    setfsgid(gid);
    setfsuid(uid);
    ok = io_parse(fd, out, len);
    setfsuid(geteuid());
    setfsgid(getegid());
    if (dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1);
    if (death_signal != 0)
        prctl(PR_SET_PDEATHSIG, death_signal);
    return ok;
}

/* The file of a dead process belongs to root, so it is opened with our own ids. */
bool io_count_of(pid_t pid, uid_t uid, gid_t gid, struct io_count *out)
{
    hf_autoclose int fd = -1;
    struct io_count now;
    char path[40];
    size_t len;

    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (!io_parse(fd, &now, &len) && !io_parse_as(fd, uid, gid, &now, &len))
        return false;
    *out = now;
    return true;
}

int io_set_nonblocking(int fd, bool on)
{
    int flags = fcntl(fd, F_GETFL);
    int want;

    if (flags < 0)
        return -errno;
    want = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    if (want != flags && fcntl(fd, F_SETFL, want) < 0)
        return -errno;
    return 0;
}

/* An interrupted poll is not a failure, so it does not sleep. */
int io_poll(struct pollfd *fds, size_t count, int timeout_ms)
{
    static const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    int n = poll(fds, count, timeout_ms);

    if (n < 0 && errno != EINTR)
        (void)nanosleep(&pause, NULL);
    return n;
}

/* EINTR from close(2) is not a failure: Linux has released the descriptor by then. */
void io_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Reads one byte more than allowed, in order to detect "too large". */
int io_read_file(const char *path, size_t max, struct buf *out)
{
    hf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t start = out->len, chunk = max < 4096 ? max + 1 : 4096, room = 0;

    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n;

        /* Only when it is full: growing leaves a copy behind, and this may be a secret. */
        if (room == 0 && buf_reserve(out, room = chunk) < 0)
            return -ENOMEM;
        n = hf_read(fd, buf_data(out) + out->len, room);
        if (n < 0) {
            out->len = start;
            return (int)n;
        }
        if (n == 0)
            return 0;
        out->len += (size_t)n;
        room -= (size_t)n;
        if (out->len - start > max) {
            out->len = start;
            return -EFBIG;
        }
    }
}

/* Another program may have left our standard output non-blocking. False: no room in time. */
static bool wait_writable(int fd)
{
    const uint64_t until = clock_mono_ms() + LIMIT_WRITE_WAIT_MS;
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    for (uint64_t now; (now = clock_mono_ms()) < until;) {
        if (io_poll(&p, 1, (int)(until - now)) > 0)
            return true;
    }
    return false;
}

int io_write_all(int fd, const void *from, size_t len)
{
    const char *p = from;

    while (len > 0) {
        ssize_t n = hf_write(fd, p, len);

        if (n == -EAGAIN && wait_writable(fd))
            continue;
        if (n < 0)
            return (int)n;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}
