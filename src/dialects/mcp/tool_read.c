/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool_read.c - read_output: a range, its head and its tail, and what is left out. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/write.h"
#include "dialects/mcp/tools.h"

struct ask {
    const char *process_id, *stream;
    int64_t since, until, tail_lines, tail_bytes, max_bytes;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct ask, member, __VA_ARGS__)
static const struct json_field fields[] = {
    F(STR, process_id, .min = 1, .required = true),
    F(STR, stream),
    F(INT, since, .min = 0, .max = INT64_MAX),
    F(INT, until, .min = 0, .max = INT64_MAX),
    F(INT, tail_lines, .min = 0, .max = INT64_MAX),
    F(INT, tail_bytes, .min = 0, .max = INT64_MAX),
    F(INT, max_bytes, .min = 0, .max = LIMIT_MCP_OUTPUT_MAX_BYTES),
};
#undef F

/* [from, to) is held and wished for; [gap_from, from) was wished for and is gone. */
struct range {
    uint64_t gap_from, from, to;
    int only_stream; /* enum stream; -1: all */
};

static int decode(const json_t *arguments, struct ask *a, struct hf_error *err)
{
    bool range, tail;

    if (json_decode(arguments, fields, sizeof fields / sizeof *fields, a, err) < 0)
        return -1;
    range = a->since >= 0 || a->until >= 0;
    tail = a->tail_lines >= 0 || a->tail_bytes >= 0;
    if ((range && tail) || (a->tail_lines >= 0 && a->tail_bytes >= 0))
        return hf_fail_field(err, HF_E_bad_value, "tail_lines",
                             "give since and until, or tail_lines, or tail_bytes; not two of them");
    if (a->since >= 0 && a->until >= 0 && a->until < a->since)
        return hf_fail_field(err, HF_E_bad_value, "until", "\"until\" must not be below \"since\"");
    if (a->stream != NULL && strcmp(a->stream, "stdout") != 0 && strcmp(a->stream, "stderr") != 0)
        return hf_fail_field(err, HF_E_bad_value, "stream", "\"stream\" must be stdout or stderr");
    return 0;
}

static uint64_t wished_start(const struct ask *a, const struct journal *j, bool pty)
{
    if (a->tail_lines >= 0)
        return journal_tail_lines(j, (uint64_t)a->tail_lines);
    if (a->tail_bytes >= 0)
        return journal_tail_bytes(j, (uint64_t)a->tail_bytes, pty);
    return a->since >= 0 ? (uint64_t)a->since : journal_first(j);
}

static int resolve(const struct ask *a, const struct process_view *v, const struct journal *j,
                   struct range *r, struct hf_error *err)
{
    *r = (struct range){.only_stream = -1};
    if (a->stream != NULL && !v->pty)
        r->only_stream = strcmp(a->stream, "stdout") == 0 ? STREAM_STDOUT : STREAM_STDERR;
    r->gap_from = r->from = wished_start(a, j, v->pty);
    if (r->from > v->next)
        return hf_fail_field(err, HF_E_range_not_satisfiable, "since",
                             "offset %llu is beyond the output, which ends at %llu",
                             (unsigned long long)r->from, (unsigned long long)v->next);
    r->to = a->until >= 0 && (uint64_t)a->until < v->next ? (uint64_t)a->until : v->next;
    if (r->from < v->first)
        r->from = v->first;
    if (r->to < r->from)
        r->to = r->from;
    /* The beginning of a character whose end is still to come is left for the next reading. */
    if (r->to == v->next && v->running && r->to > r->from)
        r->to -= utf8_open_tail(journal_bytes(j, r->from), (size_t)(r->to - r->from));
    return 0;
}

static void gather(struct headtail *h, const struct journal *j, const struct range *r)
{
    for (uint64_t at = r->from; at < r->to;) {
        struct slice s = journal_slice(j, at, (size_t)(r->to - at));

        if (r->only_stream < 0 || r->only_stream == (int)s.stream)
            headtail_feed(h, s.bytes, s.len);
        at += s.len;
    }
}

/* Offsets of the middle are known only where every byte between the ends was taken. */
static void write_omitted(struct json_out *o, struct headtail *h, const struct range *r)
{
    struct headtail_view v;

    headtail_peek(h, &v);
    if (r->only_stream >= 0 || v.omitted == 0)
        json_knull(o, "omitted");
    else
        tool_write_range(o, "omitted", r->from + v.head_len, r->to - v.tail_len);
}

static void answer(struct call *c, const struct ask *a, const struct process_view *v,
                   const struct journal *j, const struct range *r)
{
    struct json_out o = tool_open(c);
    struct buf *text = &call_mcp(c)->text;
    struct headtail h;

    headtail_init(&h, (size_t)a->max_bytes);
    gather(&h, j, r);
    tool_write_state(&o, v);
    json_ku64(&o, "from", r->from);
    json_ku64(&o, "next", r->to);
    tool_write_range(&o, "gap", r->gap_from, r->from);
    write_omitted(&o, &h, r);
    if (r->gap_from < r->from)
        buf_printf(text, "[bytes %llu to %llu are no longer held]\n",
                   (unsigned long long)r->gap_from, (unsigned long long)r->from);
    tool_write_output(&o, text, &h);
    headtail_fini(&h);
    tool_put_state(text, v);
    tool_send(c, &o);
}

void tool_read_output(struct call *c, const json_t *arguments)
{
    struct ask a = {.since = -1,
                    .until = -1,
                    .tail_lines = -1,
                    .tail_bytes = -1,
                    .max_bytes = LIMIT_MCP_OUTPUT_BYTES};
    struct hf_error err = {0};
    struct process *p;
    struct process_view v;
    struct range r = {0};

    if (decode(arguments, &a, &err) < 0 || (p = tool_process(c, a.process_id, &err)) == NULL) {
        tool_fail(c, &err);
        return;
    }
    process_view(p, &v);
    if (resolve(&a, &v, process_journal(p), &r, &err) < 0)
        tool_fail(c, &err);
    else
        answer(c, &a, &v, process_journal(p), &r);
}
