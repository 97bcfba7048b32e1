/* SPDX-License-Identifier: Apache-2.0 */
/*
 * siding.c - a second pipe, so that copying a flood does not stall its writer. Layer: engine.
 */
#include "engine/stream/siding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/io.h"
#include "base/log.h"
#include "engine/process_own.h"

/* True: bytes are left in it. */
static bool siding_has_bytes(const struct engine *e)
{
    int there = 0;

    return ioctl(e->siding[0], FIONREAD, &there) == 0 && there > 0;
}

/* Drops bytes whose process is no longer known. */
static void siding_clear(struct engine *e)
{
    char room[4096];
    size_t n = 0;

    while (siding_has_bytes(e)) {
        ssize_t got = hf_read(e->siding[0], room, sizeof room);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    log_error("dropping %zu bytes of output: the process that wrote them is unknown", n);
}

static void siding_reclaim(struct engine *e)
{
    struct siding_note *note = &e->state.head->siding;
    struct process *p;
    size_t n = 0;

    note->id[sizeof note->id - 1] = '\0';
    p = registry_find(e, note->id);
    while (p != NULL && siding_has_bytes(e)) {
        ssize_t got = journal_read(&p->journal, e->siding[0], note->stream, SIDING_BYTES);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    e->state.head->output_bytes_total += n;
    if (n > 0)
        log_info("recovered %zu bytes of output of %s from the siding", n, note->id);
}

void siding_recover(struct engine *e, const struct keeper_boot *boot)
{
    struct siding_note *note = &e->state.head->siding;

    e->siding[0] = boot->siding[0];
    e->siding[1] = boot->siding[1];
    if (e->siding[0] < 0)
        return;
    if (atomic_load(&note->on))
        siding_reclaim(e);
    if (siding_has_bytes(e))
        siding_clear(e);
    atomic_store(&note->on, 0);
}

static ssize_t siding_move(struct engine *e, int fd, size_t max)
{
    ssize_t n;

    do
        n = splice(fd, NULL, e->siding[1], NULL, max, SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* All spliced bytes must be readable. If they were not, later output would overtake them, so
 * abort: the next worker recovers them, as after any other crash. */
static ssize_t siding_copy(struct process *p, enum stream stream, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = journal_read(&p->journal, p->engine->siding[0], stream, len - done);

        if (n <= 0)
            abort();
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Nothing was spliced, and nothing will be: the kernel does not allow splice(2) here, or has no
 * memory. */
static void siding_disable(struct engine *e, int rc)
{
    log_warn("cannot splice output between pipes (%s): reading it directly", strerror(-rc));
    io_close(&e->siding[0]);
    io_close(&e->siding[1]);
}

ssize_t siding_read(struct process *p, int fd, enum stream stream, size_t max)
{
    struct engine *e = p->engine;
    struct siding_note *note = &e->state.head->siding;
    ssize_t n;

    if (e->siding[0] < 0 || max < SIDING_MIN_BYTES)
        return journal_read(&p->journal, fd, stream, max);
    memcpy(note->id, p->rec.head->id, sizeof note->id);
    note->stream = (uint32_t)stream;
    atomic_store_explicit(&note->on, 1, memory_order_release);
    n = siding_move(e, fd, max < SIDING_BYTES ? max : SIDING_BYTES);
    if (n > 0)
        n = siding_copy(p, stream, (size_t)n);
    atomic_store_explicit(&note->on, 0, memory_order_release);
    if (n >= 0 || n == -EAGAIN)
        return n;
    siding_disable(e, (int)n);
    return journal_read(&p->journal, fd, stream, max);
}
