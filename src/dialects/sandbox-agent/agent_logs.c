/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_logs.c - GET …/logs: the journal's runs as numbered entries. Layer: dialects.
 */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/follow.h"
#include "dialects/common/process_json.h"
#include "dialects/common/request_checks.h"
#include "dialects/sandbox-agent/agent.h"

#define LOG_COMBINED (-1)

/* Which runs are requested. */
struct agent_log_filter {
    int stream;       /* enum stream, or LOG_COMBINED */
    const char *name; /* as requested */
    uint64_t since;   /* sequences above this */
    int64_t tail;     /* -1: all */
};

static const char *entry_stream(enum stream s)
{
    return s == STREAM_TTY ? "pty" : stream_name(s);
}

static bool log_wants(const struct agent_log_filter *f, const struct slice *s)
{
    if (s->len == 0)
        return false;
    return f->stream == LOG_COMBINED ? s->stream != STREAM_TTY : f->stream == (int)s->stream;
}

/* Sequence numbers begin with 1. */
static void log_write(struct json_out *o, uint64_t number, const struct slice *s)
{
    json_open(o, '{');
    json_ku64(o, "sequence", number + 1);
    json_kstr(o, "stream", entry_stream(s->stream));
    json_kint(o, "timestampMs", s->time_ms);
    process_json_base64(o, "data", s->bytes, s->len);
    json_kstr(o, "encoding", "base64");
    json_close(o, '}');
}

/* With a tail: the first of the last requested runs. */
static uint64_t log_begin(const struct agent_log_filter *f, const struct journal *j)
{
    uint64_t first = journal_run_first(j), n = journal_run_count(j);
    uint64_t begin = f->since > first ? f->since : first;
    int64_t left = f->tail;

    if (f->tail < 0)
        return begin;
    while (n > begin && left > 0) {
        struct slice s = journal_run(j, n - 1);

        n--;
        left -= log_wants(f, &s);
    }
    return n > begin ? n : begin;
}

static bool decode_stream(struct http_request *rq, struct process *p, struct agent_log_filter *f)
{
    static const char *const names[] = {"stdout", "stderr", "combined", "pty"};
    static const int streams[] = {STREAM_STDOUT, STREAM_STDERR, LOG_COMBINED, STREAM_TTY};
    struct process_view v;
    int i;

    process_view(p, &v);
    i = check_query_choice(rq, "stream", names, 4, v.pty ? 3 : 2);
    if (i < 0)
        return false;
    f->name = names[i];
    f->stream = streams[i];
    return true;
}

/* A client that reconnects sends its position and continues there: the tail was for its first
 * request, and would now skip what it has missed. */
static bool decode_begin(struct http_request *rq, struct agent_log_filter *f)
{
    const char *last = http_header(rq, "Last-Event-ID");
    int64_t since = 0;

    if (!dialect_query_number(rq, "since", 0, INT64_MAX, &since) ||
        !dialect_query_number(rq, "tail", 0, INT64_MAX, &f->tail))
        return false;
    if (last != NULL && text_to_i64(last, 0, INT64_MAX, &since))
        f->tail = -1;
    f->since = (uint64_t)since;
    return true;
}

/* The first of the last runs from `begin` on that together fit into one reply. */
static uint64_t log_fit(const struct journal *j, uint64_t begin, uint64_t max)
{
    uint64_t n = journal_run_count(j), total = 0;

    while (n > begin) {
        total += journal_run(j, n - 1).len;
        if (total > max)
            break;
        n--;
    }
    return n;
}

static void logs_reply(struct http_request *rq, struct process *p, const struct agent_log_filter *f)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct journal *j = process_journal(p);
    uint64_t max = (uint64_t)agent_of(rq)->config.max_log;
    struct process_view v;

    journal_cut(j); /* output from now on is another entry */
    process_view(p, &v);
    json_kstr(&o, "processId", v.id);
    json_kstr(&o, "stream", f->name);
    json_key(&o, "entries");
    json_open(&o, '[');
    for (uint64_t i = log_fit(j, log_begin(f, j), max); i < journal_run_count(j); i++) {
        struct slice s = journal_run(j, i);

        if (log_wants(f, &s))
            log_write(&o, i, &s);
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

/*
 * The original never ends the stream at the exit. This one sends `exit` and ends, which its client
 * understands.
 */
struct agent_follow {
    struct follow follow;
    struct agent_log_filter filter;
};

static void follow_run(struct follow *base, const struct slice *s)
{
    struct agent_follow *f = list_entry(base, struct agent_follow, follow);
    struct buf *text = &base->call.base->scratch;
    struct json_out o;

    if (s->number < f->filter.since || !log_wants(&f->filter, s))
        return;
    buf_clear(text);
    json_out_init(&o, text);
    log_write(&o, s->number, s);
    follow_send(base, "log", s->number + 1, text);
}

/* The next number shows the gap. */
static void follow_gap(struct follow *f, uint64_t from, uint64_t to)
{
    (void)f, (void)from, (void)to;
}

static bool follow_exited(struct follow *f, const struct exit_record *x)
{
    struct json_out o = dialect_reply_open(f->call.base);

    agent_write_code(&o, x);
    json_close(&o, '}');
    follow_send(f, "exit", 0, o.buf);
    return true;
}

static const struct follow_ops follow_ops = {
    .bytes = follow_run,
    .gap = follow_gap,
    .exited = follow_exited,
};

/* Of future entries, those after `since` are sent. */
static void follow_logs(struct http_request *rq, struct process *p,
                        const struct agent_log_filter *filter)
{
    struct agent_follow *f = hf_xalloc(sizeof *f);
    uint64_t run = log_begin(filter, process_journal(p));
    uint64_t count = journal_run_count(process_journal(p));
    const struct follow_open o = {.viewer = {.since = SINCE_OFFSET,
                                             .offset = run < count ? run : count,
                                             .runs = true,
                                             .only_stream = -1}};
    struct hf_error err = {0};

    f->filter = *filter;
    http_add_header(rq, "Cache-Control", "no-cache");
    if (follow_begin(&f->follow, &follow_ops, rq, p, &o, &err) < 0)
        http_reply_error(rq, &err);
}

void agent_logs(struct http_request *rq)
{
    static const char *const follows[] = {"true", "false"};
    struct process *p = dialect_process(rq, "id");
    struct agent_log_filter f = {.tail = -1};
    int follow;

    if (p == NULL || !decode_stream(rq, p, &f) || !decode_begin(rq, &f))
        return;
    follow = check_query_choice(rq, "follow", follows, 2, 1);
    if (follow == 0)
        follow_logs(rq, p, &f);
    else if (follow == 1)
        logs_reply(rq, p, &f);
}
