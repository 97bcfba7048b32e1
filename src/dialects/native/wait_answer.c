/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_answer.c - the answer of POST …/wait: which it was, where, and the output in between. Layer: dialects.
 */
#include "base/limits.h"
#include "dialects/native/answer.h"
#include "dialects/native/wait.h"

#define WAIT_OUTPUT_BYTES LIMIT_RUN_OUTPUT_BYTES

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

static void write_range(struct json_out *o, const struct scan_match *m)
{
    json_key(o, "match");
    json_open(o, '{');
    json_ku64(o, "from", m->start);
    json_ku64(o, "to", m->end);
    json_shut(o, '}');
}

static void write_prompt(struct json_out *o, const struct scan_match *m)
{
    json_key(o, "prompt");
    json_open(o, '{');
    if (m->exit_code >= 0)
        json_kint(o, "exit_code", m->exit_code);
    else
        json_knull(o, "exit_code");
    json_shut(o, '}');
}

static void write_matched(struct json_out *o, const char *kind, size_t index)
{
    json_kstr(o, "matched", kind);
    if (index != WAIT_NO_INDEX)
        json_ku64(o, "index", index);
    else
        json_knull(o, "index");
}

/* The rest of the answer, and the end of the wait. `end` is the `from` for going on. */
static void finish(struct wait *w, struct json_out *o, uint64_t end, bool timed_out)
{
    struct process_view v;

    process_view(w->process, &v);
    json_kbool(o, "timed_out", timed_out);
    json_kstr(o, "status", v.running ? "running" : "exited");
    write_exit(o, exit_of(&v));
    json_ku64(o, "from", w->from);
    json_ku64(o, "next", end);
    write_between(w, o, end);
    answer_send(w->rq, 200, o);
    wait_free(w);
}

void wait_finish_match(struct wait *w, const struct scan_match *m)
{
    struct json_out o = answer_open(w->op.native);
    enum wait_kind kind = scan_kind(w->scan, m->index);

    write_matched(&o, wait_kind_name(kind), m->index);
    write_range(&o, m);
    if (kind == WAIT_PROMPT)
        write_prompt(&o, m);
    else
        json_knull(&o, "prompt");
    finish(w, &o, m->end, false);
}

static void finish_without_place(struct wait *w, const char *kind, size_t index, bool timed_out)
{
    struct json_out o = answer_open(w->op.native);

    write_matched(&o, kind, index);
    json_knull(&o, "match");
    json_knull(&o, "prompt");
    finish(w, &o, wait_searched(w), timed_out);
}

void wait_finish_kind(struct wait *w, enum wait_kind kind, size_t index)
{
    finish_without_place(w, wait_kind_name(kind), index, false);
}

void wait_finish_none(struct wait *w, bool timed_out)
{
    finish_without_place(w, NULL, WAIT_NO_INDEX, timed_out);
}
