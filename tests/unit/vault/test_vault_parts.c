/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vault_parts.c - the vault's store, ledger and sockets, and its guard, when calls fail
 */
#include "test.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "vault/vault_store.h"
#include "vault/zombie.h"

/* Wraps: memfd_create ftruncate pwrite pread mmap fstat fcntl open write sendmsg recvmsg socket bind */
/* Wraps: listen connect getsockopt accept4 getrlimit waitpid syscall */
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(int, ftruncate, (int fd, off_t size), (fd, size), -1)
FAILING(ssize_t, pwrite, (int fd, const void *bytes, size_t len, off_t at), (fd, bytes, len, at),
        -1)
FAILING(ssize_t, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at), -1)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)
FAILING_BY(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1, cmd, NULL)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), -1)
FAILING(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1)
FAILING(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
FAILING(int, bind, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len), -1)
FAILING(int, listen, (int fd, int backlog), (fd, backlog), -1)
FAILING(int, connect, (int fd, const struct sockaddr *a, socklen_t len), (fd, a, len), -1)
FAILING(int, getsockopt, (int fd, int level, int name, void *to, socklen_t *len),
        (fd, level, name, to, len), -1)
FAILING(int, accept4, (int fd, struct sockaddr *a, socklen_t *len, int flags), (fd, a, len, flags),
        -1)
FAILING(int, getrlimit, (int which, struct rlimit *to), (which, to), -1)
FAILING(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options), -1)
FAILING_BY(long, syscall, (long nr, long a, long b, long c, long d, long e, long f),
           (nr, a, b, c, d, e, f), -1, nr, NULL)

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

/* --- the ledger ----------------------------------------------------------- */

TEST(a_ledger_that_cannot_be_made_is_an_error)
{
    FAIL(memfd_create, .error = EMFILE);
    EXPECT_INT(ledger_create(), -EMFILE);
    FAIL(ftruncate, .error = ENOMEM);
    EXPECT_INT(ledger_create(), -ENOMEM);
    FAIL(pwrite, .error = ENOSPC);
    EXPECT_INT(ledger_create(), -ENOSPC);
}

TEST(only_a_ledger_of_this_version_is_mapped)
{
    int fd = ledger_create();
    struct ledger *l = ledger_map(fd);

    REQUIRE(l != NULL);
    FAIL(fstat, .error = EIO);
    EXPECT(ledger_map(fd) == NULL);
    FAIL(mmap, .error = ENOMEM);
    EXPECT(ledger_map(fd) == NULL);
    l->version++;
    EXPECT(ledger_map(fd) == NULL);
    l->version--;
    l->magic++;
    EXPECT(ledger_map(fd) == NULL);
    ledger_unmap(l);
    ledger_unmap(NULL);
    close(fd);
    fd = memfd_create("short", MFD_CLOEXEC);
    EXPECT(ledger_map(fd) == NULL);
    close(fd);
}

TEST(rows_are_used_again_and_come_to_an_end)
{
    int fd = ledger_create();
    struct ledger *l = ledger_map(fd);
    struct ledger_row *r;

    REQUIRE(l != NULL);
    for (uint32_t i = 0; i < 3; i++) {
        r = ledger_find_free(l);
        REQUIRE(r != NULL);
        EXPECT_U64(ledger_index(l, r), i);
        row_set_state(r, ROW_RUNNING);
    }
    ledger_free(l, &l->rows[2]);
    ledger_free(l, &l->rows[1]);
    EXPECT_U64(ledger_index(l, ledger_find_free(l)), 1);
    row_set_state(&l->rows[1], ROW_EXITED);
    EXPECT_U64(ledger_index(l, ledger_find_free(l)), 2);
    EXPECT_U64(ledger_count(l, ROW_RUNNING), 1);
    EXPECT_U64(ledger_count(l, ROW_EXITED), 1);
    for (uint32_t i = 0; i < LEDGER_ROWS; i++)
        row_set_state(&l->rows[i], ROW_RUNNING);
    l->rows_used = UINT32_MAX; /* whatever a dying keeper wrote there */
    EXPECT(ledger_find_free(l) == NULL);
    EXPECT_U64(ledger_count(l, ROW_RUNNING), LEDGER_ROWS);
    ledger_unmap(l);
    close(fd);
}

/* --- the store ------------------------------------------------------------ */

TEST(a_vault_that_cannot_be_made_is_an_error)
{
    struct vault v;

    FAIL(memfd_create, .error = EMFILE);
    EXPECT_INT(vault_init(&v, "/nonexistent"), -EMFILE);
    vault_fini(&v);
    FAIL(memfd_create, .error = EMFILE, .after = 1);
    EXPECT_INT(vault_init(&v, "/nonexistent"), -EMFILE);
    vault_fini(&v);
    FAIL(ftruncate, .error = ENOMEM, .after = 1);
    EXPECT_INT(vault_init(&v, "/nonexistent"), -ENOMEM);
    vault_fini(&v);
    FAIL(mmap, .error = ENOMEM);
    EXPECT_INT(vault_init(&v, "/nonexistent"), -ENOMEM);
    vault_fini(&v);
    FAIL(mmap, .error = ENOMEM, .after = 1);
    EXPECT_INT(vault_init(&v, "/nonexistent"), -ENOMEM);
    vault_fini(&v);
    FAIL(open, .error = EACCES, .path = "/proc/self/exe");
    EXPECT_INT(vault_init(&v, "/nonexistent"), -ENOENT);
    vault_fini(&v);
    FAIL(open, .error = EACCES, .path = "/proc/self/exe");
    EXPECT_INT(vault_init(&v, "/bin/sh"), 0); /* by its name */
    vault_fini(&v);
    FAIL(fcntl, .error = EMFILE, .after = 1); /* the first one seals the ledger */
    EXPECT_INT(vault_init(&v, "/nonexistent"), -EMFILE);
    vault_fini(&v);
}

TEST(descriptors_are_kept_under_keys_and_told_by_the_index)
{
    const int32_t *index;
    int fd = open_null();
    struct vault v;

    begin(&v);
    EXPECT_INT(vault_put(&v, 5, fd), 0);
    index = vault_index_map(v.own.index_fd);
    REQUIRE(index != NULL);
    EXPECT(index[5] > 0 && index[5] - 1 != fd && index[6] == 0);
    EXPECT_INT(vault_put(&v, 5, fd), 0); /* in place of what was there */
    EXPECT_INT(vault_put(&v, 7, fd), 0);
    FAIL(fcntl, .error = EMFILE);
    EXPECT_INT(vault_put(&v, 5, fd), -EMFILE);
    EXPECT(index[5] > 0);
    store_drop(&v, 4, 4);
    EXPECT(index[5] == 0 && index[7] == 0);
    vault_index_unmap(index);
    FAIL(mmap, .error = ENOMEM);
    EXPECT(vault_index_map(v.own.index_fd) == NULL);
    close(fd);
    vault_fini(&v);
}

TEST(arguments_that_cannot_be_kept_are_an_error)
{
    static char one[] = "one", empty[] = "";
    char *argv[] = {one, empty, NULL};
    struct vault v;

    begin(&v);
    FAIL(memfd_create, .error = EMFILE);
    EXPECT_INT(vault_put_args(&v, argv), -EMFILE);
    FAIL(write, .error = ENOSPC);
    EXPECT_INT(vault_put_args(&v, argv), -ENOSPC);
    FAIL(fcntl, .error = EMFILE);
    EXPECT_INT(vault_put_args(&v, argv), -EMFILE);
    EXPECT_INT(vault_put_args(&v, argv), 0);
    vault_fini(&v);
}

TEST(messages_to_the_store_are_checked)
{
    struct v_message put = {.type = V_PUT, .count = 2, .keys = {1, V_KEYS - 1}};
    struct v_message drop = {.type = V_DROP, .count = V_KEYS, .keys = {0}};
    struct v_message well = {.type = V_WELL};

    EXPECT_STR(store_fault(&put, 2), NULL);
    EXPECT_STR(store_fault(&put, 1), "count");
    put.keys[1] = V_KEYS;
    EXPECT_STR(store_fault(&put, 2), "key");
    put.count = V_PUT_MAX + 1;
    EXPECT_STR(store_fault(&put, V_PUT_MAX + 1), "count");
    EXPECT_STR(store_fault(&drop, 0), NULL);
    drop.keys[0] = 1;
    EXPECT_STR(store_fault(&drop, 0), "key");
    drop.keys[0] = V_KEYS;
    EXPECT_STR(store_fault(&drop, 0), "key");
    EXPECT_STR(store_fault(&well, 0), NULL);
    EXPECT_STR(store_fault(&well, 1), "count");
    well.count = 1;
    EXPECT_STR(store_fault(&well, 1), NULL);
    well.type = V_TRIAL;
    EXPECT_STR(store_fault(&well, 1), "descriptors");
}

/* --- sockets -------------------------------------------------------------- */

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

/* --- the dead ------------------------------------------------------------- */

TEST(a_dead_child_can_be_looked_at_until_it_is_reaped)
{
    struct zombie d;
    pid_t pid = fork();

    if (pid == 0)
        _exit(7);
    while (zombie_peek(pid, &d) != pid)
        usleep(1000);
    EXPECT_INT(d.status, 7 << 8);
    FAIL(syscall, .error = EINTR, .times = 2, .only = SYS_waitid);
    EXPECT_INT(zombie_peek(0, &d), pid);
    EXPECT_INT(FAILED(syscall), 2);
    FAIL(waitpid, .error = EINTR, .times = 2);
    zombie_reap(pid);
    EXPECT_INT(zombie_peek(0, &d), 0);
    zombie_reap(pid); /* nobody's any more */
    pid = fork();
    if (pid == 0) {
        struct rlimit core = {0};

        (void)getrlimit(RLIMIT_CORE, &core);
        core.rlim_cur = core.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &core);
        signal(SIGQUIT, SIG_DFL); /* a background job of a shell ignores it */
        if (chdir("/proc") == 0)
            raise(SIGQUIT);
    }
    while (zombie_peek(pid, &d) != pid)
        usleep(1000);
    EXPECT(WIFSIGNALED(d.status) && WTERMSIG(d.status) == SIGQUIT);
    zombie_reap(pid);
}

/* --- the guard ------------------------------------------------------------ */

#define SCORE "/proc/self/oom_score_adj"

/* What is done to the score is made up: who may lower it differs from machine to machine. */
TEST(a_score_is_lowered_as_far_as_the_kernel_lets_us)
{
    struct guard g;
    int was = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);

    log_set_level(LOG_ERROR);
    FAIL(open, .error = EACCES, .path = SCORE);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    guard_lift(&g);
    guard_lower(&g);
    guard_end_in_child(&g);
    guard_end(&g);
    FAIL(pread, .give = true);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    guard_end(&g);

    FAIL(pwrite, .give = true, .instead = 4, .times = -1); /* whatever it says, it works */
    guard_begin(&g);
    REQUIRE(g.oom_fd >= 0);
    EXPECT_STR(g.low, "-900");
    guard_lower(&g);
    EXPECT(!g.lifted);
    guard_lift(&g);
    guard_lift(&g);
    EXPECT(g.lifted);
    guard_lower(&g);
    EXPECT(!g.lifted);
    guard_end_in_child(&g);
    guard_end(&g);
    EXPECT_INT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), was);
    FAIL_NO_MORE(pwrite);
}

TEST(a_score_that_may_not_be_lowered_stays_or_goes_back_to_zero)
{
    struct guard g;

    log_set_level(LOG_ERROR);
    FAIL(pwrite, .error = EPERM);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    guard_end(&g);
    FAIL(pwrite, .error = EACCES);
    guard_begin(&g);
    guard_end(&g);
    /* Somebody had raised it. */
    {
        int fd = open(SCORE, O_WRONLY | O_CLOEXEC, 0);

        REQUIRE(fd >= 0 && pwrite(fd, "300", 3, 0) == 3);
        close(fd);
    }
    FAIL(pwrite, .error = EACCES);
    guard_begin(&g);
    EXPECT(g.oom_fd >= 0);
    EXPECT_STR(g.low, "0");
    EXPECT_STR(g.started, "300");
    guard_lift(&g);
    guard_lower(&g);
    guard_end(&g);
    FAIL(pwrite, .error = EACCES, .times = 2);
    guard_begin(&g);
    EXPECT_INT(g.oom_fd, -1);
    FAIL(getrlimit, .error = EPERM);
    guard_end(&g);
    guard_begin(&g);
    guard_end(&g);
}
