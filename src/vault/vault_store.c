/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault_store.c - descriptors under keys, and the memory that shows the next keeper their numbers
 *
 * Only descriptors of the store are inheritable: a keeper that the vault executes gets the store
 * and nothing else. Layer: vault.
 */
#include "vault/vault_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"

static int index_create(void)
{
    int fd = memfd_create("holdfast-index", MFD_CLOEXEC), rc;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, V_KEYS * (off_t)sizeof(int32_t)) == 0)
        return fd;
    rc = -errno;
    close(fd);
    return rc;
}

static int32_t *index_map(int fd, int rights)
{
    void *p = mmap(NULL, V_KEYS * sizeof(int32_t), rights, MAP_SHARED, fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

const int32_t *vault_index_map(int fd)
{
    return index_map(fd, PROT_READ);
}

void vault_index_unmap(const int32_t *index)
{
    munmap((void *)(uintptr_t)index, V_KEYS * sizeof(int32_t));
}

int store_init(struct vault *v)
{
    v->own.ledger_fd = ledger_create();
    if (v->own.ledger_fd < 0)
        return v->own.ledger_fd;
    v->own.index_fd = index_create();
    if (v->own.index_fd < 0)
        return v->own.index_fd;
    v->ledger = ledger_map(v->own.ledger_fd);
    v->index = index_map(v->own.index_fd, PROT_READ | PROT_WRITE);
    return v->ledger == NULL || v->index == NULL ? -ENOMEM : 0;
}

void store_fini(struct vault *v)
{
    if (v->index != NULL) {
        store_close_copies(v);
        vault_index_unmap(v->index);
    }
    ledger_unmap(v->ledger);
    io_close(&v->own.ledger_fd);
    io_close(&v->own.index_fd);
}

int store_fd(const struct vault *v, uint32_t key)
{
    return v->index[key] - 1;
}

void store_take(struct vault *v, uint32_t key, int fd)
{
    store_drop(v, key, 1);
    v->index[key] = fd + 1;
}

void store_move(struct vault *v, uint32_t from, uint32_t to)
{
    int fd = store_fd(v, from);

    if (fd < 0)
        return;
    store_take(v, to, fd);
    v->index[from] = 0;
}

/* Memory of unused rows stays untouched. */
void store_drop(struct vault *v, uint32_t key, uint32_t count)
{
    for (uint32_t i = key; i < key + count; i++) {
        int fd = store_fd(v, i);

        if (fd < 0)
            continue;
        v->index[i] = 0;
        close(fd);
    }
}

/* The index is shared with the vault, so it is not changed. */
void store_close_copies(const struct vault *v)
{
    for (uint32_t key = V_KEY_STATE; key < V_KEYS; key++) {
        if (store_fd(v, key) >= 0)
            close(store_fd(v, key));
    }
}

const char *store_fault(const struct v_message *m, size_t fd_count)
{
    if (m->type == V_PUT) {
        if (m->count != fd_count || m->count > V_PUT_MAX)
            return "count";
        for (uint32_t i = 0; i < m->count; i++) {
            if (m->keys[i] >= V_KEYS)
                return "key";
        }
        return NULL;
    }
    if (m->type == V_WELL)
        return m->count == fd_count && m->count <= 1 ? NULL : "count";
    if (fd_count > 0)
        return "descriptors";
    if (m->type == V_DROP && (m->keys[0] >= V_KEYS || m->count > V_KEYS - m->keys[0]))
        return "key";
    return NULL;
}

int vault_put(struct vault *v, uint32_t key, int fd)
{
    int copy = fcntl(fd, F_DUPFD, 3);

    if (copy < 0)
        return -errno;
    store_take(v, key, copy);
    return 0;
}

static void add_strings(struct buf *out, char *const *strings)
{
    for (; *strings != NULL; strings++)
        buf_put(out, *strings, strlen(*strings) + 1);
    buf_put(out, "", 1);
}

/* Arguments and variables, each list with an empty string behind it. No variable is empty; an
 * argument may be, so their count comes first. */
int vault_args_save(char *const *argv)
{
    int fd = memfd_create("holdfast-args", MFD_CLOEXEC), rc;
    uint32_t count = 0;
    struct buf text = {0};

    if (fd < 0)
        return -errno;
    while (argv[count] != NULL)
        count++;
    buf_put(&text, &count, sizeof count);
    add_strings(&text, argv);
    add_strings(&text, environ);
    rc = io_write_all(fd, buf_data(&text), text.len);
    buf_wipe(&text);
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

int vault_put_args(struct vault *v, char *const *argv)
{
    hf_autoclose int fd = vault_args_save(argv);

    return fd < 0 ? fd : vault_put(v, V_KEY_ARGS, fd);
}
