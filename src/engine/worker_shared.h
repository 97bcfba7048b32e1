/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_shared.h - memory shared by successive workers
 *
 * The keeper holds it as a memfd. It contains counters, the event log's ring, notes (notes.h), and
 * the slip: a note of the transfer in progress. There is one thread, so at most one read(2) from a
 * process or write(2) to one is in progress at any time. Before the call, the worker notes which
 * process, at which offset, and how many bytes the worker had moved in its lifetime so far. A
 * worker that dies inside the call leaves the slip behind. The kernel's count of what that worker
 * moved (see base/io.h) minus the noted count is exactly what the call moved.
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
    uint32_t len;          /* bytes requested: an upper bound for what can have moved */
    char id[32];           /* process */
    uint64_t at;           /* its journal's or input's offset before the call */
    uint64_t moved_before; /* io_counted() before the call */
};

/* The process whose bytes are in the siding; see siding.h. */
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
    /* The last worker's own count of moved bytes, written at an orderly exit; 0: it had none. */
    uint64_t final_read_bytes, final_written_bytes;
    uint64_t events_bytes;             /* size of the ring after this header */
    uint64_t events_first;             /* oldest id held */
    uint64_t events_next;              /* id of the next event */
    uint64_t events_tail, events_head; /* absolute byte positions in the ring */
    _Atomic uint32_t notes_which;      /* which of the two areas of notes is active */
    struct siding_note siding;
    /* The worker that the slip and the counts above belong to; 0: the last one. It is not in the
     * slip so that the layout stays the same. */
    int32_t owner;
    uint32_t announced; /* the address was reported to the process that started the daemon */
    /* sums of struct usage of all processes that have ended */
    uint64_t used_user_us, used_system_us, used_in_blocks, used_out_blocks;
};

struct shared {
    struct shared_head *head;
    char *events; /* the ring */
    char *notes;  /* two areas of LIMIT_NOTES_BYTES; NULL: the memory comes from an older daemon */
    size_t mapped_bytes;
};

size_t shared_bytes(size_t event_log_bytes);
/* 0 or -errno. Initialises fresh memory, and memory with a damaged header. */
int shared_map(struct shared *s, int fd, size_t event_log_bytes);
bool shared_is_ours(int fd, size_t event_log_bytes); /* whether it can be mapped; changes nothing */
void shared_unmap(struct shared *s);

void worker_slip_note(struct slip *s, enum slip_kind kind, const char *id, uint64_t at, size_t len,
                      uint64_t moved_before);
static inline void slip_clear(struct slip *s)
{
    atomic_store_explicit(&s->kind, SLIP_NONE, memory_order_release);
}

#endif
