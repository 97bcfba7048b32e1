/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_keeper_channel.c - the worker's end of the socket to the keeper
 */
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "engine/spawn/keeper_channel.h"
#include "failing.h"

/* Wraps: sendmsg malloc */
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(void *, malloc, (size_t size), (size), 0)

struct told {
    int answers, ends;
    uint32_t number;
    struct loop *loop;
};

static void on_answer(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct told *t = arg;

    (void)fds, (void)fd_count;
    if (packet == NULL) {
        t->ends++;
        return;
    }
    EXPECT_U64(len, sizeof(struct k_signaled));
    t->number = ((const struct k_signaled *)packet)->req;
    t->answers++;
    loop_stop(t->loop);
}

static const struct keeper_channel_ops no_ops = {0};

/* What was kept for an answer would be lost with the worker otherwise. */
TEST(a_request_is_answered_or_told_that_it_will_not_be)
{
    struct told first = {0}, second = {0};
    struct k_signal m = {.type = K_SIGNAL, .signum = 15};
    struct k_signaled answer = {.type = K_SIGNALED};
    struct keeper_channel *ch;
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    first.loop = second.loop = loop_new();
    ch = keeper_channel_new(first.loop, pair[0], &no_ops, NULL);
    EXPECT_INT(keeper_channel_send(ch, &m, sizeof m, NULL, 0, NULL, 0, on_answer, &first), 0);
    REQUIRE(recv(pair[1], &m, sizeof m, 0) == sizeof m);
    answer.req = m.req;
    EXPECT_INT(keeper_channel_send(ch, &m, sizeof m, NULL, 0, NULL, 0, on_answer, &second), 0);
    REQUIRE(send(pair[1], &answer, sizeof answer, 0) == sizeof answer);
    loop_run(first.loop);
    EXPECT_INT(first.answers, 1);
    EXPECT_U64(first.number, answer.req);
    EXPECT_INT(second.answers, 0);
    keeper_channel_free(ch);
    EXPECT_INT(first.ends, 0);
    EXPECT_INT(second.ends, 1);
    loop_free(first.loop);
    close(pair[0]);
    close(pair[1]);
}

/* What goes later goes together, and what ends together in one packet. */
TEST(closes_of_one_process_are_one_packet)
{
    struct told t = {0};
    struct k_close a = {.type = K_CLOSE, .entry = 7, .which = K_FD_STDOUT}, got;
    struct keeper_channel *ch;
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    t.loop = loop_new();
    ch = keeper_channel_new(t.loop, pair[0], &no_ops, NULL);
    keeper_channel_send_later(ch, &a, sizeof a);
    a.which = K_FD_STDERR;
    keeper_channel_send_later(ch, &a, sizeof a);
    for (uint32_t i = 0; i < CHANNEL_LATER_MAX; i++) { /* of others, until they must go */
        a.entry = 100 + i;
        keeper_channel_send_later(ch, &a, sizeof a);
    }
    REQUIRE(recv(pair[1], &got, sizeof got, 0) == sizeof got);
    EXPECT_U64(got.entry, 7);
    EXPECT_U64(got.which, K_FD_STDOUT | K_FD_STDERR);
    REQUIRE(recv(pair[1], &got, sizeof got, 0) == sizeof got);
    EXPECT_U64(got.entry, 100);
    EXPECT_U64(got.which, K_FD_STDERR);
    keeper_channel_free(ch);
    loop_free(t.loop);
    close(pair[0]);
    close(pair[1]);
}

/* A close that is lost would leave the process's input open for ever. */
TEST(without_memory_for_a_packet_the_next_worker_sends_it)
{
    struct k_close m = {.type = K_CLOSE, .entry = 7, .which = K_FD_STDIN};
    struct loop *loop = loop_new();
    struct keeper_channel *ch;
    int pair[2], status;
    pid_t pid;

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    ch = keeper_channel_new(loop, pair[0], &no_ops, NULL);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        FAIL(sendmsg, .error = EAGAIN);
        FAIL(malloc, .error = ENOMEM);
        keeper_channel_send(ch, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
        _exit(0);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    keeper_channel_free(ch);
    loop_free(loop);
    close(pair[0]);
    close(pair[1]);
}
