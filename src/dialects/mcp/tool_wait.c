/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool_wait.c - wait_for: the first of a text, a match, silence and the exit
 *
 * The one who waits is an internal viewer that holds the process rather than miss a
 * byte. A search that is slow for its pattern gets a bounded piece per turn of the loop.
 * Silence is found by one timer that output does not restart: when it fires it looks
 * how long ago the last byte was and sleeps for the rest. Layer: dialects.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "dialects/mcp/search.h"
#include "dialects/mcp/tools.h"
#include "engine/viewer.h"

#define WAIT_TIMEOUT_MS 30000 /* by default: under the minute that clients give a call */
/* Output silent this long may be a prompt: "$" of a regex is then tried at its end. */
#define WAIT_PAUSE_MS 100

struct ask {
    const char *process_id;
    json_t *text, *regex;
    int64_t quiet_ms, from, timeout_ms, max_bytes;
    bool exit;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct ask, member, __VA_ARGS__)
static const struct json_field fields[] = {
    F(STR, process_id, .min = 1, .required = true),
    F(ANY, text),
    F(ANY, regex),
    F(INT, quiet_ms, .min = 1, .max = LIMIT_DURATION_MS),
    F(BOOL, exit),
    F(INT, from, .min = 0, .max = INT64_MAX),
    F(INT, timeout_ms, .min = 0, .max = LIMIT_DURATION_MS),
    F(INT, max_bytes, .min = 0, .max = LIMIT_MCP_OUTPUT_MAX_BYTES),
};
#undef F

struct wait {
    struct job job;
    struct process *process; /* referenced */
    struct viewer *viewer;
    struct search *search;
    struct buf pending; /* got from the viewer, not searched yet */
    size_t turn_left;   /* bytes that may still be searched in this turn */
    struct timer *turn, *timeout, *idle;
    uint64_t from, last_ms; /* last_ms: of the last byte, or the start */
    uint64_t expires_at;    /* time is up, but output up to here counts still; UINT64_MAX: not */
    int64_t quiet_ms;       /* 0: not asked for */
    size_t max_bytes;
    bool wants_exit, pause_asked;
};

static void wait_free(struct wait *w)
{
    viewer_detach(w->viewer);
    search_free(w->search);
    buf_fini(&w->pending);
    timer_close(w->turn);
    timer_close(w->timeout);
    timer_close(w->idle);
    process_unref(w->process);
    job_fini(&w->job);
    free(w);
}

static void wait_end(struct job *j, enum call_end why)
{
    (void)why;
    wait_free(list_entry(j, struct wait, job));
}

static const struct job_kind wait_kind = {.end = wait_end};

/* --- the answer ---------------------------------------------------------------- */

/* Up to where output has been searched. */
static uint64_t wait_searched(const struct wait *w)
{
    return viewer_offset(w->viewer) - w->pending.len;
}

static void write_between(const struct wait *w, struct json_out *o, struct buf *text, uint64_t end)
{
    const struct journal *j = process_journal(w->process);
    uint64_t start = w->from < journal_first(j) ? journal_first(j) : w->from;
    struct headtail h;

    headtail_init(&h, w->max_bytes);
    if (start < end)
        headtail_feed(&h, journal_bytes(j, start), (size_t)(end - start));
    tool_write_output(o, text, &h);
    headtail_fini(&h);
}

/* Answers and frees. matched NULL: nothing was; m: where, if it has a place. */
static void wait_finish(struct wait *w, const char *matched, const struct search_match *m,
                        bool timed_out)
{
    struct call *c = w->job.call;
    struct buf *text = &call_mcp(c)->text;
    struct json_out o = tool_open(c);
    uint64_t end = m != NULL ? m->end : wait_searched(w);
    struct process_view v;

    process_view(w->process, &v);
    tool_write_state(&o, &v);
    json_kstr(&o, "matched", matched);
    tool_write_range(&o, "match", m != NULL ? m->start : 0, m != NULL ? m->end : 0);
    json_kbool(&o, "timed_out", timed_out);
    json_ku64(&o, "from", w->from);
    json_ku64(&o, "next", end);
    write_between(w, &o, text, end);
    tool_put_state(text, &v);
    buf_printf(text, timed_out ? "\n[timed out]" : "\n[matched: %s]",
               matched != NULL ? matched : "nothing");
    wait_free(w);
    tool_send(c, &o);
}

static void wait_match(struct wait *w, const struct search_match *m)
{
    wait_finish(w, m->kind == SEARCH_TEXT ? "text" : "regex", m, false);
}

/* --- output ----------------------------------------------------------------------- */

/* Searches what this turn still allows. The number searched, or -1 when it has ended. */
static ssize_t wait_search(struct wait *w, const char *bytes, size_t len)
{
    struct search_match m;
    size_t n = len < w->turn_left ? len : w->turn_left;

    w->turn_left -= n;
    if (search_feed(w->search, bytes, n, &m)) {
        wait_match(w, &m);
        return -1;
    }
    return (ssize_t)n;
}

/* Time was up while output that counts was still to be searched. */
static bool wait_is_expired(struct wait *w)
{
    if (w->expires_at > wait_searched(w))
        return false;
    wait_finish(w, NULL, NULL, true);
    return true;
}

static void wait_idle_arm(struct wait *w);

static uint64_t wait_now(const struct wait *w)
{
    return loop_now_ms(engine_loop(w->job.mcp->engine));
}

static void wait_bytes(void *arg, const struct slice *s)
{
    struct wait *w = arg;
    ssize_t n;

    w->last_ms = wait_now(w);
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

    w->turn_left = search_turn_bytes(w->search);
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
    struct search_match m;

    (void)x;
    if (search_at_end(w->search, &m))
        wait_match(w, &m);
    else
        wait_finish(w, w->wants_exit ? "exit" : NULL, NULL, false);
}

static const struct viewer_ops wait_ops = {
    .ready = wait_ready,
    .bytes = wait_bytes,
    .gap = wait_gap,
    .exited = wait_exited,
};

/* --- time ---------------------------------------------------------------------------- */

/* Sleeps until the next thing that silence would bring, if there is one. */
static void wait_idle_arm(struct wait *w)
{
    uint64_t silent = wait_now(w) - w->last_ms, due = UINT64_MAX;

    if (w->idle == NULL || timer_is_active(w->idle))
        return;
    if (w->quiet_ms > 0)
        due = (uint64_t)w->quiet_ms;
    if (search_has_regex(w->search) && !w->pause_asked && due > WAIT_PAUSE_MS)
        due = WAIT_PAUSE_MS;
    if (due != UINT64_MAX)
        timer_start(w->idle, due > silent ? due - silent : 0);
}

static void wait_on_idle(struct timer *t, void *arg)
{
    struct wait *w = arg;
    uint64_t silent = wait_now(w) - w->last_ms;
    bool behind =
        w->pending.len > 0 || viewer_offset(w->viewer) < journal_next(process_journal(w->process));
    struct search_match m;

    (void)t;
    if (!behind && silent >= WAIT_PAUSE_MS && !w->pause_asked) {
        w->pause_asked = true;
        if (search_at_end(w->search, &m)) {
            wait_match(w, &m);
            return;
        }
    }
    if (!behind && w->quiet_ms > 0 && silent >= (uint64_t)w->quiet_ms) {
        wait_finish(w, "quiet_ms", NULL, false);
        return;
    }
    if (behind)
        w->last_ms = wait_now(w); /* there is output, so it is not silent */
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

static int take_text(const json_t *v, const char *name, struct search_text *out,
                     struct hf_error *err)
{
    if (v == NULL)
        return 0;
    *out = (struct search_text){json_string_value(v), json_string_length(v)};
    if (out->bytes == NULL)
        return hf_fail_field(err, HF_E_bad_type, name, "\"%s\" must be a string", name);
    if (out->len < 1 || out->len > LIMIT_TEXT_BYTES)
        return hf_fail_field(err, HF_E_bad_value, name, "\"%s\" must have 1 to %d bytes", name,
                             LIMIT_TEXT_BYTES);
    return 0;
}

static int resolve_from(const struct ask *a, const struct journal *j, uint64_t *from,
                        struct hf_error *err)
{
    uint64_t first = journal_first(j), next = journal_next(j);

    *from = a->from < 0 ? first : (uint64_t)a->from;
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

static struct search *make_search(const struct ask *a, const struct journal *j, uint64_t from,
                                  struct hf_error *err)
{
    struct search_text text = {0}, regex = {0};
    int before = from > journal_first(j) ? (unsigned char)*journal_bytes(j, from - 1) : -1;

    if (a->text == NULL && a->regex == NULL && a->quiet_ms == 0 && !a->exit) {
        hf_fail(err, HF_E_missing_field, "say what to wait for: text, regex, quiet_ms or exit");
        return NULL;
    }
    if (take_text(a->text, "text", &text, err) < 0 || take_text(a->regex, "regex", &regex, err) < 0)
        return NULL;
    return search_new(text, regex, from, before, err);
}

static void wait_start_timers(struct wait *w, int64_t timeout_ms, struct loop *loop)
{
    w->last_ms = wait_now(w);
    w->turn = timer_new(loop, wait_on_turn, w);
    if (w->quiet_ms > 0 || search_has_regex(w->search))
        w->idle = timer_new(loop, wait_on_idle, w);
    wait_idle_arm(w);
    w->timeout = timer_new(loop, wait_on_timeout, w);
    timer_start(w->timeout, (uint64_t)timeout_ms);
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

static int wait_begin(struct call *c, struct process *p, const struct ask *a, struct hf_error *err)
{
    struct search *search;
    uint64_t from = 0;
    struct wait *w;

    if (resolve_from(a, process_journal(p), &from, err) < 0)
        return -1;
    search = make_search(a, process_journal(p), from, err);
    if (search == NULL)
        return -1;
    w = hf_xalloc(sizeof *w);
    if (job_begin(&w->job, c, &wait_kind, err) < 0) {
        search_free(search);
        free(w);
        return -1;
    }
    w->process = process_ref(p);
    w->search = search;
    w->from = from;
    w->turn_left = search_turn_bytes(search);
    w->expires_at = UINT64_MAX;
    w->quiet_ms = a->quiet_ms;
    w->max_bytes = (size_t)a->max_bytes;
    w->wants_exit = a->exit;
    if (wait_attach(w, err) < 0) {
        wait_free(w);
        return -1;
    }
    wait_start_timers(w, a->timeout_ms, call_loop(c));
    call_watch_progress(c, p);
    return 0;
}

void tool_wait_for(struct call *c, const json_t *arguments)
{
    struct ask a = {.from = -1, .timeout_ms = WAIT_TIMEOUT_MS, .max_bytes = LIMIT_MCP_OUTPUT_BYTES};
    struct hf_error err = {0};
    struct process *p;

    if (json_decode(arguments, fields, sizeof fields / sizeof *fields, &a, &err) < 0 ||
        (p = tool_process(c, a.process_id, &err)) == NULL || wait_begin(c, p, &a, &err) < 0)
        tool_fail(c, &err);
}
