/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_output.c - the output of a process: as numbered log entries, and as a terminal
 *
 * Log entries are the journal's runs. Of a terminal, the original replays nothing, so a reloaded
 * page stays blank, and output before the attach is lost. Here the retained output follows `ready`,
 * and its React component shows it as history. Layer: dialects.
 */
#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/console.h"
#include "dialects/common/follow.h"
#include "dialects/common/process_json.h"
#include "dialects/common/request_checks.h"
#include "dialects/sandbox-agent/agent.h"

/* --- logs ---------------------------------------------------------------------------------- */

/* The names of `stream` in the order of enum stream, and then both pipes. */
static const char *const log_streams[] = {"pty", "stdout", "stderr", "combined"};
#define LOG_COMBINED 3

/* Which runs are requested. */
struct agent_log_filter {
    int stream;     /* index of log_streams */
    uint64_t since; /* sequences above this */
    int64_t tail;   /* -1: all */
};

static bool log_wants(const struct agent_log_filter *f, const struct slice *s)
{
    if (s->len == 0 || s->dense < f->since)
        return false;
    return f->stream == LOG_COMBINED ? s->stream != STREAM_TTY : f->stream == (int)s->stream;
}

/* Sequence numbers begin with 1 and have no holes. */
static void log_write(struct json_out *o, const struct slice *s)
{
    json_ku64(o, "sequence", s->dense + 1);
    json_kstr(o, "stream", log_streams[s->stream]);
    json_kint(o, "timestampMs", s->time_ms);
    process_json_base64(o, "data", s->bytes, s->len);
    json_kstr(o, "encoding", "base64");
}

/* With a tail: the first of the last requested runs. A run's number is never below its sequence, so
 * none of those requested is before `since`. */
static uint64_t log_begin(const struct agent_log_filter *f, const struct journal *j)
{
    uint64_t first = journal_run_first(j), n = journal_run_count(j);
    uint64_t begin = f->since > first ? f->since : first;
    int64_t left = f->tail;

    if (f->tail < 0)
        return begin;
    while (n > begin && left > 0) {
        struct slice s = journal_run(j, --n);

        left -= log_wants(f, &s);
    }
    return n > begin ? n : begin;
}

static void logs_reply(struct http_request *rq, struct process *p, const struct agent_log_filter *f)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    struct journal *j = process_journal(p);
    uint64_t n;

    journal_cut(j); /* output from now on is another entry */
    n = journal_run_last(j, log_begin(f, j), (uint64_t)agent_of(rq)->config.max_log);
    json_kstr(&o, "processId", process_id(p));
    json_kstr(&o, "stream", log_streams[f->stream]);
    json_kopen(&o, "entries", '[');
    for (; n < journal_run_count(j); n++) {
        struct slice s = journal_run(j, n);

        if (!log_wants(f, &s))
            continue;
        json_open(&o, '{');
        log_write(&o, &s);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}

/* The original never ends the stream; this one ends after `exit`. */
struct agent_follow {
    struct follow follow;
    struct agent_log_filter filter;
};

static void follow_run(struct follow *base, const struct slice *s)
{
    struct agent_follow *f = list_entry(base, struct agent_follow, follow);
    struct json_out o;

    if (!log_wants(&f->filter, s))
        return;
    o = dialect_reply_open(base->call.base);
    log_write(&o, s);
    follow_send_json(base, "log", s->dense + 1, &o);
}

static bool follow_exited(struct follow *f, const struct exit_record *x)
{
    struct json_out o = dialect_reply_open(f->call.base);

    process_json_code(&o, "exitCode", x->code);
    follow_send_json(f, "exit", 0, &o);
    return true;
}

/* Of future entries, those after `since` are sent. */
static void logs_follow(struct http_request *rq, struct process *p,
                        const struct agent_log_filter *filter)
{
    static const struct follow_ops ops = {.bytes = follow_run, .exited = follow_exited};
    struct agent_follow *f = hf_xalloc(sizeof *f);

    f->filter = *filter;
    follow_runs(&f->follow, &ops, rq, p, log_begin(filter, process_journal(p)));
}

/* A client that reconnects sends its position and continues there: the tail was for its first
 * request, and would now skip what it has missed. */
static bool logs_decode(struct http_request *rq, struct process *p, struct agent_log_filter *f)
{
    const char *last = http_header(rq, "Last-Event-ID");
    int both = process_has_terminal(p) ? STREAM_TTY : LOG_COMBINED;
    int64_t since = 0;

    f->stream = check_query_choice(rq, "stream", log_streams, 4, both);
    if (f->stream < 0 || !dialect_query_number(rq, "since", 0, INT64_MAX, &since) ||
        !dialect_query_number(rq, "tail", 0, INT64_MAX, &f->tail))
        return false;
    if (last != NULL && text_to_i64(last, 0, INT64_MAX, &since))
        f->tail = -1;
    f->since = (uint64_t)since;
    return true;
}

void agent_logs(struct http_request *rq)
{
    const char *text = http_query(rq, "follow");
    struct process *p = dialect_process(rq, "id");
    struct agent_log_filter f = {.tail = -1};
    int follow = text != NULL ? text_to_bool(text) : 0;

    if (p == NULL || !logs_decode(rq, p, &f))
        return;
    if (follow < 0)
        dialect_fail(rq, HF_E_bad_value, "query parameter follow must be true or false");
    else if (follow)
        logs_follow(rq, p, &f);
    else
        logs_reply(rq, p, &f);
}

/* --- terminal: bytes out as binary frames, JSON frames in ------------------------------------ */

#define REPLAY_BYTES 65536
/* of JSON: the longest input with every byte escaped, and some spare */
#define FRAME_BYTES (1 << 20)

/* Never drop output silently. */
static void terminal_gap(struct console *c, uint64_t from, uint64_t to)
{
    console_send_error(c, "%llu bytes of output were lost: the client reads too slowly",
                       (unsigned long long)(to - from));
}

static void terminal_exited(struct console *c, const struct exit_record *x)
{
    struct json_out o = dialect_reply_open(console_user(c));

    json_kstr(&o, "type", "exit");
    process_json_code(&o, "exitCode", x->code);
    console_send_json(c, &o);
    console_close(c, 1000, "exit");
}

static void terminal_refused(struct console *c, const struct hf_error *err)
{
    console_send_error(c, "%s", err->detail);
}

static void terminal_text(struct console *c, const char *text, size_t len)
{
    const struct agent *agent = console_user(c);
    struct hf_error err = {0};
    struct agent_frame f;

    if (agent_decode_frame(&f, text, len, agent->config.max_input, &err) < 0)
        console_send_error(
            c, "%s%s",
            err.code == HF_E_body_too_large ? "" : "invalid terminal frame: ", err.detail);
    else if (f.kind == AGENT_FRAME_INPUT)
        console_type_all(c, buf_data(&f.bytes), f.bytes.len);
    else if (f.kind == AGENT_FRAME_RESIZE)
        console_resize(c, f.rows, f.cols);
    else
        console_close(c, 1000, "detached");
    buf_fini(&f.bytes);
}

static void terminal_too_long(struct console *c)
{
    console_send_error(c, "terminal frame exceeds %d bytes", FRAME_BYTES);
}

static size_t terminal_binary(struct console *c, const void *bytes, size_t len, bool last)
{
    (void)bytes;
    if (last)
        console_send_error(c, "binary input is not supported; use text JSON frames");
    return len;
}

static const struct console_ops ops = {
    .gap = terminal_gap,
    .exited = terminal_exited,
    .text = terminal_text,
    .too_long = terminal_too_long,
    .binary = terminal_binary,
    .refused = terminal_refused,
};

void agent_terminal(struct http_request *rq)
{
    struct process *p = dialect_process(rq, "id");
    struct console_open o = {
        .process = p,
        .viewer = {.since = SINCE_LAST, .offset = REPLAY_BYTES, .only_stream = -1},
        .ops = &ops,
        .text_max = FRAME_BYTES,
    };
    struct json_out ready;
    struct console *c;

    if (p != NULL && !process_has_terminal(p))
        dialect_fail(rq, HF_E_not_a_terminal, "process is not a tty");
    else if (p != NULL && (c = console_serve(rq, &o)) != NULL) {
        ready = dialect_reply_open(dialect_base_of(rq));
        json_kstr(&ready, "type", "ready");
        json_kstr(&ready, "processId", process_id(p));
        console_send_json(c, &ready);
    }
}
