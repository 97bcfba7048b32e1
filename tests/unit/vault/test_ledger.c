/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ledger.c - rows in memory that outlives keepers
 */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/log.h"
#include "failing.h"
#include "vault/vault_store.h"

/* Wraps: memfd_create ftruncate pwrite mmap fstat */
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
FAILING(int, ftruncate, (int fd, off_t size), (fd, size), -1)
FAILING(ssize_t, pwrite, (int fd, const void *bytes, size_t len, off_t at), (fd, bytes, len, at),
        -1)
FAILING(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t off),
        (at, len, prot, flags, fd, off), MAP_FAILED)
FAILING(int, fstat, (int fd, struct stat *st), (fd, st), -1)

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
