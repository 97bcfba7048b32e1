/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vault_control.c - the vault's sockets, also when calls fail
 */
#include "test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "vault/vault_store.h"

/* Wraps: sendmsg recvmsg socket bind listen getsockopt accept4 */
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
FAILING(int, bind, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len), -1)
FAILING(int, listen, (int fd, int backlog), (fd, backlog), -1)
FAILING(int, getsockopt, (int fd, int level, int name, void *to, socklen_t *len),
        (fd, level, name, to, len), -1)
FAILING(int, accept4, (int fd, struct sockaddr *a, socklen_t *len, int flags), (fd, a, len, flags),
        -1)

static char name[64];

static void begin(struct vault *v)
{
    log_set_level(LOG_ERROR);
    snprintf(name, sizeof name, "test-%d", (int)getpid());
    REQUIRE(vault_init(v, "/proc/self/exe") == 0);
}

static int open_null(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
}

TEST(a_packet_is_whole_or_refused_and_leaves_no_descriptor)
{
    struct v_message m = {.type = V_PUT, .count = 2, .keys = {1, 2}}, got;
    int pair[2], on = 1;
    int null = open_null();
    int two[2] = {null, null};
    struct fd_message attached;

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    EXPECT_INT(vault_receive(pair[1], &got, &attached), 0);
    FAIL(sendmsg, .error = EINTR, .times = 2);
    EXPECT_INT(vault_send(pair[0], &m, two), 0);
    FAIL(recvmsg, .error = EINTR, .times = 2);
    EXPECT_INT(vault_receive(pair[1], &got, &attached), 1);
    EXPECT_U64(attached.fd_count, 2);
    fd_message_close(&attached);
    FAIL(sendmsg, .error = EPIPE);
    EXPECT_INT(vault_send(pair[0], &m, NULL), -EPIPE);
    FAIL(recvmsg, .error = EIO);
    EXPECT_INT(vault_receive(pair[1], &got, &attached), -EIO);
    /* Too short, too long, and empty. */
    REQUIRE(send(pair[0], "x", 1, 0) == 1);
    EXPECT_INT(vault_receive(pair[1], &got, &attached), -EPROTO);
    m.count = 1;
    {
        struct iovec iov = {&m, 4};
        union {
            struct cmsghdr align;
            char room[CMSG_SPACE(sizeof(int))];
        } control = {.align = {.cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS,
                               .cmsg_len = CMSG_LEN(sizeof(int))}};
        struct msghdr with_fd = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};

        memcpy(CMSG_DATA(&control.align), &null, sizeof null);
        REQUIRE(sendmsg(pair[0], &with_fd, 0) == 4);
        EXPECT_INT(vault_receive(pair[1], &got, &attached), -EPROTO);
    }
    {
        char longer[sizeof m + 1] = {0};

        REQUIRE(send(pair[0], longer, sizeof longer, 0) == (ssize_t)sizeof longer);
        EXPECT_INT(vault_receive(pair[1], &got, &attached), -EPROTO);
    }
    /* A control message of another kind is no descriptor. */
    REQUIRE(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    EXPECT_INT(vault_send(pair[0], &m, NULL), 0);
    EXPECT_INT(vault_receive(pair[1], &got, &attached), 1);
    EXPECT_U64(attached.fd_count, 0);
    close(pair[0]);
    EXPECT_INT(vault_receive(pair[1], &got, &attached), -EPIPE);
    close(pair[1]);
    close(null);
}

/* The kernel says ECONNRESET first if the peer has not read all that it was sent. */
TEST(the_last_words_of_a_peer_that_did_not_listen_count)
{
    struct v_message m = {.type = V_KEEP};
    struct fd_message attached;
    int pair[2];

    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    REQUIRE(vault_send(pair[0], &(struct v_message){.type = V_EXITED}, NULL) == 0);
    REQUIRE(vault_send(pair[1], &m, NULL) == 0);
    close(pair[1]);
    m.type = 0;
    EXPECT_INT(vault_receive(pair[0], &m, &attached), 1);
    EXPECT_INT(m.type, V_KEEP);
    EXPECT_INT(vault_receive(pair[0], &m, &attached), -EPIPE);
    close(pair[0]);
}

TEST(a_vault_that_cannot_listen_serves_without)
{
    char longer[200];
    struct vault v;

    begin(&v);
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    vault_listen(&v, longer);
    EXPECT_INT(v.listen_fd, -1);
    FAIL(socket, .error = EMFILE);
    vault_listen(&v, name);
    EXPECT_INT(v.listen_fd, -1);
    FAIL(bind, .error = EADDRINUSE);
    vault_listen(&v, name);
    EXPECT_INT(v.listen_fd, -1);
    FAIL(listen, .error = EADDRINUSE);
    vault_listen(&v, name);
    EXPECT_INT(v.listen_fd, -1);
    vault_listen(&v, name);
    EXPECT(v.listen_fd >= 0);
    EXPECT_INT(vault_connect(longer), -ENAMETOOLONG);
    FAIL(socket, .error = EMFILE);
    EXPECT_INT(vault_connect(name), -EMFILE);
    EXPECT_INT(vault_connect("nobody-listens-here"), -ECONNREFUSED);
    FAIL(getsockopt, .error = EIO);
    EXPECT_INT(vault_connect(name), -EPERM);
    vault_fini(&v);
}

TEST(so_many_clients_and_no_more)
{
    int fds[VAULT_CLIENTS_MAX + 1];
    struct vault v;
    char byte;

    begin(&v);
    vault_listen(&v, name);
    FAIL(accept4, .error = EMFILE);
    control_accept(&v);
    EXPECT_INT(v.clients[0], -1);
    for (int i = 0; i <= VAULT_CLIENTS_MAX; i++) {
        fds[i] = vault_connect(name);
        REQUIRE(fds[i] >= 0);
        if (i == 0)
            FAIL(getsockopt, .error = EIO, .times = VAULT_CLIENTS_MAX);
        control_accept(&v);
        if (i == 0) {
            EXPECT_INT(v.clients[0], -1); /* nobody knows who that is */
            EXPECT_INT(recv(fds[i], &byte, 1, 0), 0);
            close(fds[i]);
            FAIL_NO_MORE(getsockopt);
            fds[i] = vault_connect(name);
            control_accept(&v);
        }
    }
    EXPECT_INT(recv(fds[VAULT_CLIENTS_MAX], &byte, 1, 0), 0);
    v.launcher_fd = v.clients[3];
    v.launcher = 4711;
    control_broadcast(&v);
    control_close(&v, 2);
    EXPECT_INT(v.launcher, 4711);
    control_close(&v, 3);
    EXPECT(v.launcher == 0 && v.launcher_fd == -1);
    control_broadcast(&v);
    for (int i = 0; i <= VAULT_CLIENTS_MAX; i++)
        close(fds[i]);
    vault_release(&v);
    v.own.channel_fd = -1;
    store_fini(&(struct vault){.own = v.own, .ledger = v.ledger});
    v.own = (struct vault_ends){-1, -1, -1};
    v.ledger = NULL;
    vault_fini(&v);
}

TEST(where_a_vault_is_comes_from_the_environment)
{
    static const char *const bad[] = {
        "", "1", "1,2", "1,2,3,", "x,2,3", "-1,2,3", "1,2,99999999999"};
    struct vault_ends e;

    unsetenv(V_ENV);
    EXPECT(!vault_ends_from_env(&e));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv(V_ENV, bad[i], 1);
        EXPECT(!vault_ends_from_env(&e));
        EXPECT(getenv(V_ENV) == NULL);
    }
    setenv(V_ENV, "4,5,6", 1);
    EXPECT(vault_ends_from_env(&e));
    EXPECT(e.channel_fd == 4 && e.ledger_fd == 5 && e.index_fd == 6);
}
