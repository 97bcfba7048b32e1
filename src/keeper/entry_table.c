/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_table.c - the processes that the keeper knows, by number and by pid. Layer: keeper.
 */
#include "keeper/entry_table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "keeper/high_fds.h"
#include "keeper/keeper_proto.h"

#define TABLE_BUCKETS_MIN 64

void table_init(struct table *t)
{
    *t = (struct table){.bucket_count = TABLE_BUCKETS_MIN};
    list_init(&t->all);
    t->by_number = hf_xalloc(t->bucket_count * sizeof(struct entry *));
    t->by_pid = hf_xalloc(t->bucket_count * sizeof(struct entry *));
}

void table_fini(struct table *t)
{
    while (!list_is_empty(&t->all))
        table_remove(t, table_first(t));
    free(t->by_number);
    free(t->by_pid);
    *t = (struct table){0};
}

static struct entry **table_number_bucket(const struct table *t, uint32_t number)
{
    return &t->by_number[number & (t->bucket_count - 1)];
}

static struct entry **table_pid_bucket(const struct table *t, pid_t pid)
{
    return &t->by_pid[(uint32_t)pid & (t->bucket_count - 1)];
}

static void table_link_number(struct table *t, struct entry *e)
{
    struct entry **bucket = table_number_bucket(t, e->pub.entry);

    e->next_number = *bucket;
    *bucket = e;
}

static void table_link_pid(struct table *t, struct entry *e)
{
    struct entry **bucket = table_pid_bucket(t, e->pub.pid);

    e->next_pid = *bucket;
    *bucket = e;
}

/* Without memory for more buckets the table works on, only slower. */
static void table_grow(struct table *t)
{
    size_t bucket_count = t->bucket_count * 2;
    struct entry **numbers = calloc(bucket_count, sizeof *numbers);
    struct entry **pids = calloc(bucket_count, sizeof *pids);

    if (numbers == NULL || pids == NULL) {
        free(numbers);
        free(pids);
        return;
    }
    /* Only the old buckets know which entries are found by pid, so move these first. */
    for (size_t i = 0; i < t->bucket_count; i++) {
        for (struct entry *next, *p = t->by_pid[i]; p != NULL; p = next) {
            size_t to = (uint32_t)p->pub.pid & (bucket_count - 1);

            next = p->next_pid;
            p->next_pid = pids[to];
            pids[to] = p;
        }
    }
    free(t->by_number);
    free(t->by_pid);
    t->by_number = numbers;
    t->by_pid = pids;
    t->bucket_count = bucket_count;
    for (struct entry *e = table_first(t); e != NULL; e = table_next(t, e))
        table_link_number(t, e);
}

struct entry *table_add_numbered(struct table *t, uint32_t number)
{
    struct entry *e;

    if (t->count >= KEEPER_ENTRIES_MAX || number == 0)
        return NULL;
    e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    if (t->count >= t->bucket_count)
        table_grow(t);
    e->pub.entry = number;
    e->pub.record_fd = e->pub.tty_fd = -1;
    e->pub.stdin_fd = e->pub.stdout_fd = e->pub.stderr_fd = e->pub.side_fd = -1;
    list_append(&t->all, &e->in_all);
    list_init(&e->deferred);
    table_link_number(t, e);
    t->count++;
    return e;
}

/* After four billion processes the count wraps; numbers still in use are skipped. */
struct entry *table_add(struct table *t)
{
    do
        t->last_number++;
    while (t->last_number == 0 || table_find(t, t->last_number) != NULL);
    return table_add_numbered(t, t->last_number);
}

void table_set_pid(struct table *t, struct entry *e, pid_t pid)
{
    assert(e->pub.pid == 0 && pid > 0);
    e->pub.pid = pid;
    table_link_pid(t, e);
}

void table_clear_pid(struct table *t, struct entry *e)
{
    struct entry **at = table_pid_bucket(t, e->pub.pid);

    while (*at != NULL && *at != e)
        at = &(*at)->next_pid;
    if (*at == e)
        *at = e->next_pid;
    e->next_pid = NULL;
}

void table_remove(struct table *t, struct entry *e)
{
    struct entry **at = table_number_bucket(t, e->pub.entry);

    assert(e->slot == NULL && e->spawn == NULL);
    while (*at != e)
        at = &(*at)->next_number;
    *at = e->next_number;
    table_clear_pid(t, e);
    list_remove(&e->in_all);
    list_remove(&e->deferred);
    t->count--;
    entry_close(e, K_FD_TTY | K_FD_STDIN | K_FD_STDOUT | K_FD_STDERR | K_FD_SIDE);
    io_close(&e->pub.record_fd);
    free(e);
}

struct entry *table_find(const struct table *t, uint32_t number)
{
    struct entry *e = *table_number_bucket(t, number);

    while (e != NULL && e->pub.entry != number)
        e = e->next_number;
    return e;
}

struct entry *table_find_pid(const struct table *t, pid_t pid)
{
    struct entry *e = *table_pid_bucket(t, pid);

    while (e != NULL && e->pub.pid != pid)
        e = e->next_pid;
    return e;
}

struct entry *table_first(const struct table *t)
{
    return list_is_empty(&t->all) ? NULL : list_entry(t->all.next, struct entry, in_all);
}

struct entry *table_next(const struct table *t, const struct entry *e)
{
    return e->in_all.next == &t->all ? NULL : list_entry(e->in_all.next, struct entry, in_all);
}

void entry_close(struct entry *e, uint32_t which)
{
    if (which & K_FD_TTY)
        io_close(&e->pub.tty_fd);
    if (which & K_FD_STDIN)
        io_close(&e->pub.stdin_fd);
    if (which & K_FD_STDOUT)
        io_close(&e->pub.stdout_fd);
    if (which & K_FD_STDERR)
        io_close(&e->pub.stderr_fd);
    if (which & K_FD_SIDE)
        io_close(&e->pub.side_fd);
}

void entry_move_high(struct entry *e)
{
    high_move(&e->pub.record_fd);
    if (e->pub.exited)
        return; /* the worker is about to close what it has read to the end */
    high_move(&e->pub.tty_fd);
    high_move(&e->pub.stdin_fd);
    high_move(&e->pub.stdout_fd);
    high_move(&e->pub.stderr_fd);
    high_move(&e->pub.side_fd);
}

uint32_t entry_fds(const struct entry *e, int fds[K_FDS], size_t *count)
{
    const int all[K_FDS] = {e->pub.tty_fd, e->pub.stdin_fd, e->pub.stdout_fd, e->pub.stderr_fd,
                            e->pub.side_fd};
    uint32_t bits = 0;

    *count = 0;
    for (unsigned i = 0; i < K_FDS; i++) {
        if (all[i] < 0)
            continue;
        bits |= 1U << i;
        fds[(*count)++] = all[i];
    }
    return bits;
}
