/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer.c - pushes output to the viewers of a process, and attaches and detaches them
 *
 * See viewer.h. viewer_hold.c keeps track of what each viewer has received, and viewer_screen.c
 * adds what a terminal needs. Layer: engine.
 */
#include "engine/stream/viewer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/stream/client_id.h"
#include "engine/stream/viewer_own.h"

/* For viewers without snapshots: enough for a screen and some history. */
#define DEFAULT_TTY_BYTES 65536
/*
 * New output is sent at once, as much as arrives in one turn. Beyond that a viewer is catching up,
 * which is heavy work. PUMP_STEP_BYTES is the fixed cost of a step, expressed in bytes; it applies
 * even if a filter skips the bytes.
 */
#define PUMP_LIGHT_BYTES (512 * 1024)
#define PUMP_STEP_BYTES 4096

/* --- pumping ------------------------------------------------------------------ */

static void viewer_free(struct viewer *v)
{
    struct process *p = v->process;

    viewer_screen_free(v);
    task_cancel(&v->work);
    timer_close(v->open_char);
    free(v->client);
    free(v->client_id);
    free(v->name);
    free(v);
    process_unref(p);
}

static void open_char_on_timer(struct timer *t, void *arg)
{
    struct viewer *v = arg;

    (void)t;
    v->open_char_over = true;
    viewer_pump(v);
}

/* Takes the next run, which no longer grows. False: all that exists of it is an incomplete
 * character. */
static bool run_take(struct viewer *v, struct journal *j, struct slice *s)
{
    if (v->run < journal_run_first(j))
        v->run = journal_run_first(j); /* the runs in between were empty */
    if (journal_run_may_grow(j, v->run) && process_is_running(v->process))
        v->open_char_over ? journal_cut(j) : journal_cut_text(j);
    if (journal_run_may_grow(j, v->run) && process_is_running(v->process)) {
        if (v->open_char == NULL)
            v->open_char = timer_new(v->process->engine->loop, open_char_on_timer, v);
        if (!timer_is_active(v->open_char))
            timer_start(v->open_char, VIEWER_OPEN_CHAR_MS);
        return false;
    }
    v->open_char_over = false;
    if (v->open_char != NULL)
        timer_stop(v->open_char);
    *s = journal_run(j, v->run++);
    return true;
}

/*
 * Where this viewer's output ends: after the last byte of the process itself, or after everything
 * that existed when the viewer attached. Surviving children may keep writing forever, and faster
 * than the viewer reads.
 */
static uint64_t pump_end(const struct viewer *v, const struct journal *j)
{
    uint64_t exit = v->process->rec.head->exit.offset;

    if (process_is_running(v->process))
        return journal_next(j);
    return v->end > exit ? v->end : exit;
}

static bool pump_bytes(struct viewer *v, struct journal *j, uint64_t end)
{
    size_t most = viewer_screen_most(v);
    struct slice s;

    if (v->ack && v->at - v->acked >= VIEWER_ACK_WINDOW_BYTES)
        return false;
    if (!v->runs)
        s = journal_slice(j, v->at, most < end - v->at ? most : (size_t)(end - v->at));
    else if (!run_take(v, j, &s))
        return false;
    if (s.len > end - s.at)
        s.len = (size_t)(end - s.at);
    viewer_screen_filter(v, &s);
    v->at = s.at + s.len;
    v->pumped += s.len + PUMP_STEP_BYTES;
    v->moved_ms = loop_now_ms(v->process->engine->loop);
    if (v->stalled && journal_next(j) - viewer_hold_has(v) < v->process->rec.head->ring_bytes / 2)
        v->stalled = false;
    if (v->only_stream < 0 || v->only_stream == (int)s.stream)
        v->ops->bytes(v->arg, &s);
    if (!v->dead)
        viewer_hold_sent(v);
    return true;
}

static void viewer_on_work(void *arg)
{
    viewer_pump(arg);
}

/* Heavy work continues while this turn has time for it, and otherwise in a later turn. */
bool viewer_has_time(struct viewer *v)
{
    struct loop *loop = v->process->engine->loop;

    if (loop_has_time(loop))
        return true;
    loop_defer_work(loop, &v->work);
    return false;
}

static bool pump_may_continue(struct viewer *v)
{
    bool light = !v->heavy && v->at >= v->replay_until && v->pumped < PUMP_LIGHT_BYTES;

    return light || viewer_has_time(v);
}

/* The first byte that this viewer can still receive. */
static uint64_t pump_first(const struct viewer *v, const struct journal *j)
{
    uint64_t first = journal_first(j), run = journal_run_first(j);

    return v->runs && run > v->run && run < journal_run_count(j) ? journal_run(j, run).at : first;
}

/* Does the next thing that is due. False: nothing is due, or there is no room. */
static bool pump_step(struct viewer *v)
{
    struct process *p = v->process;
    struct journal *j = &p->journal;
    uint64_t first = pump_first(v, j), from = v->at;
    int step;

    if (v->dead || v->exited || (v->ops->ready != NULL && !v->ops->ready(v->arg)))
        return false;
    if (v->at < first && v->snapshot.len == 0 && !v->snapshot_due) {
        v->at = v->acked = first; /* a peer cannot acknowledge what it never received */
        receipt_reset(&v->receipt, first);
        v->run = journal_run_first(j);
        v->snapshot_due = v->terminal && v->ops->snapshot != NULL;
        v->ops->gap(v->arg, from, first);
        return true;
    }
    step = viewer_screen_step(v);
    if (step >= 0)
        return step;
    if (!v->replayed && v->at >= v->replay_until) {
        v->replayed = true;
        if (v->ops->replay_done != NULL)
            v->ops->replay_done(v->arg, v->at);
        return true;
    }
    if (v->at < pump_end(v, j))
        return pump_may_continue(v) && pump_bytes(v, j, pump_end(v, j));
    if (!process_is_running(p)) {
        v->exited = true;
        v->ops->exited(v->arg, &p->rec.head->exit);
    }
    return false;
}

static void pump_one(struct viewer *v)
{
    if (v->pumping)
        return;
    v->pumping = true;
    v->pumped = 0;
    while (pump_step(v))
        ;
    v->pumping = false;
    if (v->dead)
        viewer_free(v);
}

/* Ops may detach this viewer or another one: detaching the next viewer in the walk advances
 * pump_next. A nested pump only requests another round. */
static void pump_round(struct process *p)
{
    struct list *it = p->viewers.list.next;

    while (it != &p->viewers.list) {
        struct viewer *v = list_entry(it, struct viewer, link);
        p->viewers.next = it->next;
        pump_one(v);
        it = p->viewers.next;
    }
    p->viewers.next = NULL;
}

void viewers_pump(struct process *p)
{
    p->viewers.pump_again = true;
    if (p->viewers.pumping)
        return;
    process_ref(p);
    p->viewers.pumping = true;
    while (p->viewers.pump_again) {
        p->viewers.pump_again = false;
        pump_round(p);
    }
    p->viewers.pumping = false;
    process_unref(p);
}

static void viewers_on_pump(void *arg)
{
    struct process *p = arg;

    process_ref(p);
    viewers_pump(p);
    if (!process_is_running(p))
        exit_run_waiters(p);
    process_unref(p);
}

void viewers_pump_later(struct process *p)
{
    loop_defer(p->engine->loop, &p->viewers.pump);
}

void viewers_init(struct process *p)
{
    list_init(&p->viewers.list);
    p->viewers.pump = (struct task){.fn = viewers_on_pump, .arg = p};
}

void viewers_fini(struct process *p)
{
    assert(list_is_empty(&p->viewers.list));
    task_cancel(&p->viewers.pump);
}

void viewer_pump(struct viewer *v)
{
    struct process *p = process_ref(v->process);

    pump_one(v);
    pace_update(p);
    process_unref(p);
}

void viewer_ack(struct viewer *v, uint64_t offset)
{
    if (offset > v->acked && offset <= v->at) {
        v->acked = offset;
        v->moved_ms = loop_now_ms(v->process->engine->loop);
    }
    viewer_pump(v);
}

static void notice_send(struct viewer *v, const struct viewer_notice *n)
{
    char label[VIEWER_LABEL_BYTES];
    struct viewer_notice mine = *n;

    if (n->from != NULL && n->from->client != NULL)
        mine.by = viewer_client_for(v->process, n->from->client, v, label);
    else if (n->from != NULL)
        mine.by = n->from->name;
    v->ops->notice(v->arg, &mine);
}

void viewers_notice(struct process *p, const struct viewer_notice *n)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->viewers.list) {
        struct viewer *v = list_entry(it, struct viewer, link);
        if (v->ops->notice != NULL && !v->exited)
            notice_send(v, n);
    }
}

/* --- pace ------------------------------------------------------------------------ */

/* The process is being deleted or the daemon is shutting down: stop waiting for viewers that do
 * not read. */
static bool is_draining(const struct process *p)
{
    return p->engine->stopping || p->rec.head->deleting;
}

/* The offset of the slowest viewer that counts; the end of the output if there is none. */
uint64_t viewers_hold(struct process *p)
{
    uint64_t hold = journal_next(&p->journal);
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->viewers.list) {
        const struct viewer *v = list_entry(it, struct viewer, link);
        uint64_t needs = viewer_hold_needs(v);
        if (!v->never_holds && !v->stalled && !v->exited && needs < hold)
            hold = needs;
    }
    viewer_hold_note(p);
    return is_draining(p) ? hold : viewer_hold_hold(p, hold);
}

static uint64_t fastest_at(struct process *p)
{
    uint64_t fastest = 0;
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->viewers.list) {
        const struct viewer *v = list_entry(it, struct viewer, link);
        if (!v->never_holds && !v->lossless && !v->stalled && viewer_hold_has(v) > fastest)
            fastest = viewer_hold_has(v);
    }
    return fastest;
}

/* The process has been paused for `held_ms`: mark the viewers that it waits for in vain. */
void viewers_mark_stalled(struct process *p, uint64_t held_ms)
{
    uint64_t fastest = fastest_at(p), now = loop_now_ms(p->engine->loop);
    struct list *it, *tmp;

    list_for_each (it, tmp, &p->viewers.list) {
        struct viewer *v = list_entry(it, struct viewer, link);
        bool still = now - v->moved_ms >= VIEWER_PATIENCE_MS &&
                     viewer_hold_has(v) < journal_next(&p->journal);
        bool vain = !v->lossless && (viewer_hold_has(v) < fastest || held_ms >= VIEWER_STALL_MS);
        bool lost = v->patient && now - v->moved_ms >= VIEWER_STALL_MS;
        if (still && (vain || lost || is_draining(p)))
            v->stalled = true;
    }
}

/* --- attaching and detaching -------------------------------------------------------- */

static int viewer_start(const struct process *p, const struct viewer_options *o, uint64_t *at,
                        struct hf_error *err)
{
    const struct journal *j = &p->journal;
    uint64_t next = journal_next(j);

    switch (o->since) {
    case SINCE_NOW: *at = next; return 0;
    case SINCE_LAST: *at = journal_tail_bytes(j, o->offset, p->rec.head->pty); return 0;
    case SINCE_DEFAULT:
    case SINCE_SCREEN:
        *at = p->rec.head->pty ? journal_tail_bytes(j, DEFAULT_TTY_BYTES, true) : 0;
        return 0;
    default:
        if (o->runs && o->offset <= journal_run_count(j)) {
            *at = o->offset < journal_run_count(j) ? journal_run(j, o->offset).at : next;
            return 0;
        }
        if (o->runs || o->offset > next)
            return hf_fail_field(err, HF_E_range_not_satisfiable, "since",
                                 "offset %llu is beyond the output, which ends at %llu",
                                 (unsigned long long)o->offset, (unsigned long long)next);
        *at = o->offset;
        return 0;
    }
}

/* For viewers of whole runs: the first run to send. The current run ends here, so that later
 * output starts a new one. */
static uint64_t viewer_first_run(struct journal *j, const struct viewer_options *o)
{
    if (o->since == SINCE_OFFSET && o->offset < journal_run_count(j))
        return o->offset;
    journal_cut(j);
    return journal_run_count(j);
}

static int check_window(const struct viewer_options *o, struct hf_error *err)
{
    if (o->rows == 0 && o->cols == 0)
        return 0;
    if (o->rows < 1 || o->rows > TERMINAL_SIZE_MAX || o->cols < 1 || o->cols > TERMINAL_SIZE_MAX)
        return hf_fail(err, HF_E_bad_size, "rows and cols must both be 1 to %d", TERMINAL_SIZE_MAX);
    return 0;
}

/*
 * The owner sees the client ids of all its own viewers, and every viewer sees its own id, so that a
 * reconnecting client can find itself. Other viewers have no use for an id that belongs to another
 * grant.
 */
const char *viewer_client_for(const struct process *p, const char *key, const struct viewer *reader,
                              char label[VIEWER_LABEL_BYTES])
{
    if (key == NULL)
        return NULL;
    if (reader != NULL && reader->client != NULL && strcmp(reader->client, key) == 0)
        return reader->client_id;
    if (reader != NULL && reader->owner && client_is_owners(key) && key[0] > ' ')
        return key;
    client_shown(p->rec.head->id, key, label);
    return label;
}

static void write_viewer(const struct viewer *v, const struct viewer *reader, struct json_out *o)
{
    char label[VIEWER_LABEL_BYTES];

    json_open(o, '{');
    json_kstr(o, "client", viewer_client_for(v->process, v->client, reader, label));
    json_kstr(o, "name", v->name);
    json_kstr(o, "role", viewer_role_name(v->role));
    json_kbool(o, "read_only", v->read_only);
    json_key(o, "rows");
    v->rows > 0 ? json_int(o, v->rows) : json_nil(o);
    json_key(o, "cols");
    v->cols > 0 ? json_int(o, v->cols) : json_nil(o);
    json_ktime(o, "since", v->since_ms);
    json_close(o, '}');
}

static void report_membership(const struct viewer *v, const char *type)
{
    struct viewer_notice n = {.kind = NOTICE_VIEWERS};
    struct process *p = v->process;
    struct buf text = {0};
    struct json_out o;

    json_out_init(&o, &text);
    write_viewer(v, NULL, &o);
    events_append(&p->engine->events, type, p, buf_cstr(&text));
    buf_fini(&text);
    viewers_notice(p, &n);
}

size_t viewers_members(const struct process *p)
{
    return p->viewers.count - p->viewers.guests;
}

/* Guests may not use the last few places, so that they cannot lock the owner out of its process. */
static int check_count(const struct process *p, const struct viewer_options *o,
                       struct hf_error *err)
{
    size_t most = p->engine->options.max_viewers;
    size_t kept = (most + LIMIT_VIEWERS_KEPT_PART - 1) / LIMIT_VIEWERS_KEPT_PART;
    int rc;

    if (o->internal || (p->viewers.count < most && (!o->guest || p->viewers.guests + kept < most)))
        return 0;
    rc = hf_fail(err, HF_E_too_many_viewers,
                 "this process has %zu viewers, the most that --max-viewers allows%s",
                 p->viewers.count, p->viewers.count < most ? " to links and watchers" : "");
    if (err != NULL)
        err->limit = "max_viewers";
    return rc;
}

int viewer_attach(struct process *p, const struct viewer_options *o, const struct viewer_ops *ops,
                  void *arg, struct viewer **out, struct hf_error *err)
{
    struct viewer *v;
    uint64_t at = 0;
    int rc = check_window(o, err);

    if (rc < 0 || (rc = viewer_start(p, o, &at, err)) < 0)
        return rc;
    rc = check_count(p, o, err);
    if (rc < 0)
        return rc;
    v = hf_xalloc(sizeof *v);
    v->process = process_ref(p);
    v->ops = ops;
    v->arg = arg;
    v->at = v->acked = at;
    receipt_reset(&v->receipt, at);
    v->replay_until = journal_next(&p->journal);
    v->end = process_is_running(p) ? 0 : v->replay_until;
    v->only_stream = (int8_t)o->only_stream;
    v->slice_bytes = o->slice_bytes > 0 ? o->slice_bytes : VIEWER_SLICE_BYTES;
    v->internal = o->internal;
    v->runs = o->runs;
    if (v->runs)
        v->run = viewer_first_run(&p->journal, o);
    v->guest = o->guest;
    v->never_holds = o->never_holds || o->guest;
    v->lossless = !v->never_holds && (o->lossless || p->rec.head->delivery == DELIVERY_LOSSLESS);
    v->patient = o->patient;
    v->heavy = o->heavy;
    v->work = (struct task){.fn = viewer_on_work, .arg = v};
    v->ack = o->ack;
    v->read_only = o->read_only;
    v->role = o->role != 0 ? o->role : VIEWER_WATCH;
    v->since_ms = clock_wall_ms();
    v->owner = o->principal == NULL;
    if (o->client != NULL) {
        v->client = hf_xalloc(CLIENT_KEY_BYTES);
        client_key(o->principal, o->client, v->client);
    }
    v->client_id = hf_xstrdup(o->client);
    v->name = hf_xstrdup(o->name);
    if (!v->internal) {
        p->viewers.count++;
        p->viewers.guests += v->guest;
        p->engine->viewers++;
        if (!v->guest)
            kill_deadline_on_attach(p);
        process_touch(p);
        report_membership(v, "viewer.joined");
    }
    list_append(&p->viewers.list, &v->link);
    viewer_screen_attach(v, o);
    viewer_hold_attached(v, o->since == SINCE_OFFSET && !o->runs);
    viewer_hold_note(p);
    lease_on_attach(v);
    if (o->rows > 0)
        size_viewer(v, (uint16_t)o->rows, (uint16_t)o->cols);
    viewers_pump_later(p);
    *out = v;
    return 0;
}

void viewer_detach(struct viewer *v)
{
    struct process *p;

    if (v == NULL || v->dead)
        return;
    p = process_ref(v->process);
    v->dead = true;
    if (p->viewers.next == &v->link)
        p->viewers.next = v->link.next;
    list_remove(&v->link);
    lease_on_detach(v);
    viewer_answerer_left(p, v);
    if (!v->internal) {
        p->viewers.count--;
        p->viewers.guests -= v->guest;
        p->engine->viewers--;
        if (p->in_table)
            report_membership(v, "viewer.left");
        size_on_detach(v);
        viewer_hold_cut(v);
        if (!v->guest && viewers_members(p) == 0)
            kill_deadline_on_detach(p);
    }
    viewer_hold_note(p);
    if (!v->pumping)
        viewer_free(v);
    pace_update(p);
    process_unref(p);
}

void viewers_drop(struct process *p)
{
    struct viewer_notice n = {.kind = NOTICE_DELETED};

    viewers_notice(p, &n);
}

/* --- accessors ---------------------------------------------------------------------- */

const char *viewer_role_name(enum viewer_role r)
{
    static const char *const names[] = {"", "watch", "type", "own"};

    return names[r];
}

uint64_t viewer_offset(const struct viewer *v)
{
    return v->at;
}

uint64_t viewer_replay_until(const struct viewer *v)
{
    return v->replay_until;
}

struct process *viewer_process(const struct viewer *v)
{
    return v->process;
}

size_t process_viewer_count(const struct process *p)
{
    return p->viewers.count;
}

bool viewer_has_client(const struct viewer *v, const char *principal, const char *client)
{
    char key[CLIENT_KEY_BYTES];

    client_key(principal, client, key);
    return v->client != NULL && strcmp(v->client, key) == 0;
}

void process_write_viewers(struct process *p, const struct viewer *reader, struct json_out *o)
{
    struct list *it, *tmp;

    json_open(o, '[');
    list_for_each (it, tmp, &p->viewers.list) {
        const struct viewer *v = list_entry(it, struct viewer, link);
        if (!v->internal)
            write_viewer(v, reader, o);
    }
    json_close(o, ']');
}
