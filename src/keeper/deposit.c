/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deposit.c - the keeper's side of the vault. Layer: keeper.
 */
#include "keeper/deposit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/patience.h"
#include "keeper/deposit_own.h"
#include "keeper/keeper_own.h"

#define MESSAGES_PER_TURN 64

_Static_assert(LEDGER_ROWS == KEEPER_ENTRIES_MAX, "every entry has a row");
_Static_assert(LEDGER_ID_BYTES == K_ID_LEN, "an id fits");
_Static_assert(V_LISTENERS == KEEPER_CARRY_FDS_MAX, "every listener has a key");

uint32_t deposit_row_key(const struct keeper *k, const struct ledger_row *r)
{
    return ledger_index(k->deposit.ledger, r) * V_ROW_KEYS;
}

/* --- set-up -------------------------------------------------------------------------------- */

/* The index is mapped first: without it the keeper must not continue. */
int deposit_attach(struct keeper *k, const struct vault_ends *ends)
{
    struct deposit *d = &k->deposit;
    bool lent = k->resumed && !k->options->replaced;

    if (ends == NULL || ends->channel_fd < 0)
        return 0;
    d->ledger = ledger_map(ends->ledger_fd);
    if (d->ledger == NULL)
        return -EPROTO;
    d->index = lent ? vault_index_map(ends->index_fd) : NULL;
    if (lent && d->index == NULL)
        return -ENOMEM;
    d->ends = *ends;
    d->channel.fd = ends->channel_fd;
    d->vault_pid = atomic_load(&d->ledger->vault_pid);
    d->ledger->first_free = 0;
    d->replaced = k->options->replaced;
    atomic_store(&d->ledger->keeper_pid, k->pid);
    return 0;
}

void deposit_index_done(struct deposit *d)
{
    if (d->index != NULL)
        vault_index_unmap(d->index);
    d->index = NULL;
}

void deposit_detach(struct keeper *k)
{
    struct deposit *d = &k->deposit;

    channel_close(&d->channel);
    deposit_index_done(d);
    ledger_unmap(d->ledger);
    d->ledger = NULL;
    io_close(&d->ends.ledger_fd);
    io_close(&d->ends.index_fd);
}

void deposit_take_siding(struct keeper *k)
{
    const int32_t *index = k->deposit.index;

    if (index != NULL && index[V_KEY_SIDING_READ] > 0 && index[V_KEY_SIDING_WRITE] > 0) {
        k->siding[0] = index[V_KEY_SIDING_READ] - 1;
        k->siding[1] = index[V_KEY_SIDING_WRITE] - 1;
    }
}

pid_t deposit_main_pid(const struct keeper *k)
{
    return k->deposit.ledger == NULL ? k->pid : atomic_load(&k->deposit.ledger->main_pid);
}

bool deposit_is_end_ordered(const struct keeper *k)
{
    return k->deposit.ledger != NULL && atomic_load(&k->deposit.ledger->order) == ORDER_END;
}

void deposit_state(struct keeper *k)
{
    deposit_put(k, V_KEY_STATE, k->state_fd);
}

int keeper_save_carry(const struct keeper_options *options)
{
    int fd = memfd_create("holdfast-carry", MFD_CLOEXEC), rc;
    struct buf bytes = {0};

    if (fd < 0)
        return -errno;
    rc = options->carry_write(&bytes, options->arg);
    if (rc == 0)
        rc = io_write_all(fd, buf_data(&bytes), bytes.len);
    buf_wipe(&bytes);
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

/* If it fails, the vault keeps the previous version. */
void deposit_carry(struct keeper *k)
{
    struct patience patience = {0};
    hf_autoclose int fd = -1;

    if (k->deposit.ledger == NULL || k->options->carry_write == NULL)
        return;
    while (patience_is_passing(fd = keeper_save_carry(k->options)) && patience_wait(&patience))
        ;
    if (fd >= 0)
        deposit_put(k, V_KEY_CARRY, fd);
    else
        log_error("cannot save the state for the next keeper: %s", strerror(-fd));
}

void deposit_daemon(struct keeper *k)
{
    struct ledger *l = k->deposit.ledger;
    const struct keeper_carry *carry = &k->options->carry;

    if (l == NULL)
        return;
    l->dumpable = k->guard.dumpable;
    l->nofile_cur = k->nofile.rlim_cur;
    l->nofile_max = k->nofile.rlim_max;
    l->last_number = k->table.last_number;
    memset(l->cgroup_path, 0, sizeof l->cgroup_path);
    if (k->cgroup.dir_fd >= 0)
        memcpy(l->cgroup_path, k->cgroup.path, strlen(k->cgroup.path));
    l->cgroup_last = k->cgroup.last_number;
    snprintf(l->exe_path, sizeof l->exe_path, "%s", k->options->exe_path);
    deposit_state(k);
    deposit_put(k, V_KEY_SIDING_READ, k->siding[0]);
    deposit_put(k, V_KEY_SIDING_WRITE, k->siding[1]);
    for (size_t i = 0; i < carry->fd_count; i++)
        deposit_put(k, V_KEY_LISTENER + (uint32_t)i, carry->fds[i]);
    deposit_carry(k);
}

/* --- a process's life ---------------------------------------------------------------------- */

/* In this order: the next keeper drops leftovers of a free row (close_unused), but a row in use
 * without descriptors would be a process that no worker can adopt. */
void deposit_free_row(struct keeper *k, struct ledger_row *r)
{
    ledger_free(k->deposit.ledger, r);
    deposit_drop(k, deposit_row_key(k, r), V_ROW_KEYS);
}

int deposit_begin(struct keeper *k, struct entry *e, const char *id)
{
    struct ledger *l = k->deposit.ledger;
    struct ledger_row *r;

    if (l == NULL)
        return 0;
    r = ledger_find_free(l);
    if (r == NULL)
        return -EAGAIN;
    r->entry = e->pub.entry;
    r->parent = k->pid;
    memcpy(r->id, id, sizeof r->id);
    r->cgroup = 0;
    row_set_state(r, ROW_STARTING);
    l->last_number = k->table.last_number;
    l->cgroup_last = k->cgroup.last_number;
    e->row = r;
    return 0;
}

/* In the order of K_FD_* bits. */
static const enum v_row_key stream_keys[K_FDS] = {V_TTY, V_STDIN, V_STDOUT, V_STDERR, V_SIDE};

void deposit_streams(struct keeper *k, struct entry *e)
{
    struct v_message m = {.type = V_PUT};
    int streams[K_FDS], fds[V_PUT_MAX];
    size_t count, next = 0;
    uint32_t bits;

    if (e->row == NULL)
        return;
    e->row->cgroup = e->slot == NULL ? 0 : e->slot->number;
    bits = entry_fds(e, streams, &count);
    if (e->pub.record_fd >= 0) { /* the vault could not keep that of an earlier keeper */
        m.keys[m.count] = deposit_row_key(k, e->row) + V_RECORD;
        fds[m.count++] = e->pub.record_fd;
    }
    for (uint32_t i = 0; i < K_FDS; i++) {
        if (!(bits & 1U << i))
            continue;
        m.keys[m.count] = deposit_row_key(k, e->row) + stream_keys[i];
        fds[m.count++] = streams[next++];
    }
    (void)deposit_send(k, &m, fds);
}

static void fill_exit(struct ledger_row *r, const struct entry *e)
{
    r->status = e->pub.status;
    r->oom = e->pub.oom;
    r->exited_wall_ms = e->pub.exited_wall_ms;
    usage_pack(&e->pub.usage, r->usage);
    row_set_state(r, ROW_EXITED);
}

void deposit_started(struct keeper *k, struct entry *e)
{
    (void)k;
    if (e->row == NULL)
        return;
    if (e->pub.exited)
        fill_exit(e->row, e);
    else
        row_set_state(e->row, ROW_RUNNING);
}

void deposit_exited(struct keeper *k, struct entry *e)
{
    (void)k;
    if (e->row != NULL)
        fill_exit(e->row, e);
}

/* One message per run of adjacent keys, which outputs mostly are. */
static void drop_streams(struct keeper *k, const struct entry *e, uint32_t which)
{
    for (uint32_t i = 0, n; i < K_FDS; i += n + 1) {
        n = 0;
        while (i + n < K_FDS && which & 1U << (i + n))
            n++;
        if (n > 0)
            deposit_drop(k, deposit_row_key(k, e->row) + stream_keys[i], n);
    }
}

/* A running process must see the end of its input now. An exited one can wait. */
void deposit_closed(struct keeper *k, struct entry *e, uint32_t which)
{
    if (e->row == NULL)
        return;
    if (!e->pub.exited) {
        drop_streams(k, e, which);
        return;
    }
    e->undropped |= which;
    deferred_add(k, e);
}

void deposit_deferred(struct keeper *k, struct entry *e)
{
    if (e->row != NULL && e->undropped != 0)
        drop_streams(k, e, e->undropped);
    e->undropped = 0;
}

void deposit_forget(struct keeper *k, struct entry *e)
{
    if (e->row == NULL)
        return;
    deposit_free_row(k, e->row);
    e->row = NULL;
}

/* --- a vault that did not read ------------------------------------------------------------- */

/* In this order: a row in use is never without its descriptors. */
static void send_row(struct keeper *k, struct ledger_row *r)
{
    struct entry *e = row_state(r) == ROW_FREE ? NULL : table_find(&k->table, r->entry);
    int streams[K_FDS];
    size_t count;

    if (e == NULL || e->row != r) {
        deposit_drop(k, deposit_row_key(k, r), V_ROW_KEYS);
        return;
    }
    deposit_streams(k, e);
    drop_streams(k, e, ~entry_fds(e, streams, &count) & ((1U << K_FDS) - 1));
}

static void send_well(struct keeper *k)
{
    struct v_message m = {.type = V_WELL, .keys = {V_KEY_EXE}};
    hf_autoclose int exe = -1;

    if (k->deposit.replaced) {
        exe = open("/proc/self/exe", O_PATH | O_CLOEXEC);
        if (exe < 0)
            exe = open(k->options->exe_path, O_PATH | O_CLOEXEC);
    }
    m.count = exe >= 0;
    k->deposit.well_owed = !deposit_send(k, &m, exe >= 0 ? &exe : NULL);
    if (!k->deposit.well_owed)
        k->deposit.replaced = false; /* the vault has this binary: a second time would be another */
}

static void send_everything(struct keeper *k)
{
    struct deposit *d = &k->deposit;
    struct ledger *l = d->ledger;

    deposit_daemon(k);
    for (uint32_t i = 0; i < l->rows_used && i < LEDGER_ROWS; i++)
        send_row(k, &l->rows[i]);
    if (d->reap_owed != 0 &&
        deposit_send(k, &(struct v_message){.type = V_REAP, .pid = d->reap_owed}, NULL))
        d->reap_owed = 0;
    if (d->well_owed)
        send_well(k);
    if (d->refused_owed)
        deposit_refused(k);
}

/* It may read again: if so, it gets everything, because nobody knows what it has missed. */
static void catch_up(struct keeper *k)
{
    struct deposit *d = &k->deposit;
    struct v_message nothing = {.type = V_DROP};

    if (!d->behind || d->channel.fd < 0 || d->ledger == NULL)
        return;
    d->retry_at_ms = clock_mono_ms() + DEPOSIT_CATCH_UP_MS;
    if (vault_send(d->channel.fd, &nothing, NULL) < 0)
        return;
    d->behind = false;
    d->catching_up = true;
    send_everything(k);
    d->catching_up = false;
    if (!d->behind)
        log_warn("the vault is reading again");
}

bool deposit_is_complete(const struct keeper *k)
{
    return k->deposit.channel.fd >= 0 && !k->deposit.behind;
}

uint64_t deposit_deadline(const struct keeper *k)
{
    return deposit_is_complete(k) || k->deposit.channel.fd < 0 ? DEADLINE_NONE
                                                               : k->deposit.retry_at_ms;
}

void deposit_step(struct keeper *k, uint64_t now_ms)
{
    if (k->deposit.behind && now_ms >= k->deposit.retry_at_ms)
        catch_up(k);
}

/* --- the daemon's life --------------------------------------------------------------------- */

/* Called by the worker itself: a keeper that dies right after the fork has not seen its pid. */
void deposit_worker_started(struct keeper *k)
{
    struct ledger *l = k->deposit.ledger;

    if (l == NULL)
        return;
    l->generation = k->worker.generation;
    atomic_store(&l->worker_pid, getpid());
}

void deposit_worker_io(struct keeper *k)
{
    struct ledger *l = k->deposit.ledger;

    if (l == NULL)
        return;
    l->io_read = k->worker.past[0].count.read_bytes;
    l->io_written = k->worker.past[0].count.written_bytes;
    atomic_store(&l->io_known, k->worker.past[0].known);
    atomic_store(&l->worker_pid, 0);
}

void deposit_well(struct keeper *k)
{
    if (k->deposit.well_sent || k->deposit.ledger == NULL)
        return;
    k->deposit.well_sent = true;
    send_well(k);
}

/* What another binary in this keeper's place must find, or must not. 0 or -errno. */
static int set_trial(const struct vault_ends *ends, bool on)
{
    const int flag = on ? 0 : FD_CLOEXEC;
    char setting[64];

    snprintf(setting, sizeof setting, "%d,%d,%d", ends->channel_fd, ends->ledger_fd,
             ends->index_fd);
    if (on && setenv(V_ENV, setting, 1) < 0)
        return -errno;
    if (!on)
        (void)unsetenv(V_ENV);
    (void)fcntl(ends->channel_fd, F_SETFD, flag);
    (void)fcntl(ends->ledger_fd, F_SETFD, flag);
    (void)fcntl(ends->index_fd, F_SETFD, flag);
    return 0;
}

/* A vault that does not know of the trial could not start the binary before. */
int deposit_trial(struct keeper *k, bool on)
{
    struct deposit *d = &k->deposit;
    int rc;

    if (d->ends.channel_fd < 0)
        return 0;
    rc = set_trial(&d->ends, on);
    if (rc < 0)
        return rc;
    if (!deposit_notify(k, on ? V_TRIAL : V_WELL, on ? k->upgrade.well_ms : 0) && d->behind) {
        if (on)
            (void)set_trial(&d->ends, false);
        else
            d->well_owed = true;
        return -EAGAIN;
    }
    return 0;
}

void deposit_done(struct keeper *k, int code)
{
    if (k->deposit.ledger != NULL)
        atomic_store(&k->deposit.ledger->ended, code + 1);
    catch_up(k);
    (void)deposit_notify(k, V_DONE, code);
}

void deposit_refused(struct keeper *k)
{
    k->deposit.refused_owed = !deposit_notify(k, V_REFUSED, 0);
}

/* New connections are refused from now on, rather than left waiting. */
void deposit_keep(struct keeper *k)
{
    deposit_drop(k, V_KEY_LISTENER, V_LISTENERS);
    (void)deposit_notify(k, V_KEEP, 0);
}

/* --- messages of the vault ------------------------------------------------------------------- */

static void on_exited(struct keeper *k, const struct v_message *m)
{
    struct zombie d = {.pid = m->pid, .status = m->status, .usage = usage_unpack(m->usage)};
    struct v_message reap = {.type = V_REAP, .pid = m->pid};

    reap_inherited(k, &d);
    if (!deposit_send(k, &reap, NULL))
        k->deposit.reap_owed = m->pid;
}

void deposit_read(struct keeper *k)
{
    struct v_message m;
    struct fd_message p;

    for (int i = 0; i < MESSAGES_PER_TURN && k->deposit.channel.fd >= 0; i++) {
        int rc = channel_receive(&k->deposit.channel, &m, sizeof m, &p);

        if (rc == 0)
            return;
        if (rc < 0 || p.len != sizeof m) {
            deposit_vault_lost(k, rc < 0 ? rc : -EPROTO);
            return;
        }
        if (m.type == V_EXITED)
            on_exited(k, &m);
        else if (m.type == V_LEAVE)
            upgrade_leave(k);
    }
}
