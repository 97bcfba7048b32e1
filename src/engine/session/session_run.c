/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_run.c - one command of a session, from the queue to its result
 *
 * The shell reports a command's end after everything the command wrote, so all its output is in the
 * pipes by then. Exactly those bytes are read before the command counts as ended; a background
 * child that keeps writing delays nothing. An internal viewer reads the shell's journal. Layer:
 * engine.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/session/session_own.h"
#include "engine/session/session_script.h"

static struct session_run *run_new(struct session *s)
{
    struct session_run *r = hf_xalloc(sizeof *r);

    r->session = s;
    list_init(&r->link);
    headtail_init(&r->log, SESSION_LOG_OUTPUT_BYTES);
    return r;
}

void run_free(struct session_run *r)
{
    if (r->session->current == r)
        r->session->current = NULL;
    list_remove(&r->link);
    viewer_detach(r->viewer);
    timer_close(r->timer);
    headtail_fini(&r->log);
    headtail_fini(&r->all);
    headtail_fini(&r->out);
    headtail_fini(&r->err);
    free(r->command);
    free(r->name);
    free(r->input);
    free(r->cwd);
    free(r);
}

static void queue_remove(struct session_run *r)
{
    list_remove(&r->link);
    r->session->queued--;
}

void run_refuse(struct session_run *r, const struct hf_error *err)
{
    queue_remove(r);
    if (r->done != NULL)
        r->done(r->arg, NULL, err);
    run_free(r);
}

/* --- output --------------------------------------------------------------------- */

static void run_bytes(void *arg, const struct slice *s)
{
    struct session_run *r = arg;

    headtail_feed(&r->log, s->bytes, s->len);
    headtail_feed(&r->all, s->bytes, s->len);
    headtail_feed(s->stream == STREAM_STDERR ? &r->err : &r->out, s->bytes, s->len);
    if (r->reported)
        session_step_later(r->session);
}

/* Only a worker that took over from another one can miss output. */
static void run_gap(void *arg, uint64_t from, uint64_t to)
{
    struct session_run *r = arg;

    r->log.total += to - from;
    r->all.total += to - from;
}

static void run_exited(void *arg, const struct exit_record *x)
{
    struct session_run *r = arg;

    shell_read(r->session); /* a report that came before the exit counts */
    r->exited = true;
    if (!r->reported)
        r->exit = *x;
    session_step_later(r->session);
}

static const struct viewer_ops run_ops = {
    .bytes = run_bytes,
    .gap = run_gap,
    .exited = run_exited,
};

static int run_attach(struct session_run *r, struct hf_error *err)
{
    const struct viewer_options o = viewer_own(r->begin.from);

    return viewer_attach(r->session->shell, &o, &run_ops, r, &r->viewer, err);
}

bool run_is_over(const struct session_run *r)
{
    const struct process *p = r->session->shell;

    if (r->exited || !r->reported)
        return r->exited;
    for (int i = 0; i < 2; i++)
        if (!output_has_read(p, i, r->drain_to[i]))
            return false;
    return viewer_offset(r->viewer) == journal_next(&p->journal);
}

/* --- begin ------------------------------------------------------------------------ */

static void run_fill_begin(struct session_run *r)
{
    const struct process *p = r->session->shell;

    r->begin = (struct session_begin){
        .number = session_log_next_number(shell_log(p)),
        .started_wall_ms = clock_wall_ms(),
        .timeout_at_ms = r->timeout_ms > 0 ? clock_mono_ms() + (uint64_t)r->timeout_ms : 0,
        .grace_ms = r->grace_ms,
        .from = journal_next(&p->journal),
        .input_at = process_input_offset(p),
        .since_ticks = session_ticks_now(),
        .source = r->source,
        .flags = r->typed && r->session->script >= SESSION_SCRIPT_VERSION ? SESSION_TYPED : 0,
        .text_len = strlen(r->command),
    };
    memcpy(r->begin.process_id, p->rec.head->id, sizeof r->begin.process_id);
}

static int run_send(struct session_run *r, struct hf_error *err)
{
    struct process *p = r->session->shell;
    struct buf wire = {0};
    int rc = 0;

    if (r->begin.flags & SESSION_TYPED)
        session_script_encode_typed(&wire, r->begin.number, r->command, r->begin.text_len, r->echo);
    else
        session_script_encode(&wire, r->begin.number, r->command, r->begin.text_len, r->input,
                              r->input_len);
    session_log_begin(shell_log(p), &r->begin, r->command, r->name);
    if (!input_put(p, buf_data(&wire), wire.len))
        rc = hf_fail(err, HF_E_internal, "the shell is not reading its commands");
    buf_fini(&wire);
    return rc;
}

/* If the next command needs something run first in this shell, puts that at the front of the
 * queue. */
void run_put_ahead(struct session *s)
{
    struct session_run *r = list_entry(s->queue.next, struct session_run, link), *first;
    session_ahead_fn *ahead = r->ahead;
    struct buf text = {0};

    r->ahead = NULL;
    if (ahead == NULL)
        return;
    ahead(shell_log(s->shell), &text);
    if (text.len > 0) {
        first = run_new(s);
        first->command = hf_xstrdup(buf_cstr(&text));
        first->source = SOURCE_SYSTEM;
        first->timeout_ms = SESSION_AHEAD_MS;
        first->grace_ms = KILL_GRACE_MS;
        list_prepend(&s->queue, &first->link);
        s->queued++;
    }
    buf_fini(&text);
}

/* Starts the next command of the queue; the shell runs, and no command runs in it. */
void run_start(struct session *s)
{
    struct session_run *r = list_entry(s->queue.next, struct session_run, link);
    struct hf_error err;

    output_read_rest(s->shell); /* what jobs wrote in between does not belong to the command */
    run_fill_begin(r);
    if (run_attach(r, &err) < 0) {
        run_refuse(r, &err);
        session_step_later(s);
        return;
    }
    queue_remove(r);
    s->current = r;
    r->shell_lost = s->shell_lost;
    s->shell_lost = false;
    session_run_arm(r);
    if (run_send(r, &err) < 0)
        session_run_cut(r, EXIT_KILLED, "api");
    session_notify(s, "session.command_started", r);
    if (r->done != NULL && r->began != NULL)
        r->began(r->arg, &r->begin);
}

/* --- end ---------------------------------------------------------------------------- */

void run_report(struct session_run *r, int status, const char *cwd, size_t cwd_len)
{
    struct process *p = r->session->shell;

    r->reported = true;
    r->exit = (struct exit_record){
        .kind = EXIT_EXITED, .exit_code = status, .code = status, .at_wall_ms = clock_wall_ms()};
    r->cwd = hf_xstrndup(cwd, cwd_len);
    for (int i = 0; i < 2; i++)
        r->drain_to[i] = output_written(p, i);
    session_step_later(r->session);
}

static struct session_result run_result(struct session_run *r)
{
    struct session_result x = {
        .number = r->begin.number,
        .process_id = r->begin.process_id,
        .exit = r->exit,
        .shell_replaced = !r->reported || r->shell_lost,
        .from = r->begin.from,
        .to = r->viewer != NULL ? viewer_offset(r->viewer) : r->begin.from,
        .started_wall_ms = r->begin.started_wall_ms,
        .ended_wall_ms = clock_wall_ms(),
        .all = &r->all,
        .out = &r->out,
        .err = &r->err,
    };

    x.exit.offset = x.to;
    if (r->cut_kind != EXIT_NONE) {
        x.exit.kind = r->cut_kind;
        snprintf(x.exit.by, sizeof x.exit.by, "%s", r->cut_by);
    }
    if (r->cwd != NULL)
        x.cwd = (struct session_text){r->cwd, strlen(r->cwd)};
    return x;
}

static void run_log_end(struct session_run *r, const struct session_result *x)
{
    const struct session_end end = {
        .number = x->number,
        .ended_wall_ms = x->ended_wall_ms,
        .exit = x->exit,
        .to = x->to,
        .shell_replaced = x->shell_replaced,
    };
    struct session_end filled = end;
    struct headtail_view v;

    headtail_peek(&r->log, &v);
    filled.omitted = v.omitted;
    session_log_end(shell_log(r->session->shell), &filled,
                    (struct session_text){v.head, v.head_len},
                    (struct session_text){v.tail, v.tail_len}, x->cwd);
}

void run_finish(struct session_run *r)
{
    struct session *s = r->session;
    struct session_result x = run_result(r);

    run_log_end(r, &x);
    if (r->reported)
        shell_read_on(s);
    free(s->cwd);
    s->cwd = hf_xstrdup(r->cwd);
    session_notify(s, "session.command_finished", r);
    if (r->done != NULL)
        r->done(r->arg, &x, NULL);
    run_free(r);
    session_step_later(s);
}

/* --- after another worker --------------------------------------------------------- */

/* Resumes the command that the last worker started. If it was never sent to the shell, it is
 * reported as lost. */
void run_resume(struct session *s, const struct session_command *c)
{
    struct session_run *r = run_new(s);

    r->begin = c->begin;
    r->command = hf_xstrndup(c->text.bytes, c->text.len);
    r->source = c->begin.source;
    s->current = r;
    headtail_init(&r->all, 0);
    headtail_init(&r->out, 0);
    headtail_init(&r->err, 0);
    session_run_arm(r);
    if (process_input_offset(s->shell) > c->begin.input_at && run_attach(r, NULL) == 0)
        return;
    r->exited = r->reported = true; /* the shell itself is unaffected */
    r->exit = (struct exit_record){
        .kind = EXIT_LOST, .exit_code = -1, .code = -1, .at_wall_ms = clock_wall_ms()};
    session_step_later(s);
}

/* --- queueing a command --------------------------------------------------------------- */

static int run_check_spec(struct session *s, const struct session_run_spec *spec,
                          struct hf_error *err)
{
    int rc;

    if (strlen(spec->command) > LIMIT_SESSION_COMMAND_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "command", "command is longer than %d bytes",
                             LIMIT_SESSION_COMMAND_BYTES);
    if (spec->input_len > LIMIT_SESSION_INPUT_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "stdin", "stdin is longer than %d bytes",
                             LIMIT_SESSION_INPUT_BYTES);
    assert(spec->name == NULL || strlen(spec->name) <= SESSION_NAME_MAX);
    if (s->engine->stopping)
        return hf_fail(err, HF_E_shutting_down, "the daemon is shutting down");
    if (s->queued < LIMIT_SESSION_QUEUE)
        return 0;
    rc = hf_fail(err, HF_E_too_many_commands,
                 "%d commands are already queued in this session; wait for some to finish",
                 LIMIT_SESSION_QUEUE);
    if (err != NULL)
        err->limit = "session_queue";
    return rc;
}

int session_run(struct session *s, const struct session_run_spec *spec, session_run_fn *done,
                void *arg, struct session_run **out, struct hf_error *err)
{
    struct session_run *r;
    int rc = run_check_spec(s, spec, err);

    if (rc < 0)
        return rc;
    r = run_new(s);
    r->done = done;
    r->began = spec->began;
    r->arg = arg;
    r->command = hf_xstrdup(spec->command);
    if (spec->input != NULL) {
        r->input = hf_xalloc(spec->input_len + 1);
        memcpy(r->input, spec->input, spec->input_len);
        r->input_len = spec->input_len;
    }
    r->typed = spec->typed;
    r->echo = spec->echo;
    r->name = hf_xstrdup(spec->name);
    r->source = spec->source;
    r->timeout_ms = spec->timeout_ms;
    r->ahead = spec->ahead;
    r->grace_ms = spec->grace_ms >= 0 ? spec->grace_ms : KILL_GRACE_MS;
    headtail_init(&r->all, spec->max_output_bytes);
    headtail_init(&r->out, spec->max_output_bytes);
    headtail_init(&r->err, spec->max_output_bytes);
    list_append(&s->queue, &r->link);
    s->queued++;
    *out = r;
    session_step_later(s);
    return 0;
}

uint64_t session_run_number(const struct session_run *r)
{
    return r->begin.number;
}

static int type_check(const struct session *s, uint64_t number, struct hf_error *err)
{
    const struct session_run *r = s->current;

    if (r == NULL || r->begin.number != number || r->reported || r->exited || !shell_is_alive(s))
        return hf_fail(err, HF_E_not_running, "the command is not running and accepts no input");
    if (!(r->begin.flags & SESSION_TYPED))
        return hf_fail(err, HF_E_stdin_closed, "the command was started without input");
    return 0;
}

/* Accepts what fits into the queue after escaping. While there is any room, at least one byte is
 * accepted; otherwise a caller that waits for room would be notified again and again. */
ssize_t session_type(struct session *s, uint64_t number, const void *bytes, size_t len,
                     struct hf_error *err)
{
    size_t taken = 0, room;
    int rc = type_check(s, number, err);

    if (rc < 0)
        return rc;
    while (taken < len && (room = input_room(s->shell)) > 0) {
        struct buf line = {0};
        size_t n = room / SESSION_TYPE_FACTOR;

        n = n > SESSION_TYPE_BYTES ? SESSION_TYPE_BYTES : n > 0 ? n : 1;
        n = n < len - taken ? n : len - taken;
        session_script_encode_typing(&line, (const char *)bytes + taken, n);
        if (!input_put(s->shell, buf_data(&line), line.len)) {
            buf_fini(&line);
            break;
        }
        buf_fini(&line);
        taken += n;
    }
    return (ssize_t)taken;
}

void session_run_leave(struct session_run *r, bool cancel)
{
    struct session *s = r->session;

    r->done = NULL;
    if (!cancel)
        return;
    if (s->current == r) {
        session_run_cut(r, EXIT_KILLED, "detach");
        return;
    }
    queue_remove(r);
    run_free(r);
}
