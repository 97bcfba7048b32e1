/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_channel.c - the keeper's end of the socket to the worker, when calls fail
 */
#include "test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "failing.h"
#include "keeper/channel.h"
#include "keeper/request_check.h"

/* Wraps: socketpair sendmsg recvmsg malloc fcntl */
FAILING(int, socketpair, (int domain, int type, int protocol, int *pair),
        (domain, type, protocol, pair), -1)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(void *, malloc, (size_t size), (size), 0)
FAILING_BY(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1, cmd, NULL)

struct ends {
    struct channel channel;
    int worker;
};

static void begin(struct ends *e)
{
    channel_init(&e->channel);
    REQUIRE(channel_open(&e->channel, &e->worker) == 0);
}

static void end(struct ends *e)
{
    channel_close(&e->channel);
    close(e->worker);
}

/* The next packet at the worker's end, as text. */
static void expect_packet(const struct ends *e, const char *want)
{
    char text[64];
    ssize_t n = recv(e->worker, text, sizeof text, MSG_DONTWAIT);

    test_bytes(text, n < 0 ? 0 : (size_t)n, want, strlen(want), __FILE__, __LINE__, "packet");
}

TEST(a_channel_that_cannot_be_opened_is_told)
{
    struct channel ch;
    int worker;

    channel_init(&ch);
    FAIL(socketpair, .error = EMFILE);
    EXPECT_INT(channel_open(&ch, &worker), -EMFILE);
    EXPECT_INT(ch.fd, -1);
    EXPECT(!channel_wants_write(&ch));
    EXPECT_INT(channel_send(&ch, "x", 1, NULL, 0), 0);
}

TEST(an_interrupted_call_is_made_again)
{
    struct fd_message p;
    struct ends e;
    char room[16];

    begin(&e);
    FAIL(sendmsg, .error = EINTR, .times = 2);
    EXPECT_INT(channel_send(&e.channel, "one", 3, NULL, 0), 0);
    EXPECT_INT(FAILED(sendmsg), 2);
    expect_packet(&e, "one");
    REQUIRE(send(e.worker, "two", 3, 0) == 3);
    FAIL(recvmsg, .error = EINTR, .times = 2);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), 1);
    EXPECT_BYTES(room, p.len, "two");
    end(&e);
}

/* Memory and the number of descriptors under way come back without notice: the packets wait. */
TEST(what_the_kernel_has_no_room_for_is_sent_later_in_order)
{
    static const int passing[] = {ETOOMANYREFS, ENOMEM, ENOBUFS};
    struct ends e;

    begin(&e);
    for (size_t i = 0; i < 3; i++) {
        FAIL(sendmsg, .error = passing[i], .times = 2);
        EXPECT_INT(channel_send(&e.channel, "one", 3, NULL, 0), 0);
        EXPECT(e.channel.stalled && !channel_wants_write(&e.channel));
        EXPECT_INT(channel_send(&e.channel, "two", 3, NULL, 0), 0);
        EXPECT_U64(e.channel.queue.count, 2);
        EXPECT_INT(channel_flush(&e.channel), 0);
        EXPECT(e.channel.stalled);
        EXPECT_INT(channel_flush(&e.channel), 0);
        EXPECT(!e.channel.stalled && e.channel.queue.count == 0);
        expect_packet(&e, "one");
        expect_packet(&e, "two");
    }
    end(&e);
}

TEST(a_full_socket_keeps_what_is_queued)
{
    struct ends e;

    begin(&e);
    FAIL(sendmsg, .error = EAGAIN, .times = 2);
    EXPECT_INT(channel_send(&e.channel, "one", 3, NULL, 0), 0);
    EXPECT(channel_wants_write(&e.channel));
    EXPECT_INT(channel_flush(&e.channel), 0);
    EXPECT_U64(e.channel.queue.count, 1);
    EXPECT_INT(channel_flush(&e.channel), 0);
    EXPECT_U64(e.channel.queue.count, 0);
    expect_packet(&e, "one");
    end(&e);
}

TEST(a_queued_packet_that_cannot_be_sent_is_an_error_and_is_freed_with_the_channel)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct ends e;

    begin(&e);
    FAIL(sendmsg, .error = EAGAIN);
    EXPECT_INT(channel_send(&e.channel, "one", 3, &fd, 1), 0);
    close(fd);
    FAIL(sendmsg, .error = EPIPE);
    EXPECT_INT(channel_flush(&e.channel), -EPIPE);
    EXPECT_U64(e.channel.queue.count, 1);
    end(&e);
}

TEST(a_packet_that_cannot_be_queued_is_an_error)
{
    int fds[2] = {open("/dev/null", O_RDONLY | O_CLOEXEC), -1};
    struct ends e;

    begin(&e);
    fds[1] = fds[0];
    FAIL(sendmsg, .error = EAGAIN, .times = 3);
    FAIL(malloc, .error = ENOMEM);
    EXPECT_INT(channel_send(&e.channel, "one", 3, NULL, 0), -ENOMEM);
    /* The second descriptor finds no place: the copy of the first does not stay behind. */
    FAIL(fcntl, .error = EMFILE, .only = F_DUPFD_CLOEXEC, .after = 1);
    EXPECT_INT(channel_send(&e.channel, "one", 3, fds, 2), -EMFILE);
    EXPECT_U64(e.channel.queue.count, 0);
    close(fds[0]);
    end(&e);
}

TEST(a_queue_has_its_bound)
{
    struct ends e;

    begin(&e);
    FAIL(sendmsg, .error = EAGAIN);
    for (size_t i = 0; i < CHANNEL_QUEUE_MAX; i++)
        EXPECT_INT(channel_send(&e.channel, "x", 1, NULL, 0), 0);
    EXPECT_INT(channel_send(&e.channel, "x", 1, NULL, 0), -ENOBUFS);
    end(&e);
}

static void send_fds(int to, const void *bytes, size_t len, size_t count)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, len};
    int fds[FD_MESSAGE_MAX];

    for (size_t i = 0; i < count; i++)
        fds[i] = to;
    REQUIRE(fd_message_send(to, &iov, 1, fds, count) == 0);
}

TEST(a_packet_with_too_many_descriptors_or_bytes_is_refused_and_leaves_none)
{
    struct fd_message p;
    struct ends e;
    char room[8];

    begin(&e);
    send_fds(e.worker, "x", 1, CHANNEL_FDS_MAX + 1);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), -EMSGSIZE);
    EXPECT_U64(p.fd_count, 0);
    send_fds(e.worker, "123456789", 9, 1);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), -EMSGSIZE);
    EXPECT_U64(p.fd_count, 0);
    end(&e);
}

/* Fewer descriptors than places, and some lost: it is our own table that is full. */
TEST(descriptors_that_find_no_place_in_our_table_are_told)
{
    struct rlimit was, low;
    struct fd_message p;
    struct ends e;
    char room[8];
    int next;

    begin(&e);
    send_fds(e.worker, "x", 1, 1);
    next = dup(e.worker);
    close(next);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &was) == 0);
    low = was;
    low.rlim_cur = (rlim_t)next;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), 1);
    EXPECT(p.fds_lost && p.fd_count == 0);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &was) == 0);
    end(&e);
}

TEST(a_control_message_of_another_kind_is_passed_over)
{
    struct fd_message p;
    struct ends e;
    char room[8];
    int on = 1;

    begin(&e);
    REQUIRE(setsockopt(e.channel.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    REQUIRE(send(e.worker, "x", 1, 0) == 1);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), 1);
    EXPECT(p.fd_count == 0 && !p.fds_lost);
    end(&e);
}

TEST(an_empty_packet_and_a_closed_channel_are_the_end)
{
    struct fd_message p;
    struct ends e;
    char room[8];

    begin(&e);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), 0);
    send_fds(e.worker, "", 0, 1);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), -EPIPE);
    FAIL(recvmsg, .error = ENOTCONN);
    EXPECT_INT(channel_receive(&e.channel, room, sizeof room, &p), -ENOTCONN);
    end(&e);
}

/* The kernel says ECONNRESET first if the peer has not read all that it was sent. */
TEST(the_last_words_of_a_peer_that_did_not_listen_count)
{
    struct fd_message p;
    struct ends e;
    char text[8];

    begin(&e);
    EXPECT_INT(channel_send(&e.channel, "unread", 6, NULL, 0), 0);
    REQUIRE(send(e.worker, "last", 4, 0) == 4);
    close(e.worker);
    EXPECT_INT(channel_receive(&e.channel, text, sizeof text, &p), 1);
    EXPECT_BYTES(text, p.len, "last");
    EXPECT_INT(channel_receive(&e.channel, text, sizeof text, &p), -EPIPE);
    e.worker = -1;
    end(&e);
}
