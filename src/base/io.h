/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io.h - descriptors, and the count of bytes moved by read(2) and write(2)
 *
 * The kernel counts what a process has read and written (rchar and wchar in /proc/PID/io). After a
 * worker was killed inside read(2) or write(2), that count shows exactly how many bytes moved,
 * provided that every other read and write is known. So files, terminals and pipes use hf_read()
 * and hf_write(); sockets use recv/sendmsg, which the kernel leaves out of that count. Layer: base.
 */
#ifndef HF_BASE_IO_H
#define HF_BASE_IO_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct io_count {
    uint64_t read_bytes, written_bytes;
};

/* As read(2) and write(2), but -errno on failure, EINTR retried, and counted. */
ssize_t hf_read(int fd, void *to, size_t len);
ssize_t hf_write(int fd, const void *from, size_t len);
struct io_count io_counted(void); /* by this process so far */
/* Sets the count from /proc/self/io; false if this kernel does not provide it. Must be called
 * before the process changes its user, after which it may no longer read the file. */
bool io_count_sync(void);
/*
 * What the kernel counted for a (dead, unreaped) process. `uid`/`gid`: the process's user and
 * group; the file system ids are switched for the read and then restored. Without CAP_SYS_PTRACE
 * this needs a process that died dumpable, which one that changed its user is only by
 * PR_SET_DUMPABLE.
 */
bool io_count_of(pid_t pid, uid_t uid, gid_t gid, struct io_count *out);

int io_set_nonblocking(int fd, bool on); /* 0 or -errno */
/* As poll(2). A persistent failure (no memory) costs a short sleep, so that callers do not spin. */
int io_poll(struct pollfd *fds, size_t count, int timeout_ms);
void io_close(int *fd); /* closes if >= 0, sets -1 */
/* Reads a whole small file into *out, at most max bytes (-EFBIG beyond); counted. */
int io_read_file(const char *path, size_t max, struct buf *out);
/* 0 or -errno; -EAGAIN: a non-blocking descriptor had no room for LIMIT_WRITE_WAIT_MS. */
int io_write_all(int fd, const void *from, size_t len);

static inline void io_autoclose_fn(int *fd)
{
    io_close(fd);
}
#define hf_autoclose __attribute__((cleanup(io_autoclose_fn)))

#endif
