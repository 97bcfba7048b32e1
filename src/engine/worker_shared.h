/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_shared.h - memory that all workers share, one after the other
 *
 * The keeper holds it as a memfd. It has counters, the event log's ring, notes (notes.h), and
 * the slip: one note of the transfer that is under way. There is one thread,
 * so there is at most one read(2) from a process or write(2) to one at any
 * time. Before it, the worker notes which process, at which offset, and how
 * many bytes it had moved in its life so far. A worker that dies inside the
 * call leaves the slip behind; the kernel's count of what it moved (see
 * base/io.h) minus the noted one is exactly what that call moved.
 *
 * Owned by struct engine. Layer: engine.
 */
#ifndef HF_ENGINE_WORKER_SHARED_H
#define HF_ENGINE_WORKER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_MAGIC 0x68667331u
#define SHARED_LAYOUT 1

enum slip_kind { SLIP_NONE, SLIP_READ, SLIP_WRITE };

struct slip {
    _Atomic uint32_t kind;
    uint32_t len;          /* bytes asked for: a bound for what can have moved */
    char id[32];           /* process */
    uint64_t at;           /* its journal's or input's offset before the call */
    uint64_t moved_before; /* io_counted() before the call */
};

/* Whose bytes are in the siding; see siding.h. */
struct siding_note {
    _Atomic uint32_t on;
    uint32_t stream;
    char id[32];
};

struct shared_head {
    uint32_t magic, layout;
    struct slip slip;
    uint64_t spawned_total, spawn_failed_total, exited_total;
    uint64_t output_bytes_total, input_bytes_total;
    int64_t started_wall_ms, last_activity_wall_ms;
    /* What the last worker believed to have moved when it left in order; 0: it did not. */
    uint64_t final_read_bytes, final_written_bytes;
    uint64_t events_bytes;             /* size of the ring behind this header */
    uint64_t events_first;             /* oldest id held */
    uint64_t events_next;              /* id of the next event */
    uint64_t events_tail, events_head; /* absolute byte positions in the ring */
    _Atomic uint32_t notes_which;      /* which of the two areas of notes counts */
    struct siding_note siding;
    /* The worker that left the slip and the counts above, or would; 0: the last one. Not in the slip: the layout stays. */
    int32_t owner;
    uint32_t announced; /* whoever started the daemon was told where it listens */
};

struct shared {
    struct shared_head *head;
    char *events; /* the ring */
    char *notes;  /* two areas of LIMIT_NOTES_BYTES; NULL: memory of an older daemon */
    size_t mapped_bytes;
};

size_t shared_bytes(size_t event_log_bytes);
/* 0 or -errno. Fresh memory is initialised, and so is memory whose head is damaged. */
int shared_map(struct shared *s, int fd, size_t event_log_bytes);
bool shared_is_ours(int fd, size_t event_log_bytes); /* could it be mapped? Only looks */
void shared_unmap(struct shared *s);

void worker_slip_note(struct slip *s, enum slip_kind kind, const char *id, uint64_t at, size_t len,
                      uint64_t moved_before);
static inline void slip_clear(struct slip *s)
{
    atomic_store_explicit(&s->kind, SLIP_NONE, memory_order_release);
}

#endif
