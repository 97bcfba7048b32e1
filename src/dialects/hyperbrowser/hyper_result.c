/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hyper_result.c - writes a process's output and exit as one JSON object, piece by piece.
 * Layer: dialects.
 */
#include "dialects/hyperbrowser/hyper_result.h"

#include <string.h>

#include "base/text.h"
#include "dialects/hyperbrowser/hyper.h"

#define PIECE_BYTES (64 * 1024) /* some 100 us */

void result_init(struct result *r, struct process *p, const char *before, const char *behind)
{
    const struct journal *j = process_journal(p);

    *r = (struct result){
        .process = p,
        .before = before,
        .behind = behind,
        .from = journal_first(j),
        .at = journal_first(j),
        .end = journal_next(j),
        .missing = journal_first(j) > 0,
    };
}

void result_leave_out(struct result *r)
{
    r->missing = r->end > 0;
    r->from = r->at = r->end;
}

uint64_t result_bytes(const struct result *r)
{
    return r->end - r->from;
}

static void put_head(const struct result *r, struct buf *out)
{
    struct json_out o;
    struct process_view v;

    process_view(r->process, &v);
    buf_puts(out, r->before);
    json_out_init(&o, out);
    json_open(&o, '{');
    json_kstr(&o, "id", v.id);
    json_kstr(&o, "status", hyper_status(&v));
    hyper_write_end(&o, &v, "exit_code");
    json_kint(&o, "started_at", v.created_ms);
    if (!v.running)
        json_kint(&o, "completed_at", v.exited_ms);
    json_ku64(&o, "last_seq", journal_run_count(process_journal(r->process)));
    buf_puts(out, ",\"stdout\":\"");
}

/*
 * Appends the rest of an incomplete character to its beginning. Returns how many bytes it consumed.
 */
static size_t close_open(struct result *r, struct buf *out, const char *bytes, size_t len)
{
    size_t had = r->open_len, n;

    while (r->open_len < sizeof r->open && r->open_len - had < len)
        r->open[r->open_len] = bytes[r->open_len - had], r->open_len++;
    n = utf8_char_len(r->open, r->open_len);
    if (n == 0 && utf8_open_tail(r->open, r->open_len) == r->open_len)
        return r->open_len - had; /* still incomplete */
    if (n <= had)
        n = had; /* it was not a character */
    json_put_text(out, r->open, n);
    r->open_len = 0;
    return n - had;
}

/* A character that is split by the other stream, or by the end of a piece, is reassembled. */
static void put_text(struct result *r, struct buf *out, const char *bytes, size_t len)
{
    size_t n;

    if (r->open_len > 0) {
        n = close_open(r, out, bytes, len);
        bytes += n;
        len -= n;
    }
    n = utf8_open_tail(bytes, len);
    if (n > 0) {
        memcpy(r->open, bytes + len - n, n);
        r->open_len = n;
    }
    json_put_text(out, bytes, len - n);
}

/* A terminal's output counts as stdout. */
static bool is_of_part(const struct result *r, const struct slice *s)
{
    return (s->stream == STREAM_STDERR) == (r->part == RESULT_STDERR);
}

/* A running process may overwrite output that was not sent yet. */
static void skip_missing(struct result *r, const struct journal *j)
{
    if (r->at >= journal_first(j))
        return;
    r->missing = true;
    r->at = journal_first(j);
    if (r->end < r->at)
        r->end = r->at;
}

/* Some of one stream; false: there is no more of it. */
static bool put_output(struct result *r, struct buf *out)
{
    const struct journal *j = process_journal(r->process);
    size_t room = PIECE_BYTES;

    skip_missing(r, j);
    while (r->at < r->end && room > 0) {
        uint64_t left = r->end - r->at;
        struct slice s = journal_slice(j, r->at, left < room ? (size_t)left : room);

        r->at += s.len;
        if (is_of_part(r, &s)) {
            put_text(r, out, s.bytes, s.len);
            room -= s.len;
        }
    }
    if (r->at < r->end)
        return true;
    json_put_text(out, r->open, r->open_len);
    r->open_len = 0;
    return false;
}

static void put_tail(const struct result *r, struct buf *out)
{
    buf_printf(out, "\",\"output_truncated\":%s}%s", r->missing ? "true" : "false", r->behind);
}

bool result_piece(struct result *r, struct buf *out)
{
    switch (r->part) {
    case RESULT_HEAD:
        put_head(r, out);
        r->part = RESULT_STDOUT;
        return true;
    case RESULT_STDOUT:
        if (put_output(r, out))
            return true;
        buf_puts(out, "\",\"stderr\":\"");
        r->at = r->from;
        r->part = RESULT_STDERR;
        return true;
    case RESULT_STDERR:
        if (put_output(r, out))
            return true;
        put_tail(r, out);
        r->part = RESULT_OVER;
        return true;
    default: return false;
    }
}

static void send_piece(const struct result *r, struct http_stream *st, const struct buf *piece)
{
    struct iovec iov = {buf_data(piece), piece->len};
    struct buf ascii = {0};

    if (r->ascii) {
        json_put_ascii(&ascii, buf_data(piece), piece->len);
        iov = (struct iovec){buf_data(&ascii), ascii.len};
    }
    http_stream_write(st, &iov, 1);
    buf_fini(&ascii);
}

bool result_pump(struct result *r, struct http_stream *st, struct buf *scratch)
{
    while (r->part != RESULT_OVER && http_stream_ready(st) && http_stream_has_time(st)) {
        buf_clear(scratch);
        result_piece(r, scratch);
        send_piece(r, st, scratch);
    }
    return r->part == RESULT_OVER;
}
