/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_tool_read.c - read_output: a range, its head and its tail, and what is left out
 *
 * Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/output_tail.h"
#include "dialects/common/process_json.h"
#include "dialects/mcp/mcp_limits.h"
#include "dialects/mcp/mcp_tools.h"

struct mcp_tool_read_request {
    const char *stream;
    int64_t since, until, tail_lines, tail_bytes, max_bytes;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct mcp_tool_read_request, member, __VA_ARGS__)
static const struct json_field fields[] = {
    F(STR, stream),
    F(INT, since, .min = 0, .max = INT64_MAX),
    F(INT, until, .min = 0, .max = INT64_MAX),
    F(INT, tail_lines, .min = 0, .max = INT64_MAX),
    F(INT, tail_bytes, .min = 0, .max = INT64_MAX),
    F(INT, max_bytes, .min = 0, .max = LIMIT_MCP_OUTPUT_MAX_BYTES),
};
#undef F

/* [from, to) is retained and requested; [gap_from, from) was requested but has been overwritten. */
struct mcp_tool_read_range {
    uint64_t gap_from, from, to;
    int only_stream; /* enum stream; -1: all */
};

static int decode(const json_t *arguments, struct mcp_tool_read_request *a, struct hf_error *err)
{
    bool range, tail;

    if (json_decode_known(arguments, fields, sizeof fields / sizeof *fields, a, err) < 0)
        return -1;
    range = a->since >= 0 || a->until >= 0;
    tail = a->tail_lines >= 0 || a->tail_bytes >= 0;
    if ((range && tail) || (a->tail_lines >= 0 && a->tail_bytes >= 0))
        return hf_fail_field(err, HF_E_bad_value, "tail_lines",
                             "use only one of: since and until, tail_lines, tail_bytes");
    if (a->since >= 0 && a->until >= 0 && a->until < a->since)
        return hf_fail_field(err, HF_E_bad_value, "until",
                             "\"until\" must not be less than \"since\"");
    if (a->stream != NULL && strcmp(a->stream, "stdout") != 0 && strcmp(a->stream, "stderr") != 0)
        return hf_fail_field(err, HF_E_bad_value, "stream", "\"stream\" must be stdout or stderr");
    return 0;
}

static uint64_t wished_start(const struct mcp_tool_read_request *a, const struct journal *j,
                             bool pty)
{
    if (a->tail_bytes >= 0)
        return journal_tail_bytes(j, (uint64_t)a->tail_bytes, pty);
    return a->since >= 0 ? (uint64_t)a->since : journal_first(j);
}

/* r->from is where the requested range begins. */
static int resolve(const struct mcp_tool_read_request *a, const struct process_view *v,
                   const struct journal *j, struct mcp_tool_read_range *r, struct hf_error *err)
{
    r->gap_from = r->from;
    if (r->from > v->next)
        return hf_fail_field(err, HF_E_range_not_satisfiable, "since",
                             "offset %llu is beyond the output, which ends at %llu",
                             (unsigned long long)r->from, (unsigned long long)v->next);
    r->to = a->until >= 0 && (uint64_t)a->until < v->next ? (uint64_t)a->until : v->next;
    if (r->from < v->first)
        r->from = v->first;
    if (r->to < r->from)
        r->to = r->from;
    /* An incomplete character at the end is left for the next read. */
    if (r->to == v->next && v->running && r->to > r->from)
        r->to -= utf8_open_tail(journal_bytes(j, r->from), (size_t)(r->to - r->from));
    return 0;
}

/* The offsets of the middle are known only if every byte between the ends was included. */
static void write_omitted(struct json_out *o, struct headtail *h,
                          const struct mcp_tool_read_range *r)
{
    struct headtail_view v;

    headtail_peek(h, &v);
    if (r->only_stream >= 0 || v.omitted == 0)
        json_knull(o, "omitted");
    else
        process_json_range(o, "omitted", r->from + v.head_len, r->to - v.tail_len);
}

/* --- reading ---------------------------------------------------------------------------- */

/* Finding the last lines and filtering by stream may take long; the read then continues in later
 * turns. */
struct reading {
    struct mcp_call call;
    struct task work;
    struct process *process;              /* referenced */
    struct mcp_tool_read_request request; /* without its strings */
    struct tail tail;                     /* tail_lines */
    struct mcp_tool_read_range range;
    uint64_t at; /* next byte to collect */
    struct headtail text;
    bool waits; /* one turn was not enough */
    bool found;
};

static void reading_release(struct call *c)
{
    struct reading *x = list_entry(c, struct reading, call.call);

    task_cancel(&x->work);
    headtail_fini(&x->text);
    process_unref(x->process);
    mcp_call_release(c);
}

static const struct call_kind reading_kind = {.release = reading_release, .drain = mcp_call_drain};

static void reply(struct reading *x)
{
    const struct mcp_tool_read_range *r = &x->range;
    struct mcp_call *c = &x->call;
    struct json_out o = tool_open(c);
    struct buf *text = &mcp_call_mcp(c)->text;
    struct process_view v;

    process_view(x->process, &v);
    tool_write_state(&o, &v);
    json_ku64(&o, "from", r->from);
    json_ku64(&o, "next", r->to);
    process_json_range(&o, "gap", r->gap_from, r->from);
    write_omitted(&o, &x->text, r);
    if (r->gap_from < r->from)
        buf_printf(text, "[bytes %llu to %llu are no longer available]\n",
                   (unsigned long long)r->gap_from, (unsigned long long)r->from);
    tool_write_output(&o, text, &x->text);
    tool_put_state(text, &v);
    tool_send(c, &o);
}

/* 1: the range is known. 0: not finished yet. */
static int find_range(struct reading *x, struct hf_error *err)
{
    const struct journal *j = process_journal(x->process);
    struct process_view v;

    if (x->found)
        return 1;
    process_view(x->process, &v);
    if (x->request.tail_lines >= 0) {
        while (!tail_step(&x->tail))
            if (!loop_has_time(x->call.call.base->loop))
                return 0;
        x->range.from = x->tail.found;
        v.next = x->tail.next;
    } else {
        x->range.from = wished_start(&x->request, j, v.pty);
    }
    if (resolve(&x->request, &v, j, &x->range, err) < 0)
        return -1;
    x->at = x->range.from;
    x->found = true;
    return 1;
}

/* All streams together are plain bytes, so only the ends are copied. False: not finished yet. */
static bool gather(struct reading *x)
{
    const struct journal *j = process_journal(x->process);
    const struct mcp_tool_read_range *r = &x->range;

    while (x->at < r->to) {
        size_t most = r->only_stream < 0 ? SIZE_MAX : VIEWER_SLICE_BYTES;
        struct slice s;

        if (x->at < journal_first(j)) { /* overwritten since the last turn */
            x->text.total += journal_first(j) - x->at;
            x->at = journal_first(j);
            continue;
        }
        if (!loop_has_time(x->call.call.base->loop))
            return false;
        most = r->to - x->at < most ? (size_t)(r->to - x->at) : most;
        s = (struct slice){.bytes = journal_bytes(j, x->at), .len = most};
        if (r->only_stream >= 0)
            s = journal_slice(j, x->at, most);
        if (r->only_stream < 0 || r->only_stream == (int)s.stream)
            headtail_feed(&x->text, s.bytes, s.len);
        x->at += s.len;
    }
    return true;
}

static void reading_run(void *arg)
{
    struct reading *x = arg;
    struct hf_error err = {0};
    int found = find_range(x, &err);

    if (found > 0 && gather(x)) {
        reply(x);
        return;
    }
    if (found < 0 || (!x->waits && mcp_call_check_room(&x->call, &err) < 0)) {
        tool_fail(&x->call, &err);
        return;
    }
    x->waits = true;
    loop_defer_work(x->call.call.base->loop, &x->work);
}

static void reading_begin(const struct mcp_call *c, struct process *p,
                          const struct mcp_tool_read_request *a)
{
    struct reading *x = mcp_call_adopt(c, &reading_kind, sizeof *x);
    struct process_view v;

    process_view(p, &v);
    x->process = process_ref(p);
    x->request = *a;
    x->work = (struct task){.fn = reading_run, .arg = x};
    x->range.only_stream = -1;
    if (a->stream != NULL && !v.pty)
        x->range.only_stream = strcmp(a->stream, "stdout") == 0 ? STREAM_STDOUT : STREAM_STDERR;
    headtail_init(&x->text, (size_t)a->max_bytes);
    if (a->tail_lines >= 0)
        tail_begin(&x->tail, process_journal(p), TAIL_LINES, (uint64_t)a->tail_lines, -1);
    reading_run(x);
}

void tool_read_output(struct mcp_call *c, const json_t *arguments)
{
    struct mcp_tool_read_request a = {.since = -1,
                                      .until = -1,
                                      .tail_lines = -1,
                                      .tail_bytes = -1,
                                      .max_bytes = LIMIT_MCP_OUTPUT_BYTES};
    struct hf_error err = {0};
    struct process *p;

    if (decode(arguments, &a, &err) < 0 || (p = tool_process(c, arguments, &err)) == NULL)
        tool_fail(c, &err);
    else
        reading_begin(c, p, &a);
}
