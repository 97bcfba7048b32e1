/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_io.c - descriptors, and the count of bytes moved
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "test.h"

#define NOBODY 65534

TEST(reads_and_writes_are_counted_and_errors_are_negative)
{
    struct io_count before = io_counted(), after;
    char text[8];
    int p[2];

    REQUIRE(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
    EXPECT_INT(hf_read(p[0], text, sizeof text), -EAGAIN);
    EXPECT_INT(hf_write(p[1], "hello", 5), 5);
    EXPECT_INT(hf_read(p[0], text, sizeof text), 5);
    EXPECT_BYTES(text, 5, "hello");
    io_close(&p[1]);
    EXPECT_INT(hf_read(p[0], text, sizeof text), 0);
    io_close(&p[0]);
    EXPECT_INT(p[0], -1);
    io_close(&p[0]);
    EXPECT_INT(hf_write(-1, "x", 1), -EBADF);
    after = io_counted();
    EXPECT_U64(after.read_bytes - before.read_bytes, 5);
    EXPECT_U64(after.written_bytes - before.written_bytes, 5);
}

/* From a sync on, our count and the kernel's must stay the same to the byte. */
TEST(our_count_is_the_kernels)
{
    struct io_count ours, kernels;
    char bytes[3000] = {0};
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

    REQUIRE(fd >= 0);
    if (!io_count_sync()) {
        io_close(&fd);
        return;
    }
    for (int i = 1; i < 50; i++) {
        EXPECT_INT(hf_read(fd, bytes, (size_t)i * 7), i * 7);
        EXPECT_INT(hf_write(fd, bytes, (size_t)i * 11), i * 11);
    }
    ours = io_counted();
    REQUIRE(io_count_of(getpid(), geteuid(), getegid(), &kernels));
    EXPECT_U64(kernels.read_bytes, ours.read_bytes);
    EXPECT_U64(kernels.written_bytes, ours.written_bytes);
    /* The look itself was a read, and is counted as well. */
    ours = io_counted();
    REQUIRE(io_count_of(getpid(), geteuid(), getegid(), &kernels));
    EXPECT_U64(kernels.read_bytes, ours.read_bytes);
    io_close(&fd);
}

static void move_and_die(uid_t id)
{
    char bytes[2000] = {0};
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

    /* First: who has changed its user may not look at itself any more. */
    if (!io_count_sync())
        _exit(8);
    if (id != 0 && (syscall(SYS_setgid, id) < 0 || syscall(SYS_setuid, id) < 0))
        _exit(9);
    if (prctl(PR_SET_DUMPABLE, 1) < 0)
        _exit(6);
    if (read(fd, bytes, 1234) != 1234 || write(fd, bytes, 777) != 777)
        _exit(7);
    _exit(0);
}

/* A dead child of the given user that nobody has waited for. */
static pid_t make_zombie(uid_t id)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        move_and_die(id);
    REQUIRE(pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    REQUIRE(info.si_code == CLD_EXITED && info.si_status == 0);
    return pid;
}

static void drop_ptrace(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    REQUIRE(syscall(SYS_capget, &head, data) == 0);
    data[0].effective &= ~(1u << CAP_SYS_PTRACE);
    data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
    REQUIRE(syscall(SYS_capset, &head, data) == 0);
}

static void check_zombie(uid_t id)
{
    struct io_count count = {0};
    pid_t pid = make_zombie(id);

    EXPECT(io_count_of(pid, id, id, &count));
    EXPECT(count.read_bytes >= 1234 && count.read_bytes < 1234 + 1000);
    EXPECT(count.written_bytes >= 777);
    EXPECT_INT(waitpid(pid, NULL, 0), pid);
}

/*
 * A keeper that is root but may not trace must still learn what its dead
 * worker, another user, has moved; and be root again afterwards.
 */
TEST(a_dead_process_of_another_user_is_read_without_the_right_to_trace)
{
    if (geteuid() != 0 || !io_count_sync())
        return;
    drop_ptrace();
    check_zombie(NOBODY);
    EXPECT_INT(prctl(PR_GET_DUMPABLE), 1);
    EXPECT_INT(syscall(SYS_setfsuid, -1), 0);
    EXPECT_INT(syscall(SYS_setfsgid, -1), (int)getegid());
    check_zombie(0);
}

TEST(a_process_that_is_not_there_has_no_count)
{
    struct io_count count = {1, 2};

    EXPECT(!io_count_of(0x3ffffffe, geteuid(), getegid(), &count));
    EXPECT_U64(count.read_bytes, 1);
}

TEST(blocking_is_switched_off_and_on)
{
    int p[2];

    REQUIRE(pipe2(p, O_CLOEXEC) == 0);
    EXPECT_INT(io_set_nonblocking(p[0], true), 0);
    EXPECT(fcntl(p[0], F_GETFL) & O_NONBLOCK);
    EXPECT_INT(io_set_nonblocking(p[0], false), 0);
    EXPECT(!(fcntl(p[0], F_GETFL) & O_NONBLOCK));
    io_close(&p[0]);
    io_close(&p[1]);
    EXPECT_INT(io_set_nonblocking(-1, true), -EBADF);
}

TEST(a_small_file_is_read_whole_and_a_large_one_refused)
{
    char path[] = "/tmp/holdfast-test-io-XXXXXX";
    struct buf b = {0};
    int fd = mkostemp(path, O_CLOEXEC);
    char bytes[10000];

    REQUIRE(fd >= 0);
    memset(bytes, 'x', sizeof bytes);
    EXPECT_INT(io_write_all(fd, bytes, sizeof bytes), 0);
    io_close(&fd);
    buf_puts(&b, "before ");
    EXPECT_INT(io_read_file(path, sizeof bytes - 1, &b), -EFBIG);
    EXPECT_INT(io_read_file(path, 10, &b), -EFBIG);
    EXPECT_STR(buf_cstr(&b), "before ");
    EXPECT_INT(io_read_file(path, sizeof bytes, &b), 0);
    EXPECT_U64(b.len, sizeof bytes + 7);
    unlink(path);
    EXPECT_INT(io_read_file(path, 10, &b), -ENOENT);
    EXPECT_INT(io_read_file("/", 10, &b), -EISDIR);
    EXPECT_U64(b.len, sizeof bytes + 7);
    buf_fini(&b);
}

static void *drain_when_full(void *arg)
{
    char bytes[4096];
    int fd = *(int *)arg, queued = 0;

    /* The writer has filled the pipe and waits. */
    while (ioctl(fd, FIONREAD, &queued) == 0 && queued < fcntl(fd, F_GETPIPE_SZ))
        usleep(1000);
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
    return NULL;
}

TEST(writing_all_waits_for_room_in_a_descriptor_that_does_not_block)
{
    static char bytes[256 * 1024];
    pthread_t reader;
    int fds[2];

    EXPECT_INT(pipe(fds), 0);
    EXPECT_INT(io_set_nonblocking(fds[1], true), 0);
    EXPECT_INT(pthread_create(&reader, NULL, drain_when_full, &fds[0]), 0);
    EXPECT_INT(io_write_all(fds[1], bytes, sizeof bytes), 0);
    close(fds[1]);
    pthread_join(reader, NULL);
    close(fds[0]);
}

TEST(writing_all_gives_up_when_there_is_no_room_in_time)
{
    static char bytes[1024 * 1024];
    int fds[2];

    EXPECT_INT(pipe(fds), 0);
    EXPECT_INT(io_set_nonblocking(fds[1], true), 0);
    EXPECT_INT(io_write_all(fds[1], bytes, sizeof bytes), -EAGAIN);
    close(fds[0]);
    close(fds[1]);
}

TEST(a_full_device_is_an_error)
{
    hf_autoclose int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    REQUIRE(fd >= 0);
    EXPECT_INT(io_write_all(fd, "x", 1), -ENOSPC);
}
