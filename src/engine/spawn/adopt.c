/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.c - a new worker adopts the processes of the last one. Layer: engine.
 *
 * The keeper's entries become processes again. The transfer during which the last worker died is
 * completed in the books (worker_shared.h), and exits that happened in between are reported.
 */
#include "engine/spawn/adopt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/siding.h"
#include "engine/stream/tty_activity_own.h"
#include "engine/stream/viewer_own.h"

/*
 * The I/O count of the worker that left the slip. That need not be the last worker, which may have
 * died before it read the slip. A worker that an earlier keeper reaped has no pid.
 */
static const struct keeper_io *owner_io(const struct engine *e, const struct keeper_boot *boot)
{
    pid_t owner = e->state.head->owner;

    for (size_t i = 0; owner != 0 && i < KEEPER_IO_PAST; i++)
        if (boot->past[i].pid == owner || (boot->past[i].pid == 0 && boot->past[i].known))
            return &boot->past[i];
    return &boot->past[0];
}

/* What the owner's last call moved; -1 when the kernel's count is not available. */
static int64_t slip_moved(const struct slip *s, const struct keeper_io *io, uint32_t kind)
{
    uint64_t total = kind == SLIP_READ ? io->count.read_bytes : io->count.written_bytes;

    if (!io->known)
        return -1;
    if (total < s->moved_before || total - s->moved_before > s->len) {
        log_error("inconsistent I/O count of worker %d: %lld bytes, expected at most %u",
                  (int)io->pid, (long long)(total - s->moved_before), s->len);
        return 0;
    }
    return (int64_t)(total - s->moved_before);
}

static void recover_read(struct process *p, const struct slip *s, int64_t moved)
{
    size_t n;

    if (journal_next(&p->journal) != s->at)
        return; /* already counted */
    n = journal_recover(&p->journal, moved);
    if (n > 0) {
        p->engine->state.head->output_bytes_total += n;
        log_info("recovered %zu bytes of output of %s", n, p->rec.head->id);
    }
}

/* An unknown count is treated as "written": typing input twice does more harm than losing it. */
static void recover_write(struct process *p, const struct slip *s, int64_t moved)
{
    struct record_head *h = p->rec.head;

    if (atomic_load(&h->input_tail) == s->at)
        atomic_store(&h->input_tail, s->at + (moved >= 0 ? (uint64_t)moved : s->len));
}

static void recover_slip(struct engine *e, const struct keeper_io *io)
{
    struct slip *s = &e->state.head->slip;
    uint32_t kind = atomic_load(&s->kind);
    struct process *p;

    if (kind == SLIP_NONE)
        return;
    s->id[sizeof s->id - 1] = '\0';
    p = registry_find(e, s->id);
    if (p != NULL && kind == SLIP_READ)
        recover_read(p, s, slip_moved(s, io, kind));
    else if (p != NULL)
        recover_write(p, s, slip_moved(s, io, kind));
    slip_clear(s);
}

/*
 * The last worker forgot the process, reused its record for another one, and died before it
 * notified the keeper. If the process still runs, its record is unreadable, which is an error.
 */
static void adopt_skip(struct engine *e, struct process *p, const struct keeper_entry *k)
{
    struct k_simple m = {.type = K_FORGET, .entry = k->entry};
    int fds[] = {k->tty_fd, k->stdin_fd, k->stdout_fd, k->stderr_fd, k->side_fd, k->record_fd};

    if (k->exited)
        keeper_channel_send_later(e->channel, &m, sizeof m);
    else
        log_error("the record of %s cannot be read; the process keeps running unmanaged", k->id);
    p->rec.fd = -1; /* closed below */
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        io_close(&fds[i]);
    process_unref(p);
}

/*
 * The record is sound, but it cannot be mapped, for example for lack of memory. Continuing without
 * it would lose the process, while the next worker may succeed. Nothing was changed yet.
 */
__attribute__((noreturn)) static void adopt_fail(const struct keeper_entry *k, int rc)
{
    log_error("cannot adopt %s: %s; leaving it to the next worker", k->id, strerror(-rc));
    _exit(EXIT_FAILURE);
}

static struct process *adopt_one(struct engine *e, const struct keeper_entry *k)
{
    struct process *p = process_new(e);
    /* A record that the vault could not keep is gone for every worker. */
    int rc = k->record_fd < 0 ? -EPROTO : record_adopt(&p->rec, k->record_fd);

    if (rc < 0 && rc != -EPROTO)
        adopt_fail(k, rc);
    if (rc < 0 || strcmp(p->rec.head->id, k->id) != 0 || meta_load(p) < 0) {
        adopt_skip(e, p, k);
        return NULL;
    }
    p->entry = k->entry;
    p->pid = k->pid;
    output_accept(p, k->tty_fd, k->stdout_fd, k->stderr_fd);
    input_accept(p, k->tty_fd >= 0 ? k->tty_fd : k->stdin_fd);
    p->side_fd = k->side_fd;
    journal_init(&p->journal, &p->rec, &e->state.head->slip, e->exact);
    screen_terminal_init(p);
    input_recover(p);
    registry_add(e, p);
    process_unref(p);
    return p;
}

static void resume(struct process *p, const struct keeper_entry *k)
{
    struct engine *e = p->engine;
    struct record_head *h = p->rec.head;

    e->running++;
    if (!h->created_reported) {
        e->state.head->spawned_total++;
        events_append(&e->events, "process.created", p, NULL);
        h->created_reported = 1;
    }
    tty_activity_start(p);
    screen_terminal_recover(p);
    viewer_hold_on_crash(p);
    output_start(p);
    if (!process_is_running(p)) {
        /* first terminate what is left of its tree, as the last worker was about to */
        if (h->deleting)
            process_terminate(p, -1, "api", NULL, NULL);
        exit_resume(p, &k->usage);
        return;
    }
    input_start(p);
    /* No viewer is attached now: their connections closed with the last worker. Give them the time
     * that a reconnect takes before that counts as leaving. */
    if (h->watched && h->detach_at_ms == 0)
        kill_deadline_on_crash(p);
    kill_deadline_arm(p);
    if (h->ended_by[0] != '\0')
        process_terminate(p, -1, h->ended_by, NULL, NULL);
    if (k->exited)
        exit_on_reaped(p, &(struct k_exited){.status = k->status,
                                             .oom = k->oom,
                                             .at_wall_ms = k->exited_wall_ms,
                                             .usage = k->usage});
}

/*
 * Recovery depends on knowing every byte that a worker reads and writes. A worker that exits in an
 * orderly way writes down its own count. If the kernel's count differs, some call bypasses
 * base/io.h, and we must notice that before a crash depends on the count.
 */
static void check_count(struct shared_head *h, const struct keeper_io *io)
{
    if (h->final_read_bytes == 0 || !io->known)
        return;
    if (h->final_read_bytes != io->count.read_bytes ||
        h->final_written_bytes != io->count.written_bytes)
        log_error("uncounted transfers: %lld bytes read and %lld bytes written beyond our count",
                  (long long)(io->count.read_bytes - h->final_read_bytes),
                  (long long)(io->count.written_bytes - h->final_written_bytes));
    h->final_read_bytes = 0;
}

void adopt_all(struct engine *e, const struct keeper_boot *boot)
{
    const struct keeper_io *io = owner_io(e, boot);
    size_t i;

    check_count(e->state.head, io);
    for (i = 0; i < boot->entry_count; i++)
        adopt_one(e, &boot->entries[i]);
    recover_slip(e, io);
    /* From here on, the slip and the counts are ours. */
    e->state.head->owner = getpid();
    siding_recover(e, boot);
    for (i = 0; i < boot->entry_count; i++) {
        struct process *p = registry_find(e, boot->entries[i].id);
        if (p != NULL)
            resume(p, &boot->entries[i]);
    }
    sessions_adopt(e);
}
