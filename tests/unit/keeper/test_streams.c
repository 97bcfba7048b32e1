/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_streams.c - the terminal or the pipes of a new process, when calls fail
 *
 * Whatever fails, nothing stays open: the harness counts descriptors.
 */
#include "test.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "failing.h"
#include "keeper/streams.h"

/* Wraps: open pipe2 ioctl fcntl socketpair */
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING(int, pipe2, (int *pair, int flags), (pair, flags), -1)
FAILING_BY(int, ioctl, (int fd, unsigned long request, void *arg), (fd, request, arg), -1,
           (long)request, NULL)
FAILING_BY(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1, cmd, NULL)
FAILING(int, socketpair, (int domain, int type, int protocol, int *pair),
        (domain, type, protocol, pair), -1)

static const struct k_spawn on_terminal = {.pty = 1, .rows = 24, .cols = 80};
static const struct k_spawn on_pipes = {.stdin_mode = K_STDIN_PIPE};

static int open_streams(const struct k_spawn *m, struct spares *spares)
{
    struct streams s;
    int null_fd = streams_open_null();
    int rc = streams_open(&s, m, null_fd, spares);

    if (rc == 0)
        streams_close(&s);
    close(null_fd);
    return rc;
}

TEST(without_dev_null_and_pipes_there_is_an_error)
{
    FAIL(open, .error = ENOENT);
    FAIL(pipe2, .error = EMFILE);
    EXPECT_INT(streams_open_null(), -EMFILE);
}

TEST(a_terminal_that_cannot_be_had_is_an_error)
{
    FAIL(open, .error = EMFILE, .path = "/dev/ptmx");
    EXPECT_INT(open_streams(&on_terminal, NULL), -EMFILE);
    EXPECT_INT(FAILED(open), 1);
    FAIL(ioctl, .error = EIO, .only = TIOCSPTLCK);
    EXPECT_INT(open_streams(&on_terminal, NULL), -EIO);
    FAIL(ioctl, .error = EIO, .only = TCGETS);
    EXPECT_INT(open_streams(&on_terminal, NULL), -EIO);
    FAIL(ioctl, .error = EIO, .only = TCSETS);
    EXPECT_INT(open_streams(&on_terminal, NULL), -EIO);
    FAIL(ioctl, .error = EIO, .only = TIOCSWINSZ);
    EXPECT_INT(open_streams(&on_terminal, NULL), -EIO);
}

/* Containers may have no /dev/ptmx and yet a /dev/pts of their own. */
TEST(a_terminal_is_opened_from_dev_pts_where_dev_has_none)
{
    FAIL(open, .error = ENOENT, .path = "/dev/ptmx");
    EXPECT_INT(open_streams(&on_terminal, NULL), access("/dev/pts/ptmx", W_OK) == 0 ? 0 : -errno);
    EXPECT_INT(FAILED(open), 1);
    FAIL(open, .error = ENOENT, .path = "ptmx", .times = 2);
    EXPECT_INT(open_streams(&on_terminal, NULL), -ENOENT);
}

/* Kernels before 4.13 cannot open the other side without its path. */
TEST(the_other_side_is_opened_by_its_path_where_the_kernel_is_old)
{
    FAIL(ioctl, .error = EINVAL, .only = TIOCGPTPEER);
    EXPECT_INT(open_streams(&on_terminal, NULL), 0);
    EXPECT_INT(FAILED(ioctl), 1);
    FAIL(ioctl, .error = EINVAL, .only = TIOCGPTPEER);
    FAIL(open, .error = EACCES, .after = 2);
    EXPECT_INT(open_streams(&on_terminal, NULL), -EACCES);
    FAIL_NO_MORE(open);
    FAIL(ioctl, .error = EIO, .after = 1, .times = 2);
    EXPECT_INT(open_streams(&on_terminal, NULL), -EIO);
    EXPECT_INT(FAILED(ioctl), 2);
}

TEST(pipes_that_cannot_be_had_are_an_error)
{
    for (int i = 0; i < 3; i++) {
        FAIL(pipe2, .error = ENFILE, .after = i);
        EXPECT_INT(open_streams(&on_pipes, NULL), -ENFILE);
        FAIL_NO_MORE(pipe2);
        FAIL(fcntl, .error = EINVAL, .only = F_SETFL, .after = i);
        EXPECT_INT(open_streams(&on_pipes, NULL), -EINVAL);
        FAIL_NO_MORE(fcntl);
    }
    EXPECT_INT(open_streams(&on_pipes, NULL), 0);
}

TEST(a_side_that_cannot_be_had_is_an_error)
{
    struct k_spawn m = on_pipes;

    m.side = 1;
    EXPECT_INT(open_streams(&m, NULL), 0);
    FAIL(socketpair, .error = EMFILE);
    EXPECT_INT(open_streams(&m, NULL), -EMFILE);
    FAIL(fcntl, .error = EINVAL, .only = F_GETFL);
    EXPECT_INT(open_streams(&m, NULL), -EINVAL);
    m.pty = 1;
    m.rows = m.cols = 10;
    EXPECT_INT(open_streams(&m, NULL), 0);
}

TEST(spares_are_made_as_far_as_it_goes_and_used)
{
    struct spares s;

    spare_streams_init(&s);
    FAIL(pipe2, .error = EMFILE, .after = 1);
    spare_streams_fill(&s);
    EXPECT_U64(s.pipe_count, 1);
    EXPECT_INT(s.master, -1);
    spare_streams_fill(&s);
    EXPECT_U64(s.pipe_count, SPARE_PIPES);
    EXPECT_INT(open_streams(&on_pipes, &s), 0);
    EXPECT_U64(s.pipe_count, SPARE_PIPES - 3);
    EXPECT_INT(open_streams(&on_terminal, &s), 0);
    EXPECT(s.want_tty);
    FAIL(open, .error = EMFILE, .path = "/dev/ptmx");
    spare_streams_fill(&s);
    EXPECT(s.master < 0);
    spare_streams_fill(&s);
    EXPECT(s.master >= 0);
    spare_streams_fill(&s);
    EXPECT_INT(open_streams(&on_terminal, &s), 0);
    EXPECT_INT(s.master, -1);
    spare_streams_fill(&s);
    spare_streams_fini(&s);
}

TEST(whose_the_streams_are_is_set_for_a_user)
{
    struct k_spawn m = {.pty = 1, .rows = 1, .cols = 1, .set_user = 1};

    m.uid = geteuid();
    m.gid = getegid();
    EXPECT_INT(open_streams(&m, NULL), 0);
    m.pty = 0;
    EXPECT_INT(open_streams(&m, NULL), 0);
}

TEST(without_dev_null_the_end_is_read_from_a_pipe)
{
    char dir[] = "/tmp/holdfast-root-XXXXXX", byte;
    int status = -1;
    pid_t pid;

    if (geteuid() != 0)
        return;
    REQUIRE(mkdtemp(dir) != NULL);
    pid = fork();
    if (pid == 0) {
        int fd = chroot(dir) == 0 ? streams_open_null() : -1;

        _exit(fd >= 0 && read(fd, &byte, 1) == 0 ? 0 : 1);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    rmdir(dir);
}
