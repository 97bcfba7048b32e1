/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.h - the always-on parser of a terminal's output
 *
 * Every byte passes it on its way into the journal: text at the speed of memory, sequences one by
 * one. It tracks the modes, and reports the program's queries to its terminal. Titles, directories,
 * prompts and bells are osc.h's.
 *
 * The record has two copies of its state: a feed works on the spare copy, and one store makes that
 * copy current. So after a kill at any point the next worker finds the state as of some offset and
 * feeds it the rest from the ring. Now and then a copy is saved (a checkpoint), so that a screen
 * can be built from the oldest bytes in the ring with the right modes. Pure except for that memory.
 * Layer: term.
 */
#ifndef HF_TERM_TRACKER_H
#define HF_TERM_TRACKER_H

#include <stdatomic.h>

#include "term/term_query.h"

/* 0: a build without it, which bench/ measures for comparison. */
#ifndef HF_TRACKER
#define HF_TRACKER 1
#endif

#define TRACKER_CHECKPOINTS 16
/* The farthest a screen reaches back, however large the ring is: about half a second of work. */
#define TRACKER_REACH_BYTES (4 * 1024 * 1024)

struct tracker_state {
    struct vt vt; /* vt.at: everything before it has been parsed */
    struct modes modes;
    struct query_string string;
};

struct tracker_checkpoint {
    struct vt vt;
    struct modes modes;
};

/* In the header of the record. */
struct tracker_head {
    struct tracker_state state[2];
    _Atomic uint32_t which;
    _Atomic uint32_t checkpoints; /* made so far, in total */
};

/* In the record, in pages that most processes never touch. */
struct tracker_room {
    struct tracker_checkpoint checkpoint[TRACKER_CHECKPOINTS];
};

struct tracker {
    struct tracker_head *head;
    struct tracker_room *room;
    uint64_t every; /* bytes between two checkpoints */
};

/* Called for each query, in order; may be NULL. */
typedef void tracker_query_fn(void *arg, const struct query *q, const struct modes *m);

void tracker_init(struct tracker *t, struct tracker_head *head, struct tracker_room *room,
                  uint64_t ring_bytes);
/* For a new record, without output. */
void tracker_start(struct tracker_head *head);
/* Feeds the bytes from tracker_at() on. `rows` is the terminal's height. */
void tracker_feed(struct tracker *t, const void *bytes, size_t len, unsigned rows,
                  tracker_query_fn *fn, void *arg);
void tracker_resized(struct tracker *t);
/* The state after the last feed. */
const struct tracker_state *tracker_state(const struct tracker *t);
uint64_t tracker_at(const struct tracker *t);
/* The oldest checkpoint at or after an offset; false: there is none. */
bool tracker_checkpoint(const struct tracker *t, uint64_t from, struct tracker_checkpoint *out);

#endif
