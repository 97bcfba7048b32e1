/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_state.c - the memory that one worker leaves to the next
 *
 * It is sealed: if a worker shrank it, every later worker would die of SIGBUS. State that is
 * smaller than this binary needs (an older binary created it) is copied into a larger file. Layer:
 * keeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "keeper/keeper_own.h"

/* A descriptor or -errno; unsealed where the kernel has no seals for it. */
static int make_state(size_t bytes)
{
    int fd = memfd_create("holdfast-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return fd;
}

static int copy_state(int from, int to, size_t bytes)
{
    char *source = bytes == 0 ? NULL : mmap(NULL, bytes, PROT_READ, MAP_SHARED, from, 0);
    size_t done = 0;

    if (source == MAP_FAILED)
        return -errno;
    while (done < bytes) {
        ssize_t n = pwrite(to, source + done, bytes - done, (off_t)done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (source != NULL)
        munmap(source, bytes);
    return done == bytes ? 0 : -EIO;
}

int keeper_open_state(struct keeper *k)
{
    size_t bytes = k->options->state_bytes;
    struct stat st = {0};
    int fd, rc = 0;

    if (k->state_fd >= 0 && fstat(k->state_fd, &st) < 0)
        return -errno;
    if (k->state_fd >= 0 && (uint64_t)st.st_size >= bytes)
        return 0;
    fd = make_state(bytes);
    if (fd < 0)
        return fd;
    if (k->state_fd >= 0)
        rc = copy_state(k->state_fd, fd, (size_t)st.st_size);
    /* Events and notes are worth less than the processes, which would end with us. */
    if (rc < 0)
        log_error("cannot copy the shared state of the previous keeper: %s; starting with none",
                  strerror(-rc));
    io_close(&k->state_fd);
    k->state_fd = fd;
    return 0;
}

void keeper_renew_state(struct keeper *k)
{
    int fd = make_state(k->options->state_bytes);

    if (fd < 0)
        return;
    log_error("workers crash as soon as they start: the next one gets fresh shared state; events "
              "and notes are lost, processes and their output are kept");
    io_close(&k->state_fd);
    k->state_fd = fd;
    deposit_state(k);
}
