/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/opensandbox/feed.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "transport/sse.h"

#define FEED_SLICE_BYTES 8192 /* of newlines only it becomes half a megabyte of events */

/* --- events --------------------------------------------------------------------- */

static struct json_out event_open(struct feed *f, const char *type)
{
    struct json_out j;

    json_out_init(&j, &f->osb->scratch);
    json_open(&j, '{');
    json_kstr(&j, "type", type);
    return j;
}

static void event_shut(struct json_out *j)
{
    json_kint(j, "timestamp", clock_wall_ms());
    json_shut(j, '}');
    buf_put(j->buf, "\n\n", 2);
}

static void feed_write(struct feed *f)
{
    struct buf *b = &f->osb->scratch;
    struct iovec iov = {buf_data(b), b->len};

    if (b->len > 0)
        http_stream_write(f->stream, &iov, 1);
    buf_clear(b);
    timer_start(f->ping, OSB_PING_MS);
}

static void put_text_event(struct feed *f, const char *type, const char *text)
{
    struct json_out j = event_open(f, type);

    json_kstr(&j, "text", text);
    event_shut(&j);
}

static void put_line(void *arg, const char *text, size_t len, bool more)
{
    struct feed *f = arg;
    struct json_out j;

    if (f->eid <= f->after)
        return;
    j = event_open(f, f->telling);
    json_key(&j, "text");
    json_strn(&j, text, len);
    json_ku64(&j, "eid", f->eid);
    if (more)
        json_kbool(&j, "partial", true);
    event_shut(&j);
}

static struct lines *lines_of(struct feed *f, enum stream s)
{
    bool err = s == STREAM_STDERR && !f->merged;

    f->telling = err ? "stderr" : "stdout";
    return err ? &f->err : &f->out;
}

/* --- output ---------------------------------------------------------------------- */

/* Up to the next line end and with it. */
static size_t line_length(const char *bytes, size_t len)
{
    size_t n = 0;

    while (n < len && bytes[n] != '\n' && bytes[n] != '\r')
        n++;
    return n < len ? n + 1 : n;
}

/* Line by line, so that each event has the number of its own end. */
static void feed_slice(struct feed *f, const struct slice *s)
{
    struct lines *l = lines_of(f, s->stream);
    const char *at = s->bytes, *end = s->bytes + s->len;

    while (at < end) {
        size_t n = line_length(at, (size_t)(end - at));

        f->eid = 2 * (s->at + (uint64_t)(at + n - s->bytes));
        osb_lines_feed(l, at, n, put_line, f);
        at += n;
    }
}

static void flush_both(struct feed *f, void (*fn)(struct lines *, line_fn *, void *))
{
    fn(lines_of(f, STREAM_STDOUT), put_line, f);
    fn(lines_of(f, STREAM_STDERR), put_line, f);
}

/* How far the next slice goes: a line that the client was told in part is cut there again. */
static uint64_t slice_end(const struct feed *f, const struct journal *j)
{
    uint64_t end = journal_next(j), cut = f->after / 2;

    if (f->at < cut && cut < end)
        end = cut;
    return f->until < end ? f->until : end;
}

/* Clients have no word for it, but their users may look. */
static void skip_gap(struct feed *f, uint64_t to)
{
    char text[80];

    snprintf(text, sizeof text, "%llu bytes of output are gone: the client was too slow",
             (unsigned long long)(to - f->at));
    buf_clear(&f->osb->scratch);
    put_text_event(f, "status", text);
    feed_write(f);
    f->at = to;
}

/* All that there is, as long as there is room. True: nothing is left. */
static bool feed_step(struct feed *f)
{
    struct journal *j = process_journal(f->process);

    if (f->at < journal_first(j) && http_stream_ready(f->stream))
        skip_gap(f, journal_first(j));
    if (f->at < journal_first(j))
        return false;
    while (f->at < slice_end(f, j)) {
        uint64_t left = slice_end(f, j) - f->at;
        struct slice s;

        if (!http_stream_ready(f->stream))
            return false;
        s = journal_slice(j, f->at, left < FEED_SLICE_BYTES ? (size_t)left : FEED_SLICE_BYTES);
        buf_clear(&f->osb->scratch);
        feed_slice(f, &s);
        f->at += s.len;
        if (f->after == 2 * f->at + 1)
            flush_both(f, osb_lines_flush);
        if (f->osb->scratch.len > 0)
            feed_write(f);
        timer_start(f->flush, OSB_PARTIAL_MS);
    }
    return true;
}

/* False: something is left to be sent, or the feed is over and maybe gone. */
static bool feed_run(struct feed *f)
{
    if (!feed_step(f) || !http_stream_ready(f->stream))
        return false;
    if (f->at < f->until)
        return true;
    f->ops->over(f, NULL);
    return false;
}

static bool feed_ready(void *arg)
{
    struct feed *f = arg;

    return f->stream != NULL && feed_run(f);
}

static void feed_bytes(void *arg, const struct slice *s)
{
    (void)arg, (void)s; /* feed_ready() has sent them */
}

static void feed_gap(void *arg, uint64_t from, uint64_t to)
{
    (void)arg, (void)from, (void)to;
}

static void feed_exited(void *arg, const struct exit_record *x)
{
    struct feed *f = arg;

    f->ops->over(f, x);
}

static const struct viewer_ops viewer_ops = {
    .ready = feed_ready,
    .bytes = feed_bytes,
    .gap = feed_gap,
    .exited = feed_exited,
};

/* --- the client ----------------------------------------------------------------------- */

static void feed_on_drain(void *arg)
{
    struct feed *f = arg;

    if (f->process != NULL && feed_run(f) && f->viewer != NULL)
        viewer_pump(f->viewer);
}

static void feed_on_gone(void *arg)
{
    struct feed *f = arg;

    f->stream = NULL;
    f->ops->gone(f);
}

static const struct http_stream_ops stream_ops = {.on_drain = feed_on_drain,
                                                  .on_gone = feed_on_gone};

/* Silence would be taken for a broken connection: by proxies, and by clients after 300 s. */
static void feed_on_ping(struct timer *t, void *arg)
{
    struct feed *f = arg;

    (void)t;
    if (f->stream == NULL)
        return;
    if (!http_stream_ready(f->stream)) {
        timer_start(f->ping, OSB_PING_MS);
        return;
    }
    buf_clear(&f->osb->scratch);
    put_text_event(f, "ping", "pong");
    feed_write(f);
}

/* A question without a line end is for somebody to see. */
static void feed_on_flush(struct timer *t, void *arg)
{
    struct feed *f = arg;

    (void)t;
    if (f->stream == NULL || (!osb_lines_holds(&f->out) && !osb_lines_holds(&f->err)))
        return;
    if (!http_stream_ready(f->stream)) {
        timer_start(f->flush, OSB_PARTIAL_MS);
        return;
    }
    buf_clear(&f->osb->scratch);
    f->eid = 2 * f->at + 1;
    flush_both(f, osb_lines_flush);
    if (f->osb->scratch.len > 0)
        feed_write(f);
}

/* --- beginning and end ------------------------------------------------------------------ */

void osb_feed_init(struct feed *f, struct osb *o, const struct feed_ops *ops)
{
    *f = (struct feed){.osb = o, .ops = ops, .until = UINT64_MAX, .began_ms = clock_mono_ms()};
    f->ping = timer_new(o->loop, feed_on_ping, f);
    f->flush = timer_new(o->loop, feed_on_flush, f);
}

void osb_feed_fini(struct feed *f)
{
    struct http_stream *stream = f->stream;

    f->stream = NULL;
    viewer_detach(f->viewer);
    process_unref(f->process);
    timer_close(f->ping);
    timer_close(f->flush);
    osb_lines_fini(&f->out);
    osb_lines_fini(&f->err);
    if (stream != NULL)
        http_stream_abort(stream);
}

void osb_feed_begin(struct feed *f, struct http_request *rq, const char *id)
{
    http_add_header(rq, "Cache-Control", "no-cache");
    http_add_header(rq, "X-Accel-Buffering", "no");
    f->stream = http_stream_start(rq, 200, SSE_TYPE, &stream_ops, f);
    buf_clear(&f->osb->scratch);
    put_text_event(f, "init", id);
    put_text_event(f, "ping", "pong");
    feed_write(f);
}

int osb_feed_attach(struct feed *f, struct process *p, uint64_t from, struct hf_error *err)
{
    const struct viewer_options o = {
        .since = SINCE_OFFSET,
        .offset = from,
        .internal = true,
        .read_only = true,
        .verbatim = true,
        .only_stream = -1,
    };

    f->process = process_ref(p);
    f->at = from;
    return viewer_attach(p, &o, &viewer_ops, f, &f->viewer, err);
}

void osb_feed_stop_at(struct feed *f, uint64_t until)
{
    f->until = until;
    (void)feed_run(f);
}

void osb_feed_say(struct feed *f, const char *text)
{
    buf_clear(&f->osb->scratch);
    put_text_event(f, "stdout", text);
    feed_write(f);
}

static void feed_close(struct feed *f)
{
    struct http_stream *stream = f->stream;

    feed_write(f);
    f->stream = NULL;
    timer_stop(f->ping);
    timer_stop(f->flush);
    http_stream_end(stream);
}

static void put_error(struct feed *f, const char *value, const char *trace)
{
    struct json_out j = event_open(f, "error");

    json_key(&j, "error");
    json_open(&j, '{');
    json_kstr(&j, "ename", "CommandExecError");
    json_kstr(&j, "evalue", value);
    json_key(&j, "traceback");
    json_open(&j, '[');
    json_str(&j, trace);
    json_shut(&j, ']');
    json_shut(&j, '}');
    event_shut(&j);
}

static void put_complete(struct feed *f)
{
    uint64_t ms = clock_mono_ms() - f->began_ms;
    struct json_out j = event_open(f, "execution_complete");

    if (ms > 0)
        json_ku64(&j, "execution_time", ms);
    event_shut(&j);
}

static void feed_rest(struct feed *f)
{
    buf_clear(&f->osb->scratch);
    f->eid = 2 * f->at + 1;
    flush_both(f, osb_lines_end);
}

void osb_feed_end(struct feed *f, const struct exit_record *x)
{
    char words[OSB_END_BYTES], value[16];

    feed_rest(f);
    if (x != NULL && osb_end_words(x, words)) {
        snprintf(value, sizeof value, "%d", x->code >= 0 ? x->code : -1);
        put_error(f, value, words);
    } else {
        put_complete(f);
    }
    feed_close(f);
}

void osb_feed_fail(struct feed *f, const char *reason)
{
    feed_rest(f);
    put_error(f, reason, reason);
    feed_close(f);
}
