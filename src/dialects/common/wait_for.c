/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_for.c - waits for output and time (wait_for.h)
 *
 * A wait is an internal viewer that gets output in small pieces, within the time budget that all
 * heavy work shares (base/work.h). The caller decides whether the process waits for a slow search;
 * if not, the search restarts after what it missed. One timer finds pauses. Output does not restart
 * it: when it fires, it checks how long ago the last byte came and sleeps for the rest.
 * Layer: dialects.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/common/wait_for_own.h"
#include "engine/engine.h"

/* After this much silence the output may end in a prompt: "$" of a regex is tried at its end. */
#define WAIT_PAUSE_MS 100

/* Stops all callbacks. */
static void wait_stop(struct wait *w)
{
    wait_facts_stop(w);
    viewer_detach(w->viewer);
    timer_close(w->timeout);
    timer_close(w->idle);
    w->viewer = NULL;
    w->timeout = w->idle = NULL;
}

void wait_cancel(struct wait *w)
{
    if (w == NULL)
        return;
    wait_stop(w);
    task_cancel(&w->deliver);
    scan_free(w->scan);
    process_unref(w->process);
    free(w);
}

static uint64_t wait_now(const struct wait *w)
{
    return loop_now_ms(engine_loop(process_engine(w->process)));
}

bool wait_is_behind(const struct wait *w)
{
    return viewer_offset(w->viewer) < journal_next(process_journal(w->process));
}

/* --- the end --------------------------------------------------------------------------- */

static void wait_deliver(void *arg)
{
    struct wait *w = arg;

    w->fn(w->arg, &w->result);
    wait_cancel(w);
}

/*
 * The wait is over. It is reported when there is time, because the reply may contain much output,
 * and one exit or time-out may end many waits in one turn.
 */
static void wait_finish(struct wait *w, size_t index, enum wait_kind kind,
                        const struct scan_match *m, bool timed_out)
{
    struct loop *loop = engine_loop(process_engine(w->process));

    w->result = (struct wait_result){
        .process = w->process,
        .index = index,
        .kind = kind,
        .timed_out = timed_out,
        .from = w->from,
        .end = m != NULL ? m->end : viewer_offset(w->viewer),
        .missed = w->missed,
    };
    if (m != NULL) {
        w->match = *m;
        w->result.match = &w->match;
    }
    wait_stop(w);
    if (loop_has_time(loop)) {
        wait_deliver(w);
        return;
    }
    w->deliver = (struct task){.fn = wait_deliver, .arg = w};
    loop_defer_work(loop, &w->deliver);
}

static void wait_finish_match(struct wait *w, const struct scan_match *m)
{
    wait_finish(w, m->index, scan_kind(w->scan, m->index), m, false);
}

void wait_finish_kind(struct wait *w, enum wait_kind kind, size_t index)
{
    wait_finish(w, index, kind, NULL, false);
}

static void wait_finish_none(struct wait *w, bool timed_out)
{
    wait_finish(w, WAIT_NO_INDEX, WAIT_TEXT, NULL, timed_out);
}

/* --- output ----------------------------------------------------------------------- */

/* The time ran out before all relevant output was searched; now it has been. */
static bool wait_is_expired(struct wait *w)
{
    if (w->expires_at > viewer_offset(w->viewer))
        return false;
    wait_finish_none(w, true);
    return true;
}

static void wait_idle_arm(struct wait *w);

static void wait_bytes(void *arg, const struct slice *s)
{
    struct wait *w = arg;
    struct scan_match m;

    w->last_ms = wait_now(w);
    w->pause_asked = false;
    wait_facts_output(w);
    if (scan_feed(w->scan, s->bytes, s->len, &m))
        wait_finish_match(w, &m);
    else if (!wait_is_expired(w))
        wait_idle_arm(w);
}

static void wait_gap(void *arg, uint64_t from, uint64_t to)
{
    struct wait *w = arg;

    w->missed += to - from;
    scan_skip(w->scan, to);
    wait_is_expired(w);
}

static void wait_exited(void *arg, const struct exit_record *x)
{
    struct wait *w = arg;
    struct scan_match m;

    (void)x;
    if (scan_at_end(w->scan, true, &m))
        wait_finish_match(w, &m);
    else if (wait_wants(w, WAIT_EXIT))
        wait_finish_kind(w, WAIT_EXIT, w->index[WAIT_EXIT]);
    else
        wait_finish_none(w, false);
}

static const struct viewer_ops wait_ops = {
    .bytes = wait_bytes,
    .gap = wait_gap,
    .exited = wait_exited,
};

/* --- time ---------------------------------------------------------------------------- */

static uint64_t wait_silent_ms(const struct wait *w)
{
    return wait_now(w) - w->last_ms;
}

/* Sleeps until silence would meet the next condition, if there is one. */
static void wait_idle_arm(struct wait *w)
{
    uint64_t silent = wait_silent_ms(w), due = UINT64_MAX;

    if (w->idle == NULL || timer_is_active(w->idle))
        return;
    if (w->quiet_ms > 0)
        due = (uint64_t)w->quiet_ms;
    if (scan_needs_pauses(w->scan) && !w->pause_asked && due > WAIT_PAUSE_MS)
        due = WAIT_PAUSE_MS;
    if (due != UINT64_MAX)
        timer_start(w->idle, due > silent ? due - silent : 0);
}

static void wait_on_idle(struct timer *t, void *arg)
{
    struct wait *w = arg;
    uint64_t silent = wait_silent_ms(w);
    bool behind = wait_is_behind(w);
    struct scan_match m;

    (void)t;
    if (!behind && silent >= WAIT_PAUSE_MS && !w->pause_asked) {
        w->pause_asked = true;
        if (scan_at_end(w->scan, false, &m)) {
            wait_finish_match(w, &m);
            return;
        }
    }
    if (!behind && w->quiet_ms > 0 && silent >= (uint64_t)w->quiet_ms) {
        wait_finish_kind(w, WAIT_QUIET, w->index[WAIT_QUIET]);
        return;
    }
    if (behind)
        w->last_ms = wait_now(w); /* there is output, so it is not silent */
    wait_idle_arm(w);
}

/* Output that arrived before the time ran out still counts, if it can be searched quickly. */
static void wait_on_timeout(struct timer *t, void *arg)
{
    struct wait *w = arg;

    if (w->expires_at != UINT64_MAX) {
        wait_finish_none(w, true);
        return;
    }
    w->expires_at = journal_next(process_journal(w->process));
    if (!wait_is_expired(w))
        timer_start(t, WAIT_OVERTIME_MS);
}

/* --- the start ------------------------------------------------------------------------- */

static int wait_resolve_from(const struct wait_request *request, const struct journal *j,
                             uint64_t *from, struct hf_error *err)
{
    uint64_t first = journal_first(j), next = journal_next(j);

    *from = request->from < 0 ? first : (uint64_t)request->from;
    if (*from > next)
        return hf_fail_field(err, HF_E_range_not_satisfiable, "from",
                             "offset %llu is beyond the output, which ends at %llu",
                             (unsigned long long)*from, (unsigned long long)next);
    if (*from < first)
        return hf_fail_field(err, HF_E_offset_gone, "from",
                             "output before %llu is no longer kept; wait from there",
                             (unsigned long long)first);
    return 0;
}

/* The first condition of each kind represents all; of silences, the shortest. */
static void wait_note_conditions(struct wait *w, const struct wait_request *request)
{
    for (size_t i = 0; i <= WAIT_ECHO_OFF; i++)
        w->index[i] = WAIT_NO_INDEX;
    for (size_t i = 0; i < request->count; i++) {
        const struct wait_condition *c = &request->until[i];
        bool shorter = c->kind == WAIT_QUIET && c->quiet_ms < w->quiet_ms;

        if (!shorter && wait_wants(w, c->kind))
            continue;
        w->index[c->kind] = i;
        if (c->kind == WAIT_QUIET)
            w->quiet_ms = c->quiet_ms;
    }
}

static void wait_start_timers(struct wait *w, const struct wait_request *request, struct loop *loop)
{
    w->last_ms = loop_now_ms(loop);
    w->expires_at = UINT64_MAX;
    if (w->quiet_ms > 0 || scan_needs_pauses(w->scan))
        w->idle = timer_new(loop, wait_on_idle, w);
    wait_idle_arm(w);
    if (request->timeout_ms >= 0) {
        w->timeout = timer_new(loop, wait_on_timeout, w);
        timer_start(w->timeout, (uint64_t)request->timeout_ms);
    }
}

static int wait_attach(struct wait *w, bool holds, struct hf_error *err)
{
    struct viewer_options o = viewer_own(w->from);

    o.never_holds = !holds;
    o.heavy = !scan_is_empty(w->scan);
    if (o.heavy)
        o.slice_bytes = scan_piece_bytes(w->scan);
    return viewer_attach(w->process, &o, &wait_ops, w, &w->viewer, err);
}

int wait_start(struct process *p, const struct wait_request *request, wait_fn *fn, void *arg,
               struct wait **out, struct hf_error *err)
{
    struct journal *j = process_journal(p);
    uint64_t from = 0;
    struct scan *scan;
    struct wait *w;
    int before;

    if (wait_facts_check(p, request, err) < 0 || wait_resolve_from(request, j, &from, err) < 0)
        return -1;
    before = from > journal_first(j) ? (unsigned char)*journal_bytes(j, from - 1) : -1;
    scan = scan_new(request, from, before, err);
    if (scan == NULL)
        return -1;
    w = hf_xalloc(sizeof *w);
    w->process = process_ref(p);
    w->fn = fn;
    w->arg = arg;
    w->scan = scan;
    w->from = from;
    wait_note_conditions(w, request);
    if (wait_attach(w, request->holds, err) < 0) {
        wait_cancel(w);
        return -1;
    }
    wait_start_timers(w, request, engine_loop(process_engine(p)));
    wait_facts_start(w, request);
    *out = w;
    return 0;
}
