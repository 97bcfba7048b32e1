/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shared_state.c - the memory that one worker leaves to the next, and the plan of a child,
 * when there is no memory to be had
 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "keeper/keeper_own.h"
#include "keeper/spawn.h"

/* Wraps: memfd_create ftruncate fstat mmap pwrite malloc pread */
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(int, ftruncate, (int fd, off_t size), (fd, size), -1)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING(ssize_t, pwrite, (int fd, const void *bytes, size_t len, off_t at), (fd, bytes, len, at),
        -1)
FAILING(void *, malloc, (size_t size), (size), 0)
FAILING(ssize_t, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at), -1)

static struct keeper_options options;

static void begin(struct keeper *k)
{
    log_set_level(LOG_ERROR);
    options = (struct keeper_options){.state_bytes = 8192};
    *k = (struct keeper){.options = &options, .state_fd = -1};
    channel_init(&k->deposit.channel);
}

/* As an older binary left it: shorter, and with a word in it. */
static void leave(struct keeper *k, size_t bytes)
{
    k->state_fd = memfd_create("old", MFD_CLOEXEC);
    REQUIRE(k->state_fd >= 0 && ftruncate(k->state_fd, (off_t)bytes) == 0);
    if (bytes > 0)
        REQUIRE(pwrite(k->state_fd, "word", 4, 0) == 4);
}

static void expect_state(struct keeper *k, const char *word)
{
    struct stat st;
    char text[5] = "";

    REQUIRE(fstat(k->state_fd, &st) == 0);
    EXPECT_INT(st.st_size, 8192);
    REQUIRE(pread(k->state_fd, text, 4, 0) == 4);
    EXPECT_STR(text, word);
    io_close(&k->state_fd);
}

TEST(state_that_cannot_be_made_is_an_error)
{
    struct keeper k;

    begin(&k);
    FAIL(memfd_create, .error = EMFILE);
    EXPECT_INT(keeper_open_state(&k), -EMFILE);
    FAIL(ftruncate, .error = ENOMEM);
    EXPECT_INT(keeper_open_state(&k), -ENOMEM);
    EXPECT_INT(k.state_fd, -1);
    EXPECT_INT(keeper_open_state(&k), 0);
    FAIL(fstat, .error = EIO);
    EXPECT_INT(keeper_open_state(&k), -EIO);
    EXPECT_INT(keeper_open_state(&k), 0); /* large enough */
    expect_state(&k, "");
}

TEST(state_of_another_size_is_copied)
{
    struct keeper k;

    begin(&k);
    leave(&k, 4096);
    EXPECT_INT(keeper_open_state(&k), 0);
    expect_state(&k, "word");
    leave(&k, 0);
    EXPECT_INT(keeper_open_state(&k), 0);
    expect_state(&k, "");
    /* A few bytes at a time are enough. */
    leave(&k, 4096);
    FAIL(pwrite, .give = true, .instead = 2);
    EXPECT_INT(keeper_open_state(&k), 0);
    EXPECT_INT(FAILED(pwrite), 1);
    io_close(&k.state_fd);
}

/* Events and notes are worth less than the processes, which would end with us. */
TEST(state_that_cannot_be_copied_is_begun_anew)
{
    struct keeper k;

    begin(&k);
    leave(&k, 4096);
    FAIL(mmap, .error = ENOMEM);
    EXPECT_INT(keeper_open_state(&k), 0);
    expect_state(&k, "");
    leave(&k, 4096);
    FAIL(pwrite, .error = ENOSPC);
    EXPECT_INT(keeper_open_state(&k), 0);
    expect_state(&k, "");
}

TEST(state_that_cannot_be_renewed_stays)
{
    struct keeper k;

    begin(&k);
    EXPECT_INT(keeper_open_state(&k), 0);
    REQUIRE(pwrite(k.state_fd, "word", 4, 0) == 4);
    FAIL(memfd_create, .error = EMFILE);
    keeper_renew_state(&k);
    EXPECT_INT(FAILED(memfd_create), 1);
    expect_state(&k, "word");
    EXPECT_INT(keeper_open_state(&k), 0);
    keeper_renew_state(&k);
    expect_state(&k, "");
}

TEST(a_plan_without_memory_or_strings_is_an_error)
{
    struct k_spawn m = {.path_count = 1, .arg_count = 1, .strings_len = 5};
    int fd = memfd_create("strings", MFD_CLOEXEC);
    struct spawn *s;

    FAIL(malloc, .error = ENOMEM);
    EXPECT_INT(spawn_new(&m, "\0a\0a", -1, &s), -ENOMEM);
    EXPECT_INT(spawn_new(&m, "\0a\0ab", -1, &s), -EBADMSG); /* the last NUL is missing */
    REQUIRE(pwrite(fd, "\0a\0a", 5, 0) == 5);
    FAIL(pread, .error = EIO);
    EXPECT_INT(spawn_new(&m, NULL, fd, &s), -EBADMSG);
    m.strings_len = 6; /* more than there is */
    EXPECT_INT(spawn_new(&m, NULL, fd, &s), -EBADMSG);
    m.strings_len = 5;
    EXPECT_INT(spawn_new(&m, NULL, fd, &s), 0);
    spawn_free(s);
    close(fd);
}
