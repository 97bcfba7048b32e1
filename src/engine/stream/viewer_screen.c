/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a viewer with a terminal gets beside plain bytes: a snapshot when it
 * comes or has missed something, and no query that is not for it.
 *
 * One terminal answers: the one that typed last, or the first that came. Queries that were
 * read before it became that one were another's, or ours.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine_own.h"
#include "engine/stream/screen_own.h"
#include "term/snapshot.h"

/* --- who answers -------------------------------------------------------------------- */

static bool may_answer(const struct viewer *v)
{
    return v->terminal && !v->internal && !v->read_only;
}

static void answerer_is(struct viewer *v)
{
    v->process->answerer = v;
    v->quiet_until = journal_next(&v->process->journal);
}

void viewer_answerer_typed(struct viewer *v)
{
    if (may_answer(v) && v->process->answerer != v)
        answerer_is(v);
}

/* v is no longer in the list. */
void viewer_answerer_left(struct process *p, const struct viewer *v)
{
    struct list *it, *tmp;

    if (p->answerer != v)
        return;
    p->answerer = NULL;
    list_for_each (it, tmp, &p->viewers) {
        struct viewer *other = list_entry(it, struct viewer, link);
        if (may_answer(other)) {
            answerer_is(other);
            return;
        }
    }
}

/* --- coming and going ------------------------------------------------------------------ */

void viewer_screen_attach(struct viewer *v, const struct viewer_options *o)
{
    struct process *p = v->process;

    v->terminal =
        p->rec.head->pty && !o->verbatim && (o->terminal || (!o->internal && !o->read_only));
    v->quiet_until = v->replay_until;
    if (p->answerer == NULL && may_answer(v))
        answerer_is(v);
    if (v->terminal && v->ops->snapshot != NULL &&
        (o->since == SINCE_SCREEN || o->since == SINCE_DEFAULT)) {
        v->snapshot_due = true;
        v->at = v->acked = v->replay_until;
    }
}

void viewer_screen_free(struct viewer *v)
{
    free(v->filter);
    buf_fini(&v->snapshot);
}

/* --- snapshots ------------------------------------------------------------------------- */

/* The bytes of a sequence that is open, without the controls in it, which have had their effect. */
static void put_open_sequence(struct buf *out, const struct process *p, const struct vt *vt)
{
    uint64_t at;

    for (at = vt->token_at; at < vt->at; at++) {
        char c = *journal_bytes(&p->journal, at);
        if ((unsigned char)c >= 0x20 || c == 0x1b)
            buf_putc(out, c);
    }
}

/*
 * Where the output goes on behind a snapshot: at the beginning of the character
 * or sequence that is open, so that the terminal gets it whole. One that
 * began too long ago cannot be had again; its rest is made a string that shows nothing.
 */
static uint64_t snapshot_end(struct buf *out, const struct process *p, const struct vt *vt)
{
    if (!vt_is_open(vt))
        return vt->at;
    if (vt->token_at < journal_first(&p->journal)) {
        buf_puts(out, vt->state == VT_OSC ? "\x1b]" : vt->state == VT_DCS ? "\x1bP" : "\x1bX");
        return vt->at;
    }
    if (vt->executed) {
        put_open_sequence(out, p, vt);
        return vt->at;
    }
    return vt->token_at;
}

/*
 * 1: it is begun. 0: the screen is not there yet, and will pump when it is. What comes after the snapshot
 * was wanted need not be in it: a process that writes faster than screens are built would put it off for ever.
 */
static int snapshot_begin(struct viewer *v)
{
    struct process *p = v->process;
    struct screen *s = screen_use(p);

    if (v->snapshot_until == 0)
        v->snapshot_until = journal_next(&p->journal);
    if (!screen_advance(s, v->snapshot_until)) {
        v->at = s->term->vt.at; /* so far it need not be held any more */
        receipt_reset(&v->receipt, v->at);
        v->moved_ms = loop_now_ms(p->engine->loop);
        screen_work(s, v->snapshot_until);
        return 0;
    }
    if (!viewer_has_time(v))
        return 0;
    v->snapshot_until = 0;
    snapshot_write(&v->snapshot, s->term, p->rec.head->osc_title);
    v->at = v->acked = snapshot_end(&v->snapshot, p, &s->term->vt);
    receipt_reset(&v->receipt, v->at);
    v->snapshot_due = false;
    v->stalled = false;
    free(v->filter);
    v->filter = NULL;
    v->ops->snapshot(v->arg, v->at, v->snapshot.len);
    return 1;
}

static int snapshot_send(struct viewer *v)
{
    size_t n = v->snapshot.len < VIEWER_SLICE_BYTES ? v->snapshot.len : VIEWER_SLICE_BYTES;

    v->moved_ms = loop_now_ms(v->process->engine->loop);
    v->ops->snapshot_bytes(v->arg, buf_data(&v->snapshot), n);
    buf_drop(&v->snapshot, n);
    if (v->snapshot.len == 0)
        buf_fini(&v->snapshot);
    return 1;
}

int viewer_screen_step(struct viewer *v)
{
    if (v->snapshot.len > 0)
        return snapshot_send(v);
    return v->snapshot_due ? snapshot_begin(v) : -1;
}

/* --- queries --------------------------------------------------------------------------- */

static bool is_quiet(const struct viewer *v)
{
    return v->terminal && (v->at < v->quiet_until || v->process->answerer != v);
}

size_t viewer_screen_most(const struct viewer *v)
{
    uint64_t left = v->quiet_until - v->at;

    if (v->terminal && v->at < v->quiet_until && left < v->slice_bytes)
        return (size_t)left;
    return v->slice_bytes;
}

void viewer_screen_filter(struct viewer *v, struct slice *s)
{
    struct process *p = v->process;
    struct buf *out = &p->engine->filtered;
    bool focus =
        v->at >= v->replay_until || modes_on(&tracker_state(&p->tracker)->modes, MODE_FOCUS);
    size_t quiet = s->len; /* a whole run may go on behind what is to be quiet */

    if (!is_quiet(v))
        return;
    if (p->answerer == v && v->quiet_until - v->at < quiet)
        quiet = (size_t)(v->quiet_until - v->at);
    if (v->filter == NULL)
        v->filter = hf_xalloc(sizeof *v->filter);
    if (v->filter->vt.at != s->at)
        query_filter_start(v->filter, s->at);
    if (!query_filter_run(v->filter, s->bytes, quiet, focus, out))
        return;
    buf_put(out, s->bytes + quiet, s->len - quiet);
    s->bytes = buf_data(out);
}
