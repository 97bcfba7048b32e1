/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - POST /v1/processes/{id}/wait: the first of several things
 *
 * The one who waits is an internal viewer that holds the process rather than
 * miss a byte. A search that is slow for its pattern is fed a bounded piece
 * per turn of the loop; meanwhile the viewer is not ready. Pauses are found by one
 * timer that is not restarted by output: when it fires, it looks how long ago
 * the last byte was and sleeps for the rest. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/native/answer.h"
#include "dialects/native/ask.h"
#include "dialects/native/handlers.h"
#include "dialects/native/scan.h"
#include "engine/viewer.h"

/* Output silent this long may be a prompt: "$" of a regex is then tried at its end. */
#define WAIT_PAUSE_MS 100
#define WAIT_OUTPUT_BYTES LIMIT_RUN_OUTPUT_BYTES

struct wait {
    struct op op;
    struct http_request *rq;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct scan *scan;
    struct buf pending; /* got from the viewer, not yet searched */
    size_t turn_left;   /* bytes that may still be searched in this turn */
    struct timer *turn, *timeout, *idle;
    uint64_t from, last_ms; /* last_ms: of the last byte, or the start */
    uint64_t expires_at;    /* time is up, but output up to here counts still; UINT64_MAX: not */
    int64_t quiet_ms;       /* shortest wished silence; 0: none */
    size_t quiet_index, exit_index;
    bool wants_exit, pause_asked;
};

enum outcome { OUTCOME_MATCH, OUTCOME_QUIET, OUTCOME_EXIT, OUTCOME_NONE, OUTCOME_TIMED_OUT };

static void wait_free(struct wait *w)
{
    viewer_detach(w->viewer);
    scan_free(w->scan);
    buf_fini(&w->pending);
    timer_close(w->turn);
    timer_close(w->timeout);
    timer_close(w->idle);
    native_wait_end(w->op.native);
    op_fini(&w->op);
    process_unref(w->process);
    free(w);
}

static void wait_on_gone(void *user)
{
    wait_free(user);
}

static void wait_on_going(struct op *op)
{
    struct wait *w = list_entry(op, struct wait, op);
    struct hf_error err;

    native_check_open(op->native, &err);
    http_reply_error(w->rq, &err);
    wait_free(w);
}

static void wait_on_free(struct op *op)
{
    wait_free(list_entry(op, struct wait, op));
}

static const struct op_kind wait_kind = {.on_drain = wait_on_going, .on_free = wait_on_free};

/* --- the answer ---------------------------------------------------------------- */

/* Up to where output has been searched. */
static uint64_t wait_searched(const struct wait *w)
{
    return viewer_offset(w->viewer) - w->pending.len;
}

/* The output in between: the end of it if it is long, from a whole character on. */
static void write_between(const struct wait *w, struct json_out *o, uint64_t end)
{
    const struct journal *j = process_journal(w->process);
    uint64_t first = journal_first(j), start = w->from;

    if (end - start > WAIT_OUTPUT_BYTES)
        start = end - WAIT_OUTPUT_BYTES;
    if (start < first)
        start = first < end ? first : end;
    for (int i = 0; i < 3 && start > w->from && start < end &&
                    ((unsigned char)*journal_bytes(j, start) & 0xC0) == 0x80;
         i++)
        start++;
    json_key(o, "output");
    json_open(o, '{');
    json_ku64(o, "offset", start);
    write_data(o, journal_bytes(j, start), (size_t)(end - start));
    json_shut(o, '}');
    json_ku64(o, "omitted_bytes", start - w->from);
}

static void write_matched(struct json_out *o, const char *kind, const size_t *index,
                          const struct scan_match *m)
{
    json_kstr(o, "matched", kind);
    if (index != NULL)
        json_ku64(o, "index", *index);
    else
        json_knull(o, "index");
    if (m == NULL) {
        json_knull(o, "match");
        return;
    }
    json_key(o, "match");
    json_open(o, '{');
    json_ku64(o, "from", m->start);
    json_ku64(o, "to", m->end);
    json_shut(o, '}');
}

static void write_outcome(const struct wait *w, struct json_out *o, enum outcome outcome,
                          const struct scan_match *m, const char *kind)
{
    switch (outcome) {
    case OUTCOME_MATCH: write_matched(o, kind, &m->index, m); break;
    case OUTCOME_QUIET: write_matched(o, wait_kind_name(WAIT_QUIET), &w->quiet_index, NULL); break;
    case OUTCOME_EXIT: write_matched(o, wait_kind_name(WAIT_EXIT), &w->exit_index, NULL); break;
    default: write_matched(o, NULL, NULL, NULL); break;
    }
    json_kbool(o, "timed_out", outcome == OUTCOME_TIMED_OUT);
}

/* Answers and frees. m: for OUTCOME_MATCH. */
static void wait_finish(struct wait *w, enum outcome outcome, const struct scan_match *m)
{
    struct json_out o = answer_open(w->op.native);
    uint64_t end = m != NULL ? m->end : wait_searched(w);
    struct process_view v;

    process_view(w->process, &v);
    write_outcome(w, &o, outcome, m,
                  m != NULL ? wait_kind_name(scan_kind(w->scan, m->index)) : NULL);
    json_kstr(&o, "status", v.running ? "running" : "exited");
    write_exit(&o, exit_of(&v));
    json_ku64(&o, "from", w->from);
    json_ku64(&o, "next", end);
    write_between(w, &o, end);
    answer_send(w->rq, 200, &o);
    wait_free(w);
}

/* --- output ----------------------------------------------------------------------- */

/* Searches what this turn still allows. The number searched, or -1 when it has ended. */
static ssize_t wait_search(struct wait *w, const char *bytes, size_t len)
{
    struct scan_match m;
    size_t n = len < w->turn_left ? len : w->turn_left;

    w->turn_left -= n;
    if (!scan_is_empty(w->scan) && scan_feed(w->scan, bytes, n, &m)) {
        wait_finish(w, OUTCOME_MATCH, &m);
        return -1;
    }
    return (ssize_t)n;
}

/* Time was up while output that counts was still to be searched. */
static bool wait_is_expired(struct wait *w)
{
    if (w->expires_at > wait_searched(w))
        return false;
    wait_finish(w, OUTCOME_TIMED_OUT, NULL);
    return true;
}

static void wait_idle_arm(struct wait *w);

static void wait_bytes(void *arg, const struct slice *s)
{
    struct wait *w = arg;
    ssize_t n;

    w->last_ms = loop_now_ms(http_loop(w->rq));
    w->pause_asked = false;
    n = wait_search(w, s->bytes, s->len);
    if (n < 0)
        return;
    buf_put(&w->pending, s->bytes + n, s->len - (size_t)n);
    if (!wait_is_expired(w))
        wait_idle_arm(w);
}

static bool wait_ready(void *arg)
{
    struct wait *w = arg;

    if (w->turn_left > 0 && w->pending.len == 0)
        return true;
    if (!timer_is_active(w->turn))
        timer_start(w->turn, 0);
    return false;
}

/* A new turn: more may be searched. */
static void wait_on_turn(struct timer *t, void *arg)
{
    struct wait *w = arg;
    ssize_t n;

    w->turn_left = scan_turn_bytes(w->scan);
    n = wait_search(w, buf_data(&w->pending), w->pending.len);
    if (n < 0)
        return;
    buf_drop(&w->pending, (size_t)n);
    if (wait_is_expired(w))
        return;
    if (w->pending.len > 0)
        timer_start(t, 0);
    else
        viewer_pump(w->viewer);
}

/* A viewer that holds the process misses nothing it was promised at its start. */
static void wait_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void wait_exited(void *arg, const struct exit_record *x)
{
    struct wait *w = arg;
    struct scan_match m;

    (void)x;
    if (scan_at_end(w->scan, &m))
        wait_finish(w, OUTCOME_MATCH, &m);
    else
        wait_finish(w, w->wants_exit ? OUTCOME_EXIT : OUTCOME_NONE, NULL);
}

static const struct viewer_ops wait_ops = {
    .ready = wait_ready,
    .bytes = wait_bytes,
    .gap = wait_gap,
    .exited = wait_exited,
};

/* --- time ---------------------------------------------------------------------------- */

static uint64_t wait_silent_ms(const struct wait *w)
{
    return loop_now_ms(http_loop(w->rq)) - w->last_ms;
}

/* Sleeps until the next thing that silence would bring, if there is one. */
static void wait_idle_arm(struct wait *w)
{
    uint64_t silent = wait_silent_ms(w), due = UINT64_MAX;

    if (w->idle == NULL || timer_is_active(w->idle))
        return;
    if (w->quiet_ms > 0)
        due = (uint64_t)w->quiet_ms;
    if (scan_has_regex(w->scan) && !w->pause_asked && due > WAIT_PAUSE_MS)
        due = WAIT_PAUSE_MS;
    if (due != UINT64_MAX)
        timer_start(w->idle, due > silent ? due - silent : 0);
}

static void wait_on_idle(struct timer *t, void *arg)
{
    struct wait *w = arg;
    uint64_t silent = wait_silent_ms(w);
    bool behind =
        w->pending.len > 0 || viewer_offset(w->viewer) < journal_next(process_journal(w->process));
    struct scan_match m;

    (void)t;
    if (!behind && silent >= WAIT_PAUSE_MS && !w->pause_asked) {
        w->pause_asked = true;
        if (scan_at_end(w->scan, &m)) {
            wait_finish(w, OUTCOME_MATCH, &m);
            return;
        }
    }
    if (!behind && w->quiet_ms > 0 && silent >= (uint64_t)w->quiet_ms) {
        wait_finish(w, OUTCOME_QUIET, NULL);
        return;
    }
    if (behind)
        w->last_ms = loop_now_ms(http_loop(w->rq)); /* there is output, so it is not silent */
    wait_idle_arm(w);
}

static void wait_on_timeout(struct timer *t, void *arg)
{
    struct wait *w = arg;

    (void)t;
    w->expires_at = journal_next(process_journal(w->process));
    wait_is_expired(w);
}

/* --- the start ------------------------------------------------------------------------- */

static int wait_resolve_from(const struct wait_ask *ask, const struct journal *j, uint64_t *from,
                             struct hf_error *err)
{
    uint64_t first = journal_first(j), next = journal_next(j);

    *from = ask->from < 0 ? first : (uint64_t)ask->from;
    if (*from > next)
        return hf_fail_field(err, HF_E_range_not_satisfiable, "from",
                             "offset %llu is beyond the output, which ends at %llu",
                             (unsigned long long)*from, (unsigned long long)next);
    if (*from < first)
        return hf_fail_field(err, HF_E_offset_gone, "from",
                             "output before %llu is gone; wait from there on",
                             (unsigned long long)first);
    return 0;
}

static void wait_note_conditions(struct wait *w, const struct wait_ask *ask)
{
    for (size_t i = 0; i < ask->count; i++) {
        const struct wait_condition *c = &ask->until[i];

        if (c->kind == WAIT_EXIT && !w->wants_exit) {
            w->wants_exit = true;
            w->exit_index = i;
        } else if (c->kind == WAIT_QUIET && (w->quiet_ms == 0 || c->quiet_ms < w->quiet_ms)) {
            w->quiet_ms = c->quiet_ms;
            w->quiet_index = i;
        }
    }
}

static void wait_start_timers(struct wait *w, const struct wait_ask *ask, struct loop *loop)
{
    w->last_ms = loop_now_ms(loop);
    w->expires_at = UINT64_MAX;
    w->turn = timer_new(loop, wait_on_turn, w);
    if (w->quiet_ms > 0 || scan_has_regex(w->scan))
        w->idle = timer_new(loop, wait_on_idle, w);
    wait_idle_arm(w);
    if (ask->timeout_ms >= 0) {
        w->timeout = timer_new(loop, wait_on_timeout, w);
        timer_start(w->timeout, (uint64_t)ask->timeout_ms);
    }
}

static int wait_attach(struct wait *w, struct hf_error *err)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = w->from,
        .internal = true,
        .lossless = true,
        .read_only = true,
        .only_stream = -1,
    };

    return viewer_attach(w->process, &o, &wait_ops, w, &w->viewer, err);
}

static int wait_begin(struct http_request *rq, struct process *p, const struct wait_ask *ask,
                      struct hf_error *err)
{
    struct journal *j = process_journal(p);
    uint64_t from = 0;
    struct scan *scan;
    struct wait *w;
    int before;

    if (wait_resolve_from(ask, j, &from, err) < 0)
        return -1;
    before = from > journal_first(j) ? (unsigned char)*journal_bytes(j, from - 1) : -1;
    scan = scan_new(ask, from, before, err);
    if (scan == NULL)
        return -1;
    if (native_wait_begin(native_of(rq), err) < 0) {
        scan_free(scan);
        return -1;
    }
    w = hf_xalloc(sizeof *w);
    op_init(&w->op, native_of(rq), &wait_kind);
    w->rq = rq;
    w->process = process_ref(p);
    w->scan = scan;
    w->from = from;
    w->turn_left = scan_turn_bytes(scan);
    wait_note_conditions(w, ask);
    if (wait_attach(w, err) < 0) {
        wait_free(w);
        return -1;
    }
    http_set_user(rq, w, wait_on_gone);
    wait_start_timers(w, ask, http_loop(rq));
    return 0;
}

void wait_handle(struct http_request *rq)
{
    struct process *p = ask_process(rq);
    json_auto_t *body = NULL;
    struct wait_ask ask;
    struct hf_error err;

    if (p == NULL)
        return;
    body = ask_json(rq, &err);
    if (body == NULL || wait_ask_decode(body, &ask, &err) < 0 || wait_begin(rq, p, &ask, &err) < 0)
        http_reply_error(rq, &err);
}
