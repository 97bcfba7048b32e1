/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_queue.c - packets with descriptors that a full socket did not accept. Layer: base.
 */
#include "base/fd_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

struct fd_packet {
    struct list link;
    int fds[FD_MESSAGE_MAX];
    size_t fd_count;
    size_t len;
    char bytes[];
};

void fd_queue_init(struct fd_queue *q, size_t max)
{
    list_init(&q->packets);
    q->count = 0;
    q->max = max;
}

static void packet_free(struct fd_packet *p)
{
    for (size_t i = 0; i < p->fd_count; i++)
        io_close(&p->fds[i]);
    free(p);
}

static struct fd_packet *oldest(struct fd_queue *q)
{
    return list_entry(q->packets.next, struct fd_packet, link);
}

void fd_queue_drop_oldest(struct fd_queue *q)
{
    struct fd_packet *p = oldest(q);

    list_remove(&p->link);
    q->count--;
    packet_free(p);
}

void fd_queue_clear(struct fd_queue *q)
{
    while (!list_is_empty(&q->packets))
        fd_queue_drop_oldest(q);
}

static struct fd_packet *packet_new(const struct iovec *iov, size_t count)
{
    struct fd_packet *p;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += iov[i].iov_len;
    p = malloc(sizeof *p + len);
    if (p == NULL)
        return NULL;
    p->len = p->fd_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (iov[i].iov_len > 0)
            memcpy(p->bytes + p->len, iov[i].iov_base, iov[i].iov_len);
        p->len += iov[i].iov_len;
    }
    return p;
}

/* Not below 3: a descriptor there would be taken for a standard stream. */
static int packet_copy_fds(struct fd_packet *p, const int *fds, size_t fd_count)
{
    for (p->fd_count = 0; p->fd_count < fd_count; p->fd_count++) {
        p->fds[p->fd_count] = fcntl(fds[p->fd_count], F_DUPFD_CLOEXEC, 3);
        if (p->fds[p->fd_count] < 0)
            return -errno;
    }
    return 0;
}

int fd_queue_put(struct fd_queue *q, const struct iovec *iov, size_t count, const int *fds,
                 size_t fd_count)
{
    struct fd_packet *p;
    int rc;

    if (q->count >= q->max)
        return -ENOBUFS;
    p = packet_new(iov, count);
    if (p == NULL)
        return -ENOMEM;
    rc = packet_copy_fds(p, fds, fd_count);
    if (rc < 0) {
        packet_free(p);
        return rc;
    }
    list_append(&q->packets, &p->link);
    q->count++;
    return 0;
}

int fd_queue_send(struct fd_queue *q, int fd)
{
    while (!list_is_empty(&q->packets)) {
        struct fd_packet *p = oldest(q);
        struct iovec iov = {p->bytes, p->len};
        int rc = fd_message_send(fd, &iov, 1, p->fds, p->fd_count);

        if (rc < 0)
            return rc;
        fd_queue_drop_oldest(q);
    }
    return 0;
}
