/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_logs.c - GET …/command/{c}/logs: a command's output, as far as it is held
 *
 * The output is in the journal of the shell that ran the command. If that shell no longer exists,
 * the session's log has the beginning and the end. Layer: dialects.
 */
#include <string.h>

#include "dialects/daytona/daytona.h"

#define MARKER_BYTES 3

struct output {
    struct buf marked, out, err, all;
};

static void output_add(struct output *x, enum stream stream, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    buf_put(&x->marked, stream == STREAM_STDERR ? "\2\2\2" : "\1\1\1", MARKER_BYTES);
    buf_put(&x->marked, bytes, len);
    buf_put(stream == STREAM_STDERR ? &x->err : &x->out, bytes, len);
    buf_put(&x->all, bytes, len);
}

/* Never leave a silent gap. */
static void output_gap(struct output *x, uint64_t missing)
{
    struct buf note = {0};

    buf_printf(&note, "[%llu bytes of output were lost]\n", (unsigned long long)missing);
    output_add(x, STREAM_STDERR, buf_data(&note), note.len);
    buf_fini(&note);
}

static void read_journal(struct output *x, const struct journal *j, uint64_t from, uint64_t to)
{
    uint64_t at = from;

    if (at < journal_first(j)) {
        uint64_t first = journal_first(j) < to ? journal_first(j) : to;

        output_gap(x, first - at);
        at = first;
    }
    while (at < to) {
        struct slice s = journal_slice(j, at, (size_t)(to - at));

        if (s.len == 0)
            return;
        output_add(x, s.stream, s.bytes, s.len);
        at += s.len;
    }
}

static void read_command(struct output *x, struct dt *dt, const struct session_command *c)
{
    struct process *p = engine_find(dt->base.engine, c->begin.process_id, NULL);
    const struct journal *j = p != NULL ? process_journal(p) : NULL;

    if (j != NULL) {
        read_journal(x, j, c->begin.from, c->ended ? c->end.to : journal_next(j));
        return;
    }
    output_add(x, STREAM_STDOUT, c->head.bytes, c->head.len);
    if (c->end.omitted > 0)
        output_gap(x, c->end.omitted);
    output_add(x, STREAM_STDOUT, c->tail.bytes, c->tail.len);
}

static void output_fini(struct output *x)
{
    buf_fini(&x->marked);
    buf_fini(&x->out);
    buf_fini(&x->err);
    buf_fini(&x->all);
}

static void write_text(struct json_out *o, const char *key, struct buf *b)
{
    json_key(o, key);
    json_strn(o, buf_cstr(b), b->len);
}

void dt_output_write(struct json_out *o, struct dt *dt, const struct session_command *c,
                     enum dt_split split)
{
    struct output x = {0};

    read_command(&x, dt, c);
    write_text(o, "output", split == DT_STRIPPED ? &x.all : &x.marked);
    if (split == DT_SPLIT) {
        write_text(o, "stdout", &x.out);
        write_text(o, "stderr", &x.err);
    }
    output_fini(&x);
}

static void reply_text(struct http_request *rq, const struct session_command *c, bool marked)
{
    struct output x = {0};
    struct buf *b = marked ? &x.marked : &x.all;

    read_command(&x, dt_of(rq), c);
    http_reply(rq, 200, "text/plain; charset=utf-8", buf_cstr(b), b->len);
    output_fini(&x);
}

static void reply_json(struct http_request *rq, const struct session_command *c)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    dt_output_write(&o, dt_of(rq), c, DT_SPLIT);
    dialect_reply_send(rq, 200, &o);
}

/* A queued command has written nothing. */
void dt_logs(struct http_request *rq)
{
    enum dt_split split = dt_split_of(rq);
    struct dt_command c;

    if (!dt_command(rq, &c))
        return;
    if (!c.begun)
        c.log = (struct session_command){.ended = true};
    if (http_is_websocket(rq))
        dt_follow(rq, &c);
    else if (split == DT_SPLIT)
        reply_json(rq, &c.log);
    else
        reply_text(rq, &c.log, split == DT_MARKED);
}
