/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_message.h - packets with descriptors on a unix socket (SCM_RIGHTS)
 *
 * The one sender and receiver of keeper, worker and vault. It allocates nothing. Every descriptor
 * that arrived belongs to the caller, expected or not, so that none leaks. Layer: base.
 */
#ifndef HF_BASE_FD_MESSAGE_H
#define HF_BASE_FD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define FD_MESSAGE_MAX 8 /* descriptors in one packet */

struct fd_message {
    size_t len;
    size_t fd_count;
    bool fds_lost; /* the kernel could not deliver all of them */
    int fds[FD_MESSAGE_MAX];
};

/* 0 or -errno; the descriptors are borrowed. */
int fd_message_send(int fd, const struct iovec *iov, size_t count, const int *fds, size_t fd_count);
/* Of the kernel, and of a kind that poll(2) does not report the end of: memory, and the number of
 * descriptors in flight for all processes of our user together. Send the packet later. */
bool fd_message_is_shortage(int rc);

/*
 * Receives one packet of at most `max` bytes and `fd_max` descriptors, without waiting. 1:
 * received; 0: none available; -EPIPE: the socket is closed; -EMSGSIZE: the packet was longer; or
 * -errno. In case of an error the descriptors are closed. `inherit`: they are not close-on-exec.
 */
int fd_message_receive(int fd, void *to, size_t max, size_t fd_max, bool inherit,
                       struct fd_message *out);
/* Closes the descriptors that the caller has not set to -1. */
void fd_message_close(struct fd_message *m);

#endif
