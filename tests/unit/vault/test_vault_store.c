/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_vault_store.c - descriptors under keys, also when calls fail
 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "vault/vault_store.h"

/* Wraps: memfd_create ftruncate mmap fcntl open write */
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(int, ftruncate, (int fd, off_t size), (fd, size), -1)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING_BY(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1, cmd, NULL)
FAILING_BY(int, open, (const char *path, int flags, int mode), (path, flags, mode), -1, 0, path)
FAILING(ssize_t, write, (int fd, const void *bytes, size_t len), (fd, bytes, len), -1)

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
