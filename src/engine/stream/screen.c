/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - the screen of a process's terminal, built from its journal. Layer: engine.
 */
#include "engine/stream/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/viewer_own.h"

/* The most that is fed between two readings of the clock; it takes well below a millisecond.
 * Three bytes can touch a whole screen, so a piece also ends after this many touched cells. */
#define PIECE_BYTES 4096
#define PIECE_WORK (64 * 1024)

/* --- feeding ------------------------------------------------------------------------ */

static uint64_t screen_at(const struct screen *s)
{
    return s->term != NULL ? s->term->vt.at : 0;
}

/* Chooses the offset to start from, and restores what is known there. */
static void screen_begin(struct screen *s)
{
    const struct process *p = s->process;
    uint64_t first = journal_first(&p->journal), next = journal_next(&p->journal);
    uint64_t from = next > TRACKER_REACH_BYTES ? next - TRACKER_REACH_BYTES : 0;
    struct tracker_checkpoint c = {.vt.at = 0};
    struct journal_mark m = {.rows = p->rec.head->rows, .cols = p->rec.head->cols};

    if (from < first)
        from = first;
    if (from > 0 && !tracker_checkpoint(&p->tracker, from, &c)) {
        c.vt = (struct vt){.at = from};
        modes_init(&c.modes);
    }
    /* Of several marks at 0, the first: the others are changes that come later. */
    if (c.vt.at > 0)
        journal_mark_at(&p->journal, c.vt.at, &m);
    else
        journal_mark_from(&p->journal, 0, &m);
    term_free(s->term);
    s->term = term_new(m.rows, m.cols);
    s->mark = m.number + 1;
    if (c.vt.at > 0)
        term_seed(s->term, &c.vt, &c.modes);
}

/* Applies size changes up to the current offset; *next_at is the offset of the next one. Of
 * several with no output in between only the last counts: dragging a window leaves a great many. */
static void apply_sizes(struct screen *s, uint64_t *next_at)
{
    struct journal_mark m, last = {.rows = 0};

    *next_at = UINT64_MAX;
    while (journal_mark_from(&s->process->journal, s->mark, &m)) {
        if (m.at > screen_at(s)) {
            *next_at = m.at;
            break;
        }
        last = m;
        s->mark = m.number + 1;
    }
    if (last.rows > 0)
        term_resize(s->term, last.rows, last.cols);
}

bool screen_advance(struct screen *s, uint64_t until)
{
    const struct journal *j = &s->process->journal;
    uint64_t at, end;

    if (s->term == NULL || screen_at(s) < journal_first(j))
        screen_begin(s);
    for (;;) {
        apply_sizes(s, &end);
        at = screen_at(s);
        if (at >= until || !loop_has_time(s->process->engine->loop))
            break;
        if (end > until)
            end = until;
        if (end - at > PIECE_BYTES)
            end = at + PIECE_BYTES;
        term_feed_some(s->term, journal_bytes(j, at), (size_t)(end - at), PIECE_WORK);
    }
    term_settle(s->term);
    return screen_at(s) >= until;
}

/* --- lifetime ----------------------------------------------------------------------- */

static void screen_on_drop(struct timer *t, void *arg)
{
    struct screen *s = arg;
    const struct process *p = s->process;

    (void)t;
    if (!list_is_empty(&s->waiters))
        timer_start(s->drop, SCREEN_IDLE_MS);
    else if (!process_is_running(p) || !modes_on(screen_terminal_modes(p), MODE_ALT_SCREEN))
        screen_free(s->process);
}

static void run_waiters(struct screen *s)
{
    struct process *p = s->process;
    struct list *it, *tmp;

    list_for_each (it, tmp, &s->waiters) {
        struct screen_waiter *w = list_entry(it, struct screen_waiter, link);
        if (w->until <= screen_at(s)) {
            list_remove(&w->link);
            w->fn(w->arg, p);
            return; /* it may have changed the list: the next turn handles the rest */
        }
    }
}

static uint64_t wanted_until(const struct screen *s)
{
    uint64_t until = s->wanted;
    struct list *it, *tmp;

    list_for_each (it, tmp, &s->waiters) {
        const struct screen_waiter *w = list_entry(it, struct screen_waiter, link);
        if (w->until > until)
            until = w->until;
    }
    return until;
}

/* Builds as much as there is time for, then pumps the viewers that wait for a snapshot. */
static void screen_on_work(void *arg)
{
    struct screen *s = arg;
    struct process *p = process_ref(s->process);
    bool done = screen_advance(s, wanted_until(s));

    run_waiters(s);
    if (p->screen == s && (!done || !list_is_empty(&s->waiters)))
        loop_defer_work(p->engine->loop, &s->work);
    viewers_pump(p);
    pace_update(p);
    process_unref(p);
}

/* Starts at an idle time; the rest is ordinary heavy work. */
static void screen_on_idle(void *arg)
{
    struct screen *s = arg;

    if (!screen_advance(s, journal_next(&s->process->journal)))
        loop_defer_work(s->process->engine->loop, &s->idle);
}

static struct screen *screen_get(struct process *p)
{
    struct screen *s = p->screen;

    if (s != NULL)
        return s;
    s = hf_xalloc(sizeof *s);
    s->process = p;
    s->idle = (struct task){.fn = screen_on_idle, .arg = s};
    s->work = (struct task){.fn = screen_on_work, .arg = s};
    s->drop = timer_new(p->engine->loop, screen_on_drop, s);
    list_init(&s->waiters);
    p->screen = s;
    return s;
}

struct screen *screen_use(struct process *p)
{
    struct screen *s = screen_get(p);

    timer_start(s->drop, SCREEN_IDLE_MS);
    return s;
}

void screen_free(struct process *p)
{
    struct screen *s = p->screen;

    if (s == NULL)
        return;
    p->screen = NULL;
    task_cancel(&s->idle);
    task_cancel(&s->work);
    timer_close(s->drop);
    term_free(s->term);
    free(s);
}

void screen_work(struct screen *s, uint64_t until)
{
    if (until > s->wanted)
        s->wanted = until;
    loop_defer_work(s->process->engine->loop, &s->work);
}

const struct term *process_screen(struct process *p)
{
    struct screen *s;

    if (!p->rec.head->pty)
        return NULL;
    s = screen_use(p);
    return screen_advance(s, journal_next(&p->journal)) ? s->term : NULL;
}

const struct term *screen_as_it_is(const struct process *p)
{
    return p->screen != NULL ? p->screen->term : NULL;
}

void screen_wait(struct process *p, struct screen_waiter *w)
{
    struct screen *s = screen_use(p);

    w->until = journal_next(&p->journal);
    list_append(&s->waiters, &w->link);
    screen_work(s, w->until);
}

void screen_waiter_cancel(struct screen_waiter *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}

/* --- tracking output -------------------------------------------------------------------- */

static void on_query(void *arg, const struct query *q, const struct modes *m)
{
    struct process *p = arg;

    if (!viewer_answerer_exists(p))
        query_reply_request(p, q, m);
}

/* What a full-screen program drew must reach the screen before it leaves the ring. */
static void keep_in_sight(struct process *p)
{
    uint64_t seen = p->screen != NULL ? screen_at(p->screen) : 0;

    if (journal_next(&p->journal) - seen < p->rec.head->ring_bytes / 2)
        return;
    if (p->screen != NULL || modes_on(screen_terminal_modes(p), MODE_ALT_SCREEN))
        loop_defer_idle(p->engine->loop, &screen_get(p)->idle);
}

void screen_terminal_init(struct process *p)
{
    tracker_init(&p->tracker, &p->rec.head->tracker, p->rec.tracker, p->rec.head->ring_bytes);
}

const struct modes *screen_terminal_modes(const struct process *p)
{
    return &tracker_state(&p->tracker)->modes;
}

void screen_terminal_fed(struct process *p, size_t len)
{
    uint64_t at = journal_next(&p->journal) - len;

    if (!HF_TRACKER)
        return;
    tracker_feed(&p->tracker, journal_bytes(&p->journal, at), len, p->rec.head->rows, on_query, p);
    keep_in_sight(p);
}

void screen_terminal_resized(struct process *p)
{
    tracker_resized(&p->tracker);
}

/* Tracks what the last worker read but did not parse. Queries get no reply: it may already have
 * sent one. */
void screen_terminal_recover(struct process *p)
{
    uint64_t at = tracker_at(&p->tracker), next = journal_next(&p->journal);

    if (!p->rec.head->pty || at >= next || at < journal_first(&p->journal))
        return;
    tracker_feed(&p->tracker, journal_bytes(&p->journal, at), (size_t)(next - at),
                 p->rec.head->rows, NULL, NULL);
}

/* --- reading ----------------------------------------------------------------------------- */

void screen_view(struct process *p, const struct term *t, struct screen_view *v)
{
    const struct grid *g = t->now;

    *v = (struct screen_view){
        .rows = t->rows,
        .cols = t->cols,
        .x = g->x < t->cols ? g->x : t->cols - 1,
        .y = g->y,
        .cursor_shown = modes_on(&t->modes, MODE_CURSOR),
        .alternate = t->now == &t->grid[1],
        .title = p->rec.head->osc_title,
        .offset = t->vt.at,
        .scrollback = g->base,
    };
}

void screen_line(const struct term *t, int y, struct buf *out)
{
    const struct grid *g = t->now;
    const struct row *r = grid_row(g, g->base + (size_t)y);
    size_t blank = 0;
    int col;

    for (col = 0; r != NULL && col < t->cols; col++) {
        struct cell c = row_cell(r, col);
        char text[CELL_TEXT_MAX];
        size_t n = term_cell_text(t, c, text);

        if (cell_width(c) == 0 && n == 0)
            continue; /* the right half of a wide character */
        if (n == 0 || (n == 1 && text[0] == ' ')) {
            blank++;
            continue;
        }
        for (; blank > 0; blank--)
            buf_putc(out, ' ');
        buf_put(out, text, n);
    }
}

void screen_text(const struct term *t, size_t lines, struct buf *out)
{
    size_t end = 0;
    int y;

    if (lines > t->now->base)
        lines = t->now->base;
    for (y = -(int)lines; y < t->rows; y++) {
        size_t before = out->len;
        screen_line(t, y, out);
        if (out->len > before)
            end = out->len + 1;
        buf_putc(out, '\n');
    }
    out->len = end < out->len ? end : out->len;
}
