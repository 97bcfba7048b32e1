/* SPDX-License-Identifier: Apache-2.0 */
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

/* The header has a page of its own, so the ring may grow a field beside it. */
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

/* Memory of another layout is refused before an upgrade, see shared_is_ours(). So a head that is
 * not ours here is one that a worker damaged, and each worker after it would fail at it. */
static void shared_claim(struct shared_head *h, size_t event_log_bytes)
{
    if (head_is_ours(h, event_log_bytes))
        return;
    if (h->magic != 0) {
        log_error("the state that an earlier worker left is damaged and starts anew");
        memset(h, 0, SHARED_HEAD_BYTES);
    }
    shared_init(h, event_log_bytes);
}

/* What cannot be understood starts anew. Counters need no look: they are only shown. */
static void shared_repair(struct shared *s)
{
    struct shared_head *h = s->head;

    h->slip.id[sizeof h->slip.id - 1] = h->siding.id[sizeof h->siding.id - 1] = '\0';
    if (!events_are_sound(s)) {
        log_error("the event log that an earlier worker left is damaged and starts anew");
        h->events_head = h->events_tail = 0;
        if (h->events_next < 1 || h->events_next > INT64_MAX)
            h->events_next = 1;
        h->events_first = h->events_next;
    }
    if (s->notes != NULL && !notes_are_sound(s)) {
        log_error("the notes that an earlier worker left are damaged and are forgotten");
        notes_clear(s);
    }
}

int shared_map(struct shared *s, int fd, size_t event_log_bytes)
{
    size_t len = shared_bytes(event_log_bytes);
    struct stat st;
    void *mem;

    /* Memory that is shorter than what is mapped is answered by SIGBUS. */
    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < SHARED_HEAD_BYTES + event_log_bytes)
        return -EPROTO;
    mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mem == MAP_FAILED)
        return -errno;
    s->head = mem;
    s->events = (char *)mem + SHARED_HEAD_BYTES;
    /* After an upgrade the memory is as large as the older binary made it. */
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
    /* Empty while half written: a kill in between must not pair old with new. */
    atomic_store_explicit(&s->kind, SLIP_NONE, memory_order_release);
    memcpy(s->id, id, sizeof s->id);
    s->len = (uint32_t)len;
    s->at = at;
    s->moved_before = moved_before;
    atomic_store_explicit(&s->kind, (uint32_t)kind, memory_order_release);
}
