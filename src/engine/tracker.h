/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker.h - the always-on look at a terminal's output
 *
 * Every byte passes it on its way into the journal: text at the speed of
 * memory, sequences one by one. It knows the modes, the title, the directory
 * (OSC 7), where prompts and commands began (OSC 133), how often the bell rang,
 * and says when the program asks its terminal something.
 *
 * Its state is in the record, twice: a feed works on the spare copy and one
 * store makes it count, so after a kill anywhere the next worker finds the state of
 * some offset and feeds it the rest from the ring. Texts have two places each in the same way.
 * Now and then a copy is put aside (a checkpoint), so that a screen can be built
 * from the oldest bytes held with the right modes. Pure but for that memory. Layer: engine.
 */
#ifndef HF_ENGINE_TRACKER_H
#define HF_ENGINE_TRACKER_H

#include <stdatomic.h>

#include "base/limits.h"
#include "engine/query.h"

#define TRACKER_CHECKPOINTS 16
#define TRACKER_OSC_BYTES LIMIT_CWD_BYTES /* the longest text that is wanted */

enum prompt_mark { MARK_PROMPT, MARK_INPUT, MARK_OUTPUT, MARK_DONE, MARKS };

struct tracker_text {
    uint16_t len;
    uint8_t place; /* which of the two */
};

struct tracker_state {
    struct vt vt; /* vt.at: so far everything is known */
    struct modes modes;
    struct query_string string;
    struct tracker_text osc, title, cwd;
    uint8_t osc_wanted; /* the string that is open is kept */
    uint32_t bells, titles, cwds; /* so often; a change of these is a change of what they count */
    uint32_t marks;               /* OSC 133 ever seen */
    int32_t exit_code;            /* of the last OSC 133 D; -1: none told */
    uint8_t last_mark;            /* enum prompt_mark */
    uint64_t mark_at[MARKS];      /* behind the last one of each kind; 0: none yet */
};

struct tracker_checkpoint {
    struct vt vt;
    struct modes modes;
};

/* In the header of the record. */
struct tracker_head {
    struct tracker_state state[2];
    _Atomic uint32_t which;
    _Atomic uint32_t checkpoints; /* ever made */
};

/* In the record, in pages that most processes never touch. */
struct tracker_room {
    struct tracker_checkpoint checkpoint[TRACKER_CHECKPOINTS];
    char title[2][LIMIT_TITLE_BYTES + 1];
    char cwd[2][LIMIT_CWD_BYTES + 1];
    char osc[2][TRACKER_OSC_BYTES + 1];
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
/* A record that is new: nothing has been written. */
void tracker_start(struct tracker *t);
/* The bytes from tracker_at() on. `rows` is the terminal's height. */
void tracker_feed(struct tracker *t, const void *bytes, size_t len, unsigned rows,
                  tracker_query_fn *fn, void *arg);
void tracker_resized(struct tracker *t);
/* What is known after the last feed. */
const struct tracker_state *tracker_state(const struct tracker *t);
uint64_t tracker_at(const struct tracker *t);
const char *tracker_title(const struct tracker *t); /* "" if none */
const char *tracker_cwd(const struct tracker *t);   /* a path; "" if none */
/* The oldest checkpoint at or behind an offset; false: there is none. */
bool tracker_checkpoint(const struct tracker *t, uint64_t from, struct tracker_checkpoint *out);

#endif
