/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_json.c - processes, terminals and pieces of output as JSON
 *
 * Processes are in snake_case and terminals in camelCase, as in the original. Unknown values are
 * absent, not null. Layer: dialects.
 */
#include "dialects/hyperbrowser/hyper.h"
#include "dialects/hyperbrowser/hyperbrowser_limits.h"

const char *hyper_status(const struct process_view *v)
{
    if (v->running)
        return "running";
    switch (v->exit->kind) {
    case EXIT_TIMED_OUT: return "timed_out";
    case EXIT_SIGNALED:
    case EXIT_KILLED:
    case EXIT_OUT_OF_MEMORY: return "killed";
    case EXIT_LOST: return "failed";
    default: return "exited";
    }
}

void hyper_write_end(struct json_out *o, const struct process_view *v, const char *exit_code)
{
    if (v->running)
        return;
    if (v->exit->exit_code >= 0)
        json_kint(o, exit_code, v->exit->exit_code);
    if (v->exit->kind == EXIT_OUT_OF_MEMORY)
        json_kstr(o, "error", "terminated: out of memory");
    if (v->exit->kind == EXIT_LOST)
        json_kstr(o, "error", "the exit status is unknown");
}

static void write_command(struct json_out *o, const struct process_view *v)
{
    json_kstr(o, "id", v->id);
    json_kstr(o, "command", v->command);
    if (v->arg_count > 0) {
        json_key(o, "args");
        json_open(o, '[');
        for (size_t i = 0; i < v->arg_count; i++)
            json_str(o, v->args[i]);
        json_close(o, ']');
    }
    json_kstr(o, "cwd", v->cwd);
    if (v->running)
        json_kint(o, "pid", v->pid);
}

void hyper_write_process(struct json_out *o, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    json_open(o, '{');
    write_command(o, &v);
    json_kstr(o, "status", hyper_status(&v));
    hyper_write_end(o, &v, "exit_code");
    json_kint(o, "started_at", v.created_ms);
    if (!v.running)
        json_kint(o, "completed_at", v.exited_ms);
    json_close(o, '}');
}

/*
 * A terminal's bytes are base64; those of processes are text, because their clients support nothing
 * else.
 */
void hyper_write_run(struct json_out *o, const char *type, const struct slice *s)
{
    json_open(o, '{');
    if (type != NULL)
        json_kstr(o, "type", type);
    json_ku64(o, "seq", s->number + 1);
    json_key(o, "data");
    json_base64(o, s->bytes, s->len);
    json_kint(o, "timestamp", s->time_ms);
    json_close(o, '}');
}

/*
 * A run that was delivered keeps its number for good, so a run that may still grow is closed or
 * omitted.
 */
static void write_output(struct json_out *o, struct process *p, bool running)
{
    struct journal *j = process_journal(p);
    uint64_t first;

    if (running)
        journal_cut_text(j);
    first = journal_run_last(j, journal_run_first(j), LIMIT_HYPER_OUTPUT_BYTES);
    json_kopen(o, "output", '[');
    for (uint64_t i = first; i < journal_run_count(j); i++) {
        struct slice s = journal_run(j, i);

        if (!running || !journal_run_may_grow(j, i))
            hyper_write_run(o, NULL, &s);
    }
    json_close(o, ']');
}

void hyper_write_terminal(struct json_out *o, struct process *p, bool output)
{
    struct process_view v;

    process_view(p, &v);
    json_open(o, '{');
    write_command(o, &v);
    json_kbool(o, "running", v.running);
    hyper_write_end(o, &v, "exitCode");
    if (!v.running)
        json_kbool(o, "timedOut", v.exit->kind == EXIT_TIMED_OUT);
    json_kint(o, "rows", v.rows);
    json_kint(o, "cols", v.cols);
    json_kint(o, "startedAt", v.created_ms);
    if (!v.running)
        json_kint(o, "finishedAt", v.exited_ms);
    if (output)
        write_output(o, p, v.running);
    json_close(o, '}');
}

void hyper_reply_process(struct http_request *rq, struct process *p)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_key(&o, "process");
    hyper_write_process(&o, p);
    dialect_reply_send(rq, 200, &o);
}

void hyper_reply_terminal(struct http_request *rq, struct process *p, bool output)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_key(&o, "pty");
    hyper_write_terminal(&o, p, output);
    dialect_reply_send(rq, 200, &o);
}
