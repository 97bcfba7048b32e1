/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_screen.c - what a viewer with a terminal gets besides plain bytes
 *
 * That is a snapshot when it attaches or has missed something, and no query that it must not reply
 * to. Exactly one terminal replies: the one that typed last, or the first that attached. Queries
 * read before it took over that role were handled by another terminal, or by us. Layer: engine.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/viewer_own.h"
#include "term/snapshot.h"

/* --- which terminal replies --------------------------------------------------------- */

static bool may_reply(const struct viewer *v)
{
    return v->terminal && !v->internal && !v->read_only;
}

static void set_answerer(struct viewer *v)
{
    v->process->answerer = v;
    v->quiet_until = journal_next(&v->process->journal);
}

bool viewer_answerer_exists(const struct process *p)
{
    return p->answerer != NULL;
}

void viewer_answerer_typed(struct viewer *v)
{
    if (may_reply(v) && v->process->answerer != v)
        set_answerer(v);
}

/* v is no longer in the list. */
void viewer_answerer_left(struct process *p, const struct viewer *v)
{
    struct list *it, *tmp;

    if (p->answerer != v)
        return;
    p->answerer = NULL;
    viewers_each(it, tmp, p)
    {
        struct viewer *other = list_entry(it, struct viewer, link);
        if (may_reply(other)) {
            set_answerer(other);
            return;
        }
    }
}

/* --- attaching and detaching ----------------------------------------------------------- */

void viewer_screen_attach(struct viewer *v, const struct viewer_options *o)
{
    struct process *p = v->process;

    v->terminal =
        p->rec.head->pty && !o->verbatim && (o->terminal || (!o->internal && !o->read_only));
    v->quiet_until = v->replay_until;
    if (p->answerer == NULL && may_reply(v))
        set_answerer(v);
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

/* The bytes of an open sequence, without the controls in it, which have already taken effect. */
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
 * Where output continues after a snapshot: at the start of the open character or sequence, so that
 * the terminal gets all of it. If that start has left the ring, the rest is turned into a string
 * that displays nothing.
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
 * 1: started. 0: the screen has not caught up yet; it pumps the viewer when it has. Output that
 * arrives after the snapshot was requested need not be in it: otherwise a process that writes
 * faster than the screen is built would delay it forever.
 */
static int snapshot_begin(struct viewer *v)
{
    struct process *p = v->process;
    struct screen *s = screen_use(p);

    if (v->snapshot_until == 0)
        v->snapshot_until = journal_next(&p->journal);
    if (!screen_advance(s, v->snapshot_until)) {
        v->at = s->term->vt.at; /* output before this offset is no longer needed */
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
    bool focus = v->at >= v->replay_until || modes_on(screen_terminal_modes(p), MODE_FOCUS);
    size_t quiet = s->len; /* a whole run may extend past the quiet part */

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
