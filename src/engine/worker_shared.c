/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_shared.c - maps, checks and repairs the shared state. Layer: engine.
 */
#include "engine/worker_shared.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/events.h"
#include "engine/notes.h"

/* The header occupies a whole page, so that it can gain fields without moving the ring. */
#define SHARED_HEAD_BYTES 4096

_Static_assert(sizeof(struct shared_head) <= SHARED_HEAD_BYTES, "state header fits its page");

size_t shared_bytes(size_t event_log_bytes)
{
    return SHARED_HEAD_BYTES + event_log_bytes + 2 * (size_t)LIMIT_NOTES_BYTES;
}

static void shared_init(struct shared_head *h, size_t event_log_bytes)
{
    h->layout = SHARED_LAYOUT;
    h->started_wall_ms = h->last_activity_wall_ms = clock_wall_ms();
    h->events_bytes = event_log_bytes;
    h->events_first = h->events_next = 1;
    h->magic = SHARED_MAGIC;
}

static bool head_is_ours(const struct shared_head *h, size_t event_log_bytes)
{
    return h->magic == SHARED_MAGIC && h->layout == SHARED_LAYOUT &&
           h->events_bytes == event_log_bytes;
}

/* An upgrade to another layout is refused beforehand, see shared_is_ours(). So a header that is not
 * ours here was damaged by a worker, and every later worker would fail on it. */
static void shared_claim(struct shared_head *h, size_t event_log_bytes)
{
    if (head_is_ours(h, event_log_bytes))
        return;
    if (h->magic != 0) {
        log_error("the state left by an earlier worker is damaged; resetting it");
        memset(h, 0, SHARED_HEAD_BYTES);
    }
    shared_init(h, event_log_bytes);
}

/* Resets what is not valid. Counters need no check: they are only displayed. */
static void shared_repair(struct shared *s)
{
    struct shared_head *h = s->head;

    h->slip.id[sizeof h->slip.id - 1] = h->siding.id[sizeof h->siding.id - 1] = '\0';
    if (!events_are_sound(s)) {
        log_error("the event log left by an earlier worker is damaged; starting an empty one");
        h->events_head = h->events_tail = 0;
        if (h->events_next < 1 || h->events_next > INT64_MAX)
            h->events_next = 1;
        h->events_first = h->events_next;
    }
    if (s->notes != NULL && !notes_are_sound(s)) {
        log_error("the notes left by an earlier worker are damaged; discarding them");
        notes_clear(s);
    }
}

int shared_map(struct shared *s, int fd, size_t event_log_bytes)
{
    size_t len = shared_bytes(event_log_bytes);
    struct stat st;
    void *mem;

    /* Accessing a mapping beyond the end of its file raises SIGBUS. */
    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < SHARED_HEAD_BYTES + event_log_bytes)
        return -EPROTO;
    mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mem == MAP_FAILED)
        return -errno;
    s->head = mem;
    s->events = (char *)mem + SHARED_HEAD_BYTES;
    /* After an upgrade, the memory still has the size that the older binary gave it. */
    s->notes = (uint64_t)st.st_size >= len ? s->events + event_log_bytes : NULL;
    s->mapped_bytes = len;
    shared_claim(s->head, event_log_bytes);
    shared_repair(s);
    return 0;
}

bool shared_is_ours(int fd, size_t event_log_bytes)
{
    struct shared_head *h = mmap(NULL, sizeof *h, PROT_READ, MAP_SHARED, fd, 0);
    struct stat st;
    bool ours;

    if (h == MAP_FAILED)
        return false;
    ours = fstat(fd, &st) == 0 && (uint64_t)st.st_size >= sizeof *h &&
           (h->magic == 0 || head_is_ours(h, event_log_bytes));
    munmap(h, sizeof *h);
    return ours;
}

void shared_unmap(struct shared *s)
{
    if (s->head != NULL)
        munmap(s->head, s->mapped_bytes);
    memset(s, 0, sizeof *s);
}

void worker_slip_note(struct slip *s, enum slip_kind kind, const char *id, uint64_t at, size_t len,
                      uint64_t moved_before)
{
    /* Mark it empty while half written: a kill in between must not pair old fields with new
     * ones. */
    atomic_store_explicit(&s->kind, SLIP_NONE, memory_order_release);
    memcpy(s->id, id, sizeof s->id);
    s->len = (uint32_t)len;
    s->at = at;
    s->moved_before = moved_before;
    atomic_store_explicit(&s->kind, (uint32_t)kind, memory_order_release);
}
