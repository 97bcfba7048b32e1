/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_state.c - carries the table and related state through execve(2). Layer: keeper.
 */
#include "keeper/upgrade_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/patience.h"
#include "keeper/keeper_own.h"
#include "vault/vault.h"

#define STATE_BYTES_MAX (64 * 1024 * 1024)

/* --- saving --------------------------------------------------------------- */

static void state_fill_head(const struct keeper *k, size_t carried, struct state_head *h)
{
    const struct keeper_carry *carry = &k->options->carry;

    memset(h, 0, sizeof *h);
    memcpy(h->magic, STATE_MAGIC, sizeof h->magic);
    h->version = KEEPER_STATE_VERSION;
    h->entry_count = (uint32_t)k->table.count;
    h->last_number = k->table.last_number;
    h->generation = k->worker.generation;
    h->state_fd = k->state_fd;
    h->dumpable = k->guard.dumpable;
    h->nofile_cur = k->nofile.rlim_cur;
    h->nofile_max = k->nofile.rlim_max;
    h->io_known = k->worker.past[0].known;
    h->io_read = k->worker.past[0].count.read_bytes;
    h->io_written = k->worker.past[0].count.written_bytes;
    h->cgroup_last = k->cgroup.last_number;
    if (k->cgroup.dir_fd >= 0)
        memcpy(h->cgroup_path, k->cgroup.path, strlen(k->cgroup.path));
    h->carry_len = (uint32_t)carried;
    h->carry_fd_count = (uint32_t)carry->fd_count;
    for (size_t i = 0; i < carry->fd_count; i++)
        h->carry_fds[i] = carry->fds[i];
}

static void state_fill_entry(const struct entry *e, struct state_entry *out)
{
    memset(out, 0, sizeof *out);
    out->entry = e->pub.entry;
    out->pid = e->pub.pid;
    memcpy(out->id, e->pub.id, sizeof out->id);
    out->exited = e->pub.exited;
    out->oom = e->pub.oom;
    out->status = e->pub.status;
    out->slot = e->slot == NULL ? 0 : e->slot->number;
    out->exited_wall_ms = e->pub.exited_wall_ms;
    usage_pack(&e->pub.usage, out->usage);
    out->record_fd = e->pub.record_fd;
    out->tty_fd = e->pub.tty_fd;
    out->stdin_fd = e->pub.stdin_fd;
    out->stdout_fd = e->pub.stdout_fd;
    out->stderr_fd = e->pub.stderr_fd;
    out->side_fd = e->pub.side_fd + 1;
}

static int state_write(const struct keeper *k, int fd)
{
    struct state_head head;
    struct buf carried = {0};
    int rc = 0;

    if (k->options->carry_write != NULL)
        rc = k->options->carry_write(&carried, k->options->arg);
    state_fill_head(k, carried.len, &head);
    if (rc == 0)
        rc = io_write_all(fd, &head, sizeof head);
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e)) {
        struct state_entry one;

        state_fill_entry(e, &one);
        if (rc == 0)
            rc = io_write_all(fd, &one, sizeof one);
    }
    if (rc == 0 && carried.len > 0)
        rc = io_write_all(fd, buf_data(&carried), carried.len);
    buf_wipe(&carried);
    return rc;
}

int state_save(const struct keeper *k, int *out_fd)
{
    int fd = memfd_create("holdfast-resume", 0);
    int rc;

    if (fd < 0)
        return -errno;
    rc = state_write(k, fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *out_fd = fd;
    return 0;
}

static void fd_set_cloexec(int fd, bool on)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0);
}

void state_set_cloexec(const struct keeper *k, bool on)
{
    fd_set_cloexec(k->state_fd, on);
    for (size_t i = 0; i < k->options->carry.fd_count; i++)
        fd_set_cloexec(k->options->carry.fds[i], on);
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e)) {
        fd_set_cloexec(e->pub.record_fd, on);
        fd_set_cloexec(e->pub.tty_fd, on);
        fd_set_cloexec(e->pub.stdin_fd, on);
        fd_set_cloexec(e->pub.stdout_fd, on);
        fd_set_cloexec(e->pub.stderr_fd, on);
        fd_set_cloexec(e->pub.side_fd, on);
    }
}

void state_lend(const struct keeper *k)
{
    fd_set_cloexec(k->state_fd, false);
    for (size_t i = 0; i < k->options->carry.fd_count; i++)
        fd_set_cloexec(k->options->carry.fds[i], false);
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e))
        fd_set_cloexec(e->pub.record_fd, false);
}

/* --- loading -------------------------------------------------------------- */

static const char *state_entry_fault(const struct state_entry *e)
{
    if (e->entry == 0)
        return "number";
    if (e->pid <= 1)
        return "pid";
    if (memchr(e->id, '\0', sizeof e->id) == NULL)
        return "id";
    return NULL;
}

const char *state_fault(const void *bytes, size_t len)
{
    const struct state_head *h = bytes;
    const struct state_entry *entries = (const struct state_entry *)(h + 1);
    const char *fault = NULL;

    if (len < sizeof *h || memcmp(h->magic, STATE_MAGIC, sizeof h->magic) != 0)
        return "head";
    if (h->version != KEEPER_STATE_VERSION)
        return "version";
    if (h->entry_count > KEEPER_ENTRIES_MAX || h->carry_fd_count > KEEPER_CARRY_FDS_MAX)
        return "count";
    if (len != sizeof *h + h->entry_count * sizeof *entries + (size_t)h->carry_len)
        return "length";
    if (memchr(h->cgroup_path, '\0', sizeof h->cgroup_path) == NULL)
        return "path";
    for (uint32_t i = 0; i < h->entry_count && fault == NULL; i++)
        fault = state_entry_fault(&entries[i]);
    return fault;
}

/* It contains the carried bytes, which may be secrets. */
static void state_free(struct state_head *h)
{
    hf_wipe(h, sizeof *h + h->entry_count * sizeof(struct state_entry) + h->carry_len);
    free(h);
}

static void *malloc_patiently(size_t size)
{
    struct patience patience = {0};
    void *p;

    while ((p = malloc(size)) == NULL && patience_wait(&patience))
        ;
    return p;
}

/* False: it cannot be read completely. */
static bool read_whole(int fd, char *to, size_t len)
{
    size_t got = 0;

    while (got < len) {
        ssize_t n = pread(fd, to + got, len - got, (off_t)got);

        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The whole file, checked and malloc'd; NULL and *rc otherwise. */
static void *state_read(int fd, int *rc)
{
    struct stat st;
    const char *fault;
    char *bytes;

    *rc = -EINVAL;
    if (fstat(fd, &st) < 0 || st.st_size > STATE_BYTES_MAX)
        return NULL;
    bytes = malloc_patiently((size_t)st.st_size + 1);
    if (bytes == NULL) {
        *rc = -ENOMEM;
        return NULL;
    }
    fault =
        read_whole(fd, bytes, (size_t)st.st_size) ? state_fault(bytes, (size_t)st.st_size) : "file";
    if (fault != NULL) {
        log_error("the state of the previous keeper is invalid (%s)", fault);
        free(bytes);
        return NULL;
    }
    *rc = 0;
    return bytes;
}

/* 0 or -errno; -ENOMEM: nothing has changed, and the caller can retry. */
static int state_load_entry(struct keeper *k, const struct state_entry *from)
{
    bool has_slot = from->slot != 0 && k->cgroup.dir_fd >= 0;
    struct cgroup_slot *slot;
    struct entry *e;

    if (from->entry == 0 || k->table.count >= KEEPER_ENTRIES_MAX ||
        table_find(&k->table, from->entry) != NULL)
        return -EINVAL;
    slot = has_slot ? cgroup_reopen(&k->cgroup, from->slot) : NULL;
    if (has_slot && slot == NULL)
        return -ENOMEM;
    e = table_add_numbered(&k->table, from->entry);
    if (e == NULL) {
        if (slot != NULL)
            cgroup_abandon(slot);
        return -ENOMEM;
    }
    e->slot = slot;
    memcpy(e->pub.id, from->id, sizeof e->pub.id);
    e->pub.exited = from->exited != 0;
    e->pub.oom = from->oom != 0;
    e->pub.status = from->status;
    e->pub.exited_wall_ms = from->exited_wall_ms;
    e->pub.usage = usage_unpack(from->usage);
    e->pub.record_fd = from->record_fd;
    e->pub.tty_fd = from->tty_fd;
    e->pub.stdin_fd = from->stdin_fd;
    e->pub.stdout_fd = from->stdout_fd;
    e->pub.stderr_fd = from->stderr_fd;
    e->pub.side_fd = from->side_fd - 1;
    table_set_pid(&k->table, e, from->pid);
    if (e->pub.exited)
        table_clear_pid(&k->table, e);
    return 0;
}

/*
 * Losing one process is bad; losing all of them would be worse. With a vault there is a third way
 * if memory is short: this keeper exits, and the vault, which has everything, starts another.
 */
static int state_load_entries(struct keeper *k, const struct state_entry *entries, size_t count)
{
    struct patience patience = {0};

    for (size_t i = 0; i < count; i++) {
        int rc;

        while ((rc = state_load_entry(k, &entries[i])) == -ENOMEM && patience_wait(&patience))
            ;
        if (rc == -ENOMEM && k->deposit.channel.fd >= 0)
            return rc;
        if (rc < 0)
            log_error("cannot take over process %d of the previous keeper: %s", (int)entries[i].pid,
                      strerror(-rc));
    }
    return 0;
}

/* As above: with a vault, a temporary failure to open the cgroup is no reason to abandon it. */
static int state_load_cgroup(struct keeper *k, const struct state_head *h)
{
    struct patience patience = {0};
    int rc;

    while (patience_is_passing(rc = cgroup_resume(&k->cgroup, h->cgroup_path, h->cgroup_last)) &&
           patience_wait(&patience))
        ;
    if (rc == 0 || (patience_is_passing(rc) && k->deposit.channel.fd >= 0))
        return rc;
    log_warn("the cgroup of the previous keeper is lost: %s", strerror(-rc));
    return 0;
}

int state_load(struct keeper *k, int fd)
{
    int rc;
    struct state_head *h = state_read(fd, &rc);

    if (h == NULL)
        return rc;
    k->table.last_number = h->last_number;
    k->worker.generation = h->generation;
    k->worker.past[0] =
        (struct keeper_io){.known = h->io_known != 0, .count = {h->io_read, h->io_written}};
    k->state_fd = h->state_fd;
    k->guard.dumpable = h->dumpable != 0;
    k->nofile = (struct rlimit){.rlim_cur = h->nofile_cur, .rlim_max = h->nofile_max};
    rc = state_load_cgroup(k, h);
    if (rc == 0)
        rc = state_load_entries(k, (const struct state_entry *)(h + 1), h->entry_count);
    state_free(h);
    state_set_cloexec(k, true);
    return rc;
}

/* --- from the ledger ------------------------------------------------------ */

static void head_from_ledger(const struct ledger *l, const int32_t *index, struct state_head *h)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, STATE_MAGIC, sizeof h->magic);
    h->version = KEEPER_STATE_VERSION;
    h->last_number = l->last_number;
    h->generation = l->generation;
    h->state_fd = index[V_KEY_STATE] - 1;
    h->dumpable = l->dumpable;
    h->nofile_cur = l->nofile_cur;
    h->nofile_max = l->nofile_max;
    h->io_known = atomic_load(&l->io_known);
    h->io_read = l->io_read;
    h->io_written = l->io_written;
    h->cgroup_last = l->cgroup_last;
    memcpy(h->cgroup_path, l->cgroup_path, sizeof h->cgroup_path - 1);
    for (uint32_t i = 0; i < V_LISTENERS; i++) {
        if (index[V_KEY_LISTENER + i] > 0)
            h->carry_fds[h->carry_fd_count++] = index[V_KEY_LISTENER + i] - 1;
    }
}

static void entry_from_row(const struct ledger_row *r, const int32_t *fds, struct state_entry *out)
{
    memset(out, 0, sizeof *out);
    out->entry = r->entry;
    out->pid = r->pid;
    memcpy(out->id, r->id, sizeof out->id);
    out->exited = row_state(r) == ROW_EXITED;
    out->slot = r->cgroup;
    if (out->exited) {
        out->oom = r->oom;
        out->status = r->status;
        out->exited_wall_ms = r->exited_wall_ms;
        memcpy(out->usage, r->usage, sizeof out->usage);
    }
    out->record_fd = fds[V_RECORD] - 1;
    out->tty_fd = fds[V_TTY] - 1;
    out->stdin_fd = fds[V_STDIN] - 1;
    out->stdout_fd = fds[V_STDOUT] - 1;
    out->stderr_fd = fds[V_STDERR] - 1;
    out->side_fd = fds[V_SIDE];
}

/* Entries must be in the order of their numbers; rows are reused. */
static int compare_entries(const void *a, const void *b)
{
    const struct state_entry *x = a, *y = b;

    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void entries_from_rows(const struct ledger *l, const int32_t *index, struct buf *out)
{
    size_t used = l->rows_used < LEDGER_ROWS ? l->rows_used : LEDGER_ROWS;

    for (size_t i = 0; i < used; i++) {
        enum ledger_state state = row_state(&l->rows[i]);
        struct state_entry e;

        if (state != ROW_RUNNING && state != ROW_EXITED)
            continue;
        entry_from_row(&l->rows[i], index + i * V_ROW_KEYS, &e);
        buf_put(out, &e, sizeof e);
    }
}

static int carry_from_vault(int fd, struct buf *out)
{
    struct stat st;
    void *bytes;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0 || st.st_size > STATE_BYTES_MAX)
        return -EBADF;
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return -errno;
    buf_put(out, bytes, (size_t)st.st_size);
    munmap(bytes, (size_t)st.st_size);
    return 0;
}

static int state_from_ledger(const struct ledger *l, const int32_t *index, int out_fd)
{
    struct buf entries = {0}, carried = {0};
    struct state_head head;
    size_t count;
    int rc;

    head_from_ledger(l, index, &head);
    entries_from_rows(l, index, &entries);
    count = entries.len / sizeof(struct state_entry);
    if (count > 0)
        qsort(buf_data(&entries), count, sizeof(struct state_entry), compare_entries);
    rc = carry_from_vault(index[V_KEY_CARRY] - 1, &carried);
    head.entry_count = (uint32_t)count;
    head.carry_len = (uint32_t)carried.len;
    if (rc == 0)
        rc = io_write_all(out_fd, &head, sizeof head);
    if (rc == 0)
        rc = io_write_all(out_fd, buf_data(&entries), entries.len);
    if (rc == 0)
        rc = io_write_all(out_fd, buf_data(&carried), carried.len);
    buf_fini(&entries);
    buf_wipe(&carried);
    return rc;
}

int keeper_resume_from_vault(const struct vault_ends *ends)
{
    struct ledger *l = ledger_map(ends->ledger_fd);
    const int32_t *index = vault_index_map(ends->index_fd);
    int fd = memfd_create("holdfast-resume", MFD_CLOEXEC);
    int rc = l == NULL || index == NULL ? -EPROTO : fd < 0 ? -errno : 0;

    if (rc == 0)
        rc = state_from_ledger(l, index, fd);
    if (rc < 0)
        io_close(&fd);
    ledger_unmap(l);
    if (index != NULL)
        vault_index_unmap(index);
    return rc < 0 ? rc : fd;
}

/* --- a trial -------------------------------------------------------------- */

static bool fd_is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

const char *keeper_try(int resume_fd, const struct keeper_trial *trial)
{
    int rc;
    struct state_head *h = state_read(resume_fd, &rc);
    const struct state_entry *entries;
    const char *fault = NULL;

    if (h == NULL)
        return "cannot read the state";
    entries = (const struct state_entry *)(h + 1);
    if (!trial->state(h->state_fd, trial->arg))
        fault = "the shared state has another version";
    for (uint32_t i = 0; i < h->carry_fd_count && fault == NULL; i++)
        fault = fd_is_open(h->carry_fds[i]) ? NULL : "a listening socket is missing";
    for (uint32_t i = 0; i < h->entry_count && fault == NULL; i++) {
        if (entries[i].record_fd >= 0 && !trial->record(entries[i].record_fd, trial->arg))
            fault = "the record of a process has another version";
    }
    state_free(h);
    return fault;
}

int keeper_resume_carry(int resume_fd, void **bytes, size_t *len, int *fds, size_t *fd_count)
{
    int rc;
    struct state_head *h = state_read(resume_fd, &rc);
    void *copy;

    if (h == NULL)
        return rc;
    copy = malloc_patiently((size_t)h->carry_len + 1);
    if (copy == NULL) {
        state_free(h);
        return -ENOMEM;
    }
    memcpy(copy, (char *)(h + 1) + h->entry_count * sizeof(struct state_entry), h->carry_len);
    *bytes = copy;
    *len = h->carry_len;
    *fd_count = h->carry_fd_count;
    for (uint32_t i = 0; i < h->carry_fd_count; i++)
        fds[i] = h->carry_fds[i];
    state_free(h);
    return 0;
}
