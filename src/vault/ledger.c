/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - the state that the next keeper needs when this one dies. Layer: vault.
 */
#include "vault/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int ledger_create(void)
{
    static const uint32_t head[] = {LEDGER_MAGIC, LEDGER_VERSION};
    int fd = memfd_create("holdfast-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, sizeof(struct ledger)) == 0 && pwrite(fd, head, sizeof head, 0) > 0) {
        (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        return fd;
    }
    rc = -errno;
    close(fd);
    return rc;
}

struct ledger *ledger_map(int fd)
{
    struct stat st;
    struct ledger *l;

    if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof *l)
        return NULL;
    l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (l == MAP_FAILED)
        return NULL;
    if (l->magic == LEDGER_MAGIC && l->version == LEDGER_VERSION)
        return l;
    ledger_unmap(l);
    return NULL;
}

void ledger_unmap(struct ledger *l)
{
    if (l != NULL)
        munmap(l, sizeof *l);
}

static size_t rows_used(const struct ledger *l)
{
    return l->rows_used < LEDGER_ROWS ? l->rows_used : LEDGER_ROWS;
}

struct ledger_row *ledger_find_free(struct ledger *l)
{
    size_t used = rows_used(l), i = l->first_free;

    while (i < used && row_state(&l->rows[i]) != ROW_FREE)
        i++;
    l->first_free = (uint32_t)i;
    if (i >= LEDGER_ROWS)
        return NULL;
    if (i >= used)
        l->rows_used = (uint32_t)i + 1;
    l->rows[i].pid = 0;
    return &l->rows[i];
}

void ledger_free(struct ledger *l, struct ledger_row *r)
{
    row_set_state(r, ROW_FREE);
    if (ledger_index(l, r) < l->first_free)
        l->first_free = ledger_index(l, r);
}

size_t ledger_count(const struct ledger *l, enum ledger_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < rows_used(l); i++)
        count += row_state(&l->rows[i]) == state;
    return count;
}
