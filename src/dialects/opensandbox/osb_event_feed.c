/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_event_feed.c - writes execd's events, paced by the client's socket. Layer: dialects.
 */
#include "dialects/opensandbox/osb_event_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dialects/opensandbox/opensandbox_limits.h"
#include "transport/sse.h"

/* The flags added to the offset in an eid: a bit for each stream, twice. */
enum { EID_OUT = 1, EID_ERR = 2, EID_ENDED = 4, EID_STATES = 16 };

/* --- events --------------------------------------------------------------------- */

static struct json_out event_open(struct osb_feed *f, const char *type)
{
    struct json_out j;

    json_out_init(&j, &f->base->scratch);
    json_open(&j, '{');
    json_kstr(&j, "type", type);
    return j;
}

static void event_shut(struct json_out *j)
{
    json_kint(j, "timestamp", clock_wall_ms());
    json_close(j, '}');
    buf_put(j->buf, "\n\n", 2);
}

static void feed_write(struct osb_feed *f)
{
    struct buf *b = &f->base->scratch;
    struct iovec iov = {buf_data(b), b->len};

    if (b->len > 0)
        http_stream_write(f->stream, &iov, 1);
    buf_clear(b);
    timer_start(f->ping, OSB_PING_MS);
}

static void put_text_event(struct osb_feed *f, const char *type, const char *text)
{
    struct json_out j = event_open(f, type);

    json_kstr(&j, "text", text);
    event_shut(&j);
}

static unsigned stream_bit(const struct osb_feed *f, const struct lines *l)
{
    return l == &f->err ? EID_ERR : EID_OUT;
}

static bool is_begun(const struct osb_feed *f, const struct lines *l, bool more)
{
    return f->emitting == l && !f->ending ? more : l->begun;
}

/* The number of the event being written; `more`: its line continues. */
static uint64_t eid_now(const struct osb_feed *f, bool more)
{
    unsigned begun =
        (is_begun(f, &f->out, more) ? EID_OUT : 0) | (is_begun(f, &f->err, more) ? EID_ERR : 0);

    return f->place * EID_STATES + f->ended * EID_ENDED + begun;
}

static void put_line(void *arg, const char *text, size_t len, bool more)
{
    struct osb_feed *f = arg;
    struct json_out j;

    if (f->ending)
        f->ended |= stream_bit(f, f->emitting);
    if (f->skipping)
        return;
    j = event_open(f, f->emitting == &f->err ? "stderr" : "stdout");
    json_key(&j, "text");
    json_strn(&j, text, len);
    json_ku64(&j, "eid", eid_now(f, more));
    if (more)
        json_kbool(&j, "partial", true);
    event_shut(&j);
}

/* --- output ---------------------------------------------------------------------- */

typedef void emit_fn(struct lines *l, line_fn *fn, void *arg);

/* A line whose last part was sent before the end has then ended without an event of its own. */
static void emit(struct osb_feed *f, struct lines *l, emit_fn *fn)
{
    if (f->ending && l->begun)
        f->ended |= stream_bit(f, l);
    f->emitting = l;
    fn(l, put_line, f);
}

/* A line that was sent in part is sent up to here before the other stream continues: its number
 * could not encode its position between the two. */
static void feed_slice(struct osb_feed *f, const struct slice *s)
{
    bool err = s->stream == STREAM_STDERR && !f->merged;
    struct lines *l = err ? &f->err : &f->out, *other = err ? &f->out : &f->err;
    const char *at = s->bytes, *end = s->bytes + s->len;

    f->place = s->at;
    if (other->begun)
        emit(f, other, osb_lines_flush);
    f->emitting = l;
    while (at < end) {
        size_t n = osb_lines_piece(l, at, (size_t)(end - at));

        f->place += n;
        osb_lines_feed(l, at, n, put_line, f);
        at += n;
    }
}

/* A line that was sent in part comes first: at most one stream buffers anything, see
 * feed_slice(). */
static void emit_both(struct osb_feed *f, emit_fn *fn)
{
    struct lines *first = f->err.begun ? &f->err : &f->out;

    f->place = f->at;
    emit(f, first, fn);
    emit(f, first == &f->out ? &f->err : &f->out, fn);
}

/* --- resuming after another stream of events ---------------------------------------- */

uint64_t osb_eid_offset(uint64_t eid)
{
    return eid / EID_STATES;
}

static void line_resume(struct lines *l, unsigned state)
{
    bool ended = state & EID_ENDED;

    if (ended || state & 1)
        osb_lines_reported(l, ended);
}

/* Everything before has been split into lines, as it was for the client; now skip what it has of
 * the open ones. */
static void feed_take_up(struct osb_feed *f)
{
    unsigned state = f->after % EID_STATES;

    if (!f->skipping || f->at < osb_eid_offset(f->after))
        return;
    f->skipping = false;
    line_resume(&f->out, state / EID_OUT);
    line_resume(&f->err, state / EID_ERR);
}

void osb_feed_resume(struct osb_feed *f, uint64_t after)
{
    f->after = after;
    f->skipping = true;
    feed_take_up(f);
}

void osb_feed_bytes(struct osb_feed *f, const struct slice *s)
{
    struct slice rest = *s;

    buf_clear(&f->base->scratch);
    while (rest.len > 0) {
        uint64_t cut = osb_eid_offset(f->after);
        struct slice piece = rest;

        if (f->skipping && cut - rest.at < rest.len)
            piece.len = (size_t)(cut - rest.at);
        feed_slice(f, &piece);
        f->at = piece.at + piece.len;
        feed_take_up(f);
        rest.at += piece.len;
        rest.bytes += piece.len;
        rest.len -= piece.len;
    }
    if (f->base->scratch.len > 0)
        feed_write(f);
    timer_start(f->flush, OSB_PARTIAL_MS);
}

/* The open lines have ended. */
static void emit_rest(struct osb_feed *f)
{
    f->ending = true;
    emit_both(f, osb_lines_end);
    f->ending = false;
    f->ended = 0;
}

/* Clients do not know this event, but their users may see it. */
static void put_gap(struct osb_feed *f, uint64_t to)
{
    char text[120];

    snprintf(text, sizeof text,
             "%llu bytes of output from offset %llu were lost: they were not read in time",
             (unsigned long long)(to - f->at), (unsigned long long)f->at);
    put_text_event(f, "status", text);
}

/* The buffered part of a line has lost the rest; what the client already has does not count as
 * lost. */
void osb_feed_gap(struct osb_feed *f, uint64_t to)
{
    uint64_t has = f->skipping ? osb_eid_offset(f->after) : 0;

    buf_clear(&f->base->scratch);
    emit_rest(f);
    if (f->at < has)
        f->at = has < to ? has : to;
    if (f->at < to) {
        put_gap(f, to);
        f->skipping = false;
    }
    feed_write(f);
    f->at = to;
}

/* --- timers --------------------------------------------------------------------------- */

/* Proxies, and clients after 300 s, would take silence for a broken connection. */
static void feed_on_ping(struct timer *t, void *arg)
{
    struct osb_feed *f = arg;

    (void)t;
    if (!http_stream_ready(f->stream)) {
        timer_start(f->ping, OSB_PING_MS);
        return;
    }
    buf_clear(&f->base->scratch);
    put_text_event(f, "ping", "pong");
    feed_write(f);
}

/* A prompt without a line end must be visible to those who want it. */
static void feed_on_flush(struct timer *t, void *arg)
{
    struct osb_feed *f = arg;

    (void)t;
    if (!f->partial || (!osb_lines_holds(&f->out) && !osb_lines_holds(&f->err)))
        return;
    if (!http_stream_ready(f->stream)) {
        timer_start(f->flush, OSB_PARTIAL_MS);
        return;
    }
    buf_clear(&f->base->scratch);
    emit_both(f, osb_lines_flush);
    if (f->base->scratch.len > 0)
        feed_write(f);
}

/* --- setup and teardown ----------------------------------------------------------------- */

void osb_feed_headers(struct http_request *rq)
{
    http_add_header(rq, "Cache-Control", "no-cache");
    http_add_header(rq, "X-Accel-Buffering", "no");
}

/* "OpenSandbox-Python-SDK/1.1.1": its `text` has a newline between two texts only if neither has
 * one there. Earlier versions, and the clients of other languages, always join by newlines. */
static bool needs_wide_blanks(const struct http_request *rq)
{
    static const char brand[] = "OpenSandbox-Python-SDK/";
    const char *agent = http_header(rq, "User-Agent");
    unsigned long version = 0;
    char *end;

    if (agent == NULL || strncmp(agent, brand, sizeof brand - 1) != 0)
        return false;
    agent += sizeof brand - 1;
    for (int part = 0; part < 3; part++) {
        unsigned long n = strtoul(agent, &end, 10);

        version = version * 1000 + (n < 1000 ? n : 999);
        agent = *end == '.' ? end + 1 : end;
    }
    return version >= 1001001;
}

void osb_feed_init(struct osb_feed *f, const struct http_request *rq, uint64_t began_ms)
{
    struct dialect_base *base = dialect_base_of(rq);

    f->base = base;
    f->began_ms = began_ms;
    f->partial = dialect_query_flag(rq, "partial");
    f->out.wide_blanks = f->err.wide_blanks = needs_wide_blanks(rq);
    f->ping = timer_new(base->loop, feed_on_ping, f);
    f->flush = timer_new(base->loop, feed_on_flush, f);
}

void osb_feed_fini(struct osb_feed *f)
{
    timer_close(f->ping);
    timer_close(f->flush);
    osb_lines_fini(&f->out);
    osb_lines_fini(&f->err);
}

void osb_feed_begin(struct osb_feed *f, struct http_stream *out, const char *id)
{
    f->stream = out;
    buf_clear(&f->base->scratch);
    put_text_event(f, "init", id);
    put_text_event(f, "ping", "pong");
    feed_write(f);
}

void osb_feed_stream(struct osb_feed *f, struct call *c, const char *id)
{
    osb_feed_headers(c->rq);
    call_stream(c, 200, SSE_TYPE);
    osb_feed_begin(f, c->out, id);
}

void osb_feed_say(struct osb_feed *f, const char *text)
{
    buf_clear(&f->base->scratch);
    put_text_event(f, "stdout", text);
    feed_write(f);
}

static void put_error(struct osb_feed *f, const char *value, const char *trace)
{
    struct json_out j = event_open(f, "error");

    json_key(&j, "error");
    json_open(&j, '{');
    json_kstr(&j, "ename", "CommandExecError");
    json_kstr(&j, "evalue", value);
    json_key(&j, "traceback");
    json_open(&j, '[');
    json_str(&j, trace);
    json_close(&j, ']');
    json_close(&j, '}');
    event_shut(&j);
}

static void put_complete(struct osb_feed *f)
{
    uint64_t ms = clock_mono_ms() - f->began_ms;
    struct json_out j = event_open(f, "execution_complete");

    if (ms > 0)
        json_ku64(&j, "execution_time", ms);
    event_shut(&j);
}

static void feed_rest(struct osb_feed *f)
{
    buf_clear(&f->base->scratch);
    emit_rest(f);
}

void osb_feed_end(struct osb_feed *f, const struct exit_record *x)
{
    char words[OSB_END_BYTES], value[16];

    feed_rest(f);
    if (x != NULL && osb_end_words(x, words)) {
        snprintf(value, sizeof value, "%d", x->code >= 0 ? x->code : -1);
        put_error(f, value, words);
    } else {
        put_complete(f);
    }
    feed_write(f);
}

void osb_feed_fail(struct osb_feed *f, const char *reason)
{
    feed_rest(f);
    put_error(f, reason, reason);
    feed_write(f);
}
