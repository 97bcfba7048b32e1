/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_check.c - checks whether what an earlier worker left in a record is usable
 *
 * A worker that was compromised, or that wrote out of bounds, must not bring down the next one.
 * Every offset, length and index of the record is checked once, before it is used. What describes
 * bytes (offsets, marks, input) must be right, or the record is refused. What can be rebuilt or
 * lost (modes, titles, counts) is reset. Layer: engine.
 */
#include <string.h>

#include "engine/journal/record.h"

#define TERMINATE(text) ((text)[sizeof(text) - 1] = '\0')

/*
 * Marks are in order and not past the end. When all slots are in use, the oldest may be half
 * overwritten, so it is not checked. For a long history in a file, checking the newest ones is
 * enough.
 */
static bool marks_are_sound(const struct record *r)
{
    const struct record_head *h = r->head;
    uint64_t n = h->mark_next, held = n < r->mark_slots ? n : r->mark_slots - 1, at = 0;

    if (held > RECORD_MARKS)
        held = RECORD_MARKS;
    for (uint64_t i = n - held; i < n; i++) {
        const struct mark *m = &r->marks[i % r->mark_slots];

        if (m->at < at || m->at > h->next || m->stream > STREAM_STDERR)
            return false;
        at = m->at;
    }
    return true;
}

static bool journal_is_sound(const struct record *r)
{
    const struct record_head *h = r->head;

    return h->next <= INT64_MAX && h->floor <= h->next && h->mark_next <= INT64_MAX &&
           h->pattern_to <= h->next + h->ring_bytes && marks_are_sound(r);
}

static bool input_is_sound(const struct record_head *h)
{
    const struct input_commit *c = &h->commit[h->commit_which & 1];

    return h->input_tail <= c->head && c->head - h->input_tail <= LIMIT_INPUT_BYTES &&
           c->client < LIMIT_INPUT_CLIENTS + LIMIT_INPUT_GUESTS;
}

static bool numbers_are_sound(const struct record_head *h)
{
    return h->rows <= TERMINAL_SIZE_MAX && h->cols <= TERMINAL_SIZE_MAX &&
           h->delivery <= DELIVERY_LOSSLESS && h->on_detach <= DETACH_KILL_AFTER &&
           (!h->exit_set || (h->exit.kind <= EXIT_LOST && h->exit.offset <= h->next));
}

/* The guests' page stays untouched if there are none. */
static void terminate_texts(const struct record *r)
{
    struct record_head *h = r->head;

    TERMINATE(h->id);
    TERMINATE(h->ended_by);
    TERMINATE(h->exit.by);
    TERMINATE(h->osc_title);
    TERMINATE(h->osc_cwd);
    for (size_t i = 0; i < LIMIT_INPUT_CLIENTS; i++)
        TERMINATE(h->clients[i].name);
    for (size_t i = 0; h->guests_used && i < LIMIT_INPUT_GUESTS; i++)
        TERMINATE(r->guests[i].name);
}

/* --- what is reset ------------------------------------------------------------------- */

static bool vt_is_sound(const struct vt *v, const struct modes *m)
{
    return v->count <= VT_PARAMS && v->mains <= VT_PARAMS && v->token_at <= v->at && m->shift < 4 &&
           m->keys_count[0] <= MODES_KEY_STACK && m->keys_count[1] <= MODES_KEY_STACK;
}

static void repair_tracker(struct record *r)
{
    struct record_head *h = r->head;
    const struct tracker_state *s = &h->tracker.state[h->tracker.which & 1];

    if (!vt_is_sound(&s->vt, &s->modes) || s->vt.at > h->next) {
        memset(&h->tracker, 0, sizeof h->tracker);
        tracker_start(&h->tracker);
    }
    /* Checkpoints that were never made are all 0, which is sound; their pages stay untouched. */
    for (size_t i = 0; i < TRACKER_CHECKPOINTS && i < h->tracker.checkpoints; i++)
        if (!vt_is_sound(&r->tracker->checkpoint[i].vt, &r->tracker->checkpoint[i].modes))
            h->tracker.checkpoints = 0;
}

static void repair_rest(struct record_head *h)
{
    uint32_t units = h->units.which;

    if (units > 2 || (units > 0 && h->units.point[units - 1].at > h->next))
        h->units.which = 0;
    if (h->osc_from > h->next)
        h->osc_from = h->next;
    if (h->end_kind > EXIT_LOST)
        h->end_kind = EXIT_KILLED;
}

bool record_check(struct record *r)
{
    terminate_texts(r);
    if (!journal_is_sound(r) || !input_is_sound(r->head) || !numbers_are_sound(r->head))
        return false;
    repair_tracker(r);
    repair_rest(r->head);
    return true;
}
