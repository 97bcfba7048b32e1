/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - starts a process: from the worker's request to the reply. Layer: keeper.
 */
#include "keeper/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "keeper/high_fds.h"
#include "keeper/keeper_own.h"

#define STACK_GUARD_BYTES (64 * 1024) /* the largest page size that Linux knows */
#define STACKS_IDLE_MAX 16

/* --- stacks --------------------------------------------------------------- */

struct child_stack {
    struct child_stack *next;
    char *map; /* guard, then CHILD_STACK_BYTES */
};

static struct child_stack *stack_take(struct spawns *all)
{
    struct child_stack *s = all->stacks;

    if (s != NULL) {
        all->stacks = s->next;
        all->stack_count--;
        return s;
    }
    s = malloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->map = mmap(NULL, STACK_GUARD_BYTES + CHILD_STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (s->map == MAP_FAILED) {
        free(s);
        return NULL;
    }
    (void)mprotect(s->map, STACK_GUARD_BYTES, PROT_NONE);
    return s;
}

static void stack_give(struct spawns *all, struct child_stack *s)
{
    if (s == NULL)
        return;
    if (all->stack_count >= STACKS_IDLE_MAX) {
        munmap(s->map, STACK_GUARD_BYTES + CHILD_STACK_BYTES);
        free(s);
        return;
    }
    s->next = all->stacks;
    all->stacks = s;
    all->stack_count++;
}

void spawns_init(struct keeper *k)
{
    k->spawns = (struct spawns){.null_fd = streams_open_null(), .can_cut = high_can_cut()};
    list_init(&k->spawns.flying);
    spare_streams_init(&k->spawns.spares);
}

/* At shutdown; the kernel may still use the memory of pending children, so that stays. */
void spawns_fini(struct keeper *k)
{
    io_close(&k->spawns.null_fd);
    spare_streams_fini(&k->spawns.spares);
    while (k->spawns.stacks != NULL) {
        struct child_stack *s = k->spawns.stacks;

        k->spawns.stacks = s->next;
        munmap(s->map, STACK_GUARD_BYTES + CHILD_STACK_BYTES);
        free(s);
    }
}

/* --- starting -------------------------------------------------------- */

static void spawn_add_limit(struct spawn *s, int which, uint64_t soft, uint64_t hard)
{
    struct child_plan *p = &s->plan;

    assert(p->limit_count < CHILD_LIMITS_MAX);
    p->limits[p->limit_count].which = which;
    p->limits[p->limit_count].value = (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
    p->limit_count++;
}

/* Our own descriptor limit was raised; children get the one we were started with. */
static void spawn_plan_limits(const struct keeper *k, struct spawn *s, const struct k_spawn *m,
                              bool in_cgroup)
{
    s->plan.limit_count = 0;
    if (m->open_files != K_UNSET)
        spawn_add_limit(s, RLIMIT_NOFILE, m->open_files, m->open_files);
    else if (k->nofile.rlim_max != 0) /* else it was never read, nor raised */
        spawn_add_limit(s, RLIMIT_NOFILE, k->nofile.rlim_cur, k->nofile.rlim_max);
    if (k->guard.core.rlim_max != 0)
        spawn_add_limit(s, RLIMIT_CORE, k->guard.core.rlim_cur, k->guard.core.rlim_max);
    /* SIGXCPU first, SIGKILL a second later. */
    if (m->cpu_s != K_UNSET)
        spawn_add_limit(s, RLIMIT_CPU, m->cpu_s, m->cpu_s + 1);
    if (m->file_bytes != K_UNSET)
        spawn_add_limit(s, RLIMIT_FSIZE, m->file_bytes, m->file_bytes);
    if (m->memory_bytes != K_UNSET && !(in_cgroup && k->cgroup.has_memory))
        spawn_add_limit(s, RLIMIT_AS, m->memory_bytes, m->memory_bytes);
    if (m->processes != K_UNSET && !(in_cgroup && k->cgroup.has_pids))
        spawn_add_limit(s, RLIMIT_NPROC, m->processes, m->processes);
}

/* A slot is optional: without one the process runs in our own cgroup. */
static int spawn_take_slot(struct keeper *k, struct entry *e, const struct k_spawn *m)
{
    bool limited = (m->memory_bytes != K_UNSET && k->cgroup.has_memory) ||
                   (m->processes != K_UNSET && k->cgroup.has_pids);

    e->slot = cgroup_take(&k->cgroup, limited);
    if (e->slot == NULL || !limited)
        return 0;
    return cgroup_limit(&k->cgroup, e->slot, m->memory_bytes, m->processes);
}

/* Did clone fail because of the cgroup? */
static bool spawn_lost_slot(struct keeper *k, struct entry *e, int rc)
{
    if (rc >= 0 || e->slot == NULL || rc == -EAGAIN || rc == -ENOMEM)
        return false;
    cgroup_discard(&k->cgroup, e->slot);
    e->slot = NULL;
    /* This directory may have been removed; any other error is permanent. */
    if (rc != -ENODEV && k->cgroup.dir_fd >= 0)
        cgroup_disable(&k->cgroup, strerror(-rc));
    return true;
}

static int spawn_clone(struct keeper *k, struct spawn *s, const struct k_spawn *m, uint32_t *stage)
{
    struct entry *e = s->entry;
    int rc;

    *stage = K_STAGE_LIMITS;
    rc = spawn_take_slot(k, e, m);
    if (rc < 0)
        return rc;
    *stage = K_STAGE_FORK;
    s->stack = stack_take(&k->spawns);
    if (s->stack == NULL)
        return -ENOMEM;
    spawn_plan_limits(k, s, m, e->slot != NULL);
    rc = child_start(&s->plan, s->stack->map + STACK_GUARD_BYTES,
                     e->slot == NULL ? -1 : e->slot->dir_fd);
    if (spawn_lost_slot(k, e, rc)) {
        spawn_plan_limits(k, s, m, false);
        rc = child_start(&s->plan, s->stack->map + STACK_GUARD_BYTES, -1);
    }
    if (e->slot != NULL)
        io_close(&e->slot->dir_fd);
    return rc;
}

static bool spawn_keeps_high(const struct keeper *k)
{
    return k->spawns.can_cut && k->table.count >= HIGH_FROM_ENTRIES;
}

/* The entry that reaches the threshold also moves all earlier ones. */
void spawn_move_high(const struct keeper *k, struct entry *e)
{
    if (!spawn_keeps_high(k))
        return;
    entry_move_high(e);
    if (k->table.count > HIGH_FROM_ENTRIES)
        return;
    for (e = table_first(&k->table); e != NULL; e = table_next(&k->table, e))
        entry_move_high(e);
}

static void spawn_fill_entry(struct keeper *k, struct spawn *s, const struct k_spawn *m,
                             const struct streams *io, int *record_fd)
{
    struct entry *e = s->entry;

    memcpy(e->pub.id, m->id, sizeof e->pub.id);
    e->pub.tty_fd = io->tty;
    e->pub.stdin_fd = io->stdin_fd;
    e->pub.stdout_fd = io->stdout_fd;
    e->pub.stderr_fd = io->stderr_fd;
    e->pub.side_fd = io->side;
    e->pub.record_fd = *record_fd;
    *record_fd = -1;
    e->spawn = s;
    table_set_pid(&k->table, e, s->pid);
}

/* Closed as soon as the child has its own copies: otherwise neither pipe would reach its end. */
static void spawn_close_lent(struct spawn *s)
{
    for (int i = 0; i < SPAWN_LENT; i++)
        io_close(&s->lent[i]);
}

/* Plans the child's descriptors. Those that it needs must be below the cut. */
static void spawn_plan_files(const struct keeper *k, struct spawn *s, const struct streams *io,
                             int report_fd)
{
    bool below = report_fd < HIGH_FD;

    for (int i = 0; i < 3; i++) {
        s->plan.stdio[i] = io->child[i];
        below = below && io->child[i] < HIGH_FD;
    }
    s->plan.side = io->child[3];
    below = below && io->child[3] < HIGH_FD;
    s->plan.report_fd = report_fd;
    s->plan.share_files = below && spawn_keeps_high(k);
}

/* 0: the child is started. Else -errno, and only s->entry and s itself are left. */
static int spawn_launch(struct keeper *k, struct spawn *s, const struct k_spawn *m, int *record_fd,
                        uint32_t *stage)
{
    struct spares *spares = k->spawns.count == 0 ? &k->spawns.spares : NULL;
    struct streams io;
    int report[2];
    int rc;

    *stage = m->pty ? K_STAGE_PTY : K_STAGE_PIPE;
    rc = streams_open(&io, m, k->spawns.null_fd, spares);
    if (rc < 0)
        return rc;
    rc = spare_streams_take_pipe(spares, report);
    if (rc < 0) {
        *stage = K_STAGE_PIPE;
        streams_close(&io);
        return rc;
    }
    spawn_plan_files(k, s, &io, report[1]);
    rc = spawn_clone(k, s, m, stage);
    if (rc < 0) {
        close(report[0]);
        close(report[1]);
        streams_close(&io);
        return rc;
    }
    s->pid = rc;
    s->report_fd = report[0];
    (void)fcntl(report[0], F_SETFL, O_NONBLOCK);
    s->lent[0] = report[1];
    streams_take_child(&io, s->lent + 1);
    if (!s->plan.share_files)
        spawn_close_lent(s);
    spawn_fill_entry(k, s, m, &io, record_fd);
    return 0;
}

static void spawn_drop_entry(struct keeper *k, struct spawn *s)
{
    struct entry *e = s->entry;

    if (e == NULL)
        return;
    s->entry = NULL;
    e->spawn = NULL;
    if (e->slot != NULL)
        cgroup_release(&k->cgroup, e->slot);
    e->slot = NULL;
    deposit_forget(k, e);
    table_remove(&k->table, e);
}

/* 0: the child is started. Else -errno, and nothing is left. */
static int spawn_begin(struct keeper *k, struct spawn *s, const struct k_spawn *m, int *record_fd,
                       uint32_t *stage)
{
    int rc;

    s->entry = table_add(&k->table);
    if (s->entry == NULL)
        return -EAGAIN;
    guard_lift(&k->guard);
    deferred_wake(k);
    rc = deposit_begin(k, s->entry, m->id);
    if (rc == 0) {
        s->plan.pid_at = s->entry->row == NULL ? NULL : &s->entry->row->pid;
        rc = spawn_launch(k, s, m, record_fd, stage);
    }
    if (rc < 0) {
        spawn_drop_entry(k, s);
        stack_give(&k->spawns, s->stack);
        return rc;
    }
    s->deadline_ms = clock_mono_ms() + SPAWN_DEADLINE_MS;
    if (m->quiet)
        s->quiet_until_ms = clock_mono_ms() + SPAWN_QUIET_MS;
    list_append(&k->spawns.flying, &s->link);
    k->spawns.count++;
    return 0;
}

bool spawn_request(struct keeper *k, const struct k_spawn *m, const char *inline_strings, int *fds)
{
    uint32_t stage = K_STAGE_TABLE;
    struct spawn *s = NULL;
    int rc = spawn_new(m, inline_strings, inline_strings == NULL ? fds[1] : -1, &s);

    if (rc == -EBADMSG)
        return false;
    if (rc == -E2BIG)
        stage = K_STAGE_EXEC;
    if (rc == 0 && !spawn_user_is_allowed(k, m)) {
        stage = K_STAGE_USER;
        rc = -EPERM;
    }
    if (rc == 0)
        rc = spawn_begin(k, s, m, &fds[0], &stage);
    if (rc < 0) {
        requests_report_spawn_failed(k, m->req, stage, -rc, 0);
        spawn_free(s);
    } else {
        deposit_streams(k, s->entry);
        deferred_run(k);
    }
    return true;
}

/* --- finishing --------------------------------------------------------- */

static void spawn_finish(struct keeper *k, struct spawn *s)
{
    struct entry *e = s->entry;

    list_remove(&s->link);
    k->spawns.count--;
    deferred_wake(k);
    if (e != NULL && s->reported) {
        requests_report_spawn_failed(k, s->req, s->report.stage, s->report.error, s->report.path);
        spawn_drop_entry(k, s);
    } else if (e != NULL) {
        e->spawn = NULL;
        deposit_started(k, e);
        requests_report_spawned(k, s->req, e);
        deferred_add(k, e);
    }
    stack_give(&k->spawns, s->stack);
    io_close(&s->report_fd);
    spawn_free(s);
}

/*
 * The pipe cannot end while we hold its other end, so it is read again after that is closed. For a
 * child that could not get its own table we hold these descriptors until it is dead: the end of the
 * pipe would signal that its memory is free.
 */
void spawn_step(struct keeper *k, struct spawn *s)
{
    ssize_t n;

    while ((n = hf_read(s->report_fd, &s->report, sizeof s->report)) == sizeof s->report) {
        if (s->report.stage == K_STAGE_NONE)
            spawn_close_lent(s);
        else
            s->reported = true;
    }
    if (n != -EAGAIN)
        spawn_finish(k, s);
}

void spawn_close_fds(struct spawn *s)
{
    spawn_close_lent(s);
    io_close(&s->report_fd);
}

/* It was killed before its first report: nothing else would end its pipes. */
void spawns_on_death(struct keeper *k, pid_t pid)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &k->spawns.flying) {
        struct spawn *s = list_entry(it, struct spawn, link);

        if (s->pid == pid)
            spawn_close_lent(s);
    }
}

/* The memory stays until the kernel is done with it, which may be never. */
static void spawn_give_up(struct keeper *k, struct spawn *s)
{
    kill(s->pid, SIGKILL);
    spawn_drop_entry(k, s);
    s->deadline_ms = DEADLINE_NONE;
}

void spawns_abandon(struct keeper *k)
{
    /* Keeps the memory that children still use in LeakSanitizer's sight when the keeper ends. */
    static const struct list *volatile abandoned __attribute__((unused));
    struct list *it, *tmp;

    list_for_each (it, tmp, &k->spawns.flying)
        spawn_step(k, list_entry(it, struct spawn, link));
    list_for_each (it, tmp, &k->spawns.flying) {
        struct spawn *s = list_entry(it, struct spawn, link);

        if (s->entry != NULL)
            spawn_give_up(k, s);
    }
    abandoned = k->spawns.flying.next;
}

bool spawns_are_settled(const struct keeper *k)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &k->spawns.flying) {
        if (list_entry(it, struct spawn, link)->entry != NULL)
            return false;
    }
    return true;
}

void spawns_step(struct keeper *k, uint64_t now_ms)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &k->spawns.flying) {
        struct spawn *s = list_entry(it, struct spawn, link);

        if (s->quiet_until_ms != 0 && s->quiet_until_ms <= now_ms)
            s->quiet_until_ms = 0;
        if (s->deadline_ms > now_ms)
            continue;
        requests_report_spawn_failed(k, s->req, s->plan.own_memory ? K_STAGE_EXEC : s->plan.stage,
                                     ETIMEDOUT, 0);
        spawn_give_up(k, s);
    }
}

uint64_t spawns_deadline(const struct keeper *k)
{
    uint64_t first = DEADLINE_NONE;
    struct list *it, *tmp;

    list_for_each (it, tmp, &k->spawns.flying) {
        const struct spawn *s = list_entry(it, struct spawn, link);

        if (s->deadline_ms < first)
            first = s->deadline_ms;
        if (s->quiet_until_ms != 0 && s->quiet_until_ms < first)
            first = s->quiet_until_ms;
    }
    return first;
}

void spawns_poll_set(const struct keeper *k, struct pollfd *fds)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &k->spawns.flying) {
        const struct spawn *s = list_entry(it, struct spawn, link);

        *fds++ =
            (struct pollfd){.fd = s->quiet_until_ms != 0 ? -1 : s->report_fd, .events = POLLIN};
    }
}

/* New ones are at the end of the list, so the first `count` are still those that were polled. */
void spawns_poll_done(struct keeper *k, const struct pollfd *fds, size_t count)
{
    struct list *it = k->spawns.flying.next, *next;

    for (size_t i = 0; i < count && it != &k->spawns.flying; i++, it = next) {
        next = it->next;
        if (fds[i].revents != 0)
            spawn_step(k, list_entry(it, struct spawn, link));
    }
}
