/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_connect.c - GET …/pty/{id}/connect: output as text frames, and a frame with the cursor
 *
 * The cursor counts UTF-16 units (engine/journal/units.h). Text frames must be UTF-8, so an
 * incomplete character waits for its rest, and invalid bytes become U+FFFD; frames are split
 * between characters. Clients add up the lengths of what they receive and reconnect with the sum.
 * The binary frame after the replay, and after a gap, corrects them. Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/utf16.h"
#include "dialects/common/console.h"
#include "dialects/opencode/opencode.h"
#include "dialects/opencode/opencode_limits.h"
#include "engine/journal/units.h"

#define CLOSE_NO_SESSION 4404

struct attachment {
    char open[UTF8_OPEN_MAX]; /* the bytes of an incomplete character */
    size_t open_len;
    size_t skip; /* bytes after a gap that belong to a character whose first bytes are lost */
};

/* --- to the client ------------------------------------------------------------------ */

static void send_cursor(struct console *c, uint64_t units)
{
    char frame[40];
    int n = snprintf(frame + 1, sizeof frame - 1, "{\"cursor\":%llu}", (unsigned long long)units);
    struct iovec iov = {frame, (size_t)n + 1};

    frame[0] = '\0';
    ws_send(console_ws(c), WS_BINARY, &iov, 1);
}

/* Straight from the ring if it is UTF-8, which is nearly always the case. */
static void send_text(struct console *c, const char *bytes, size_t len, bool end)
{
    struct attachment *a = console_user(c);
    struct buf fixed = {0};
    size_t open = end ? 0 : utf8_open_tail(bytes, len);

    memcpy(a->open, bytes + len - open, open);
    a->open_len = open;
    len -= open;
    if (len == 0)
        return;
    if (utf8_is_valid(bytes, len)) {
        ws_send_text(console_ws(c), bytes, len);
        return;
    }
    utf8_repair(&fixed, bytes, len, true);
    ws_send_text(console_ws(c), buf_data(&fixed), fixed.len);
    buf_fini(&fixed);
}

static void attachment_bytes(struct console *c, const struct slice *s)
{
    struct attachment *a = console_user(c);
    size_t skip = a->skip < s->len ? a->skip : s->len;
    const char *bytes = s->bytes + skip;
    size_t len = s->len - skip;
    struct buf joined = {0};

    a->skip -= skip;
    if (a->open_len > 0 && len > 0) {
        buf_put(&joined, a->open, a->open_len);
        buf_put(&joined, bytes, len);
        send_text(c, buf_data(&joined), joined.len, false);
        buf_fini(&joined);
    } else if (len > 0) {
        send_text(c, bytes, len, false);
    }
}

static void attachment_replay_done(struct console *c, uint64_t offset)
{
    const struct attachment *a = console_user(c);
    struct journal *j = process_journal(console_process(c));

    send_cursor(c, units_from(j, offset - a->open_len).units);
}

/* The client was too slow for the ring. Its sum would be wrong from here on, so it gets a new
 * one. */
static void attachment_gap(struct console *c, uint64_t from, uint64_t to)
{
    struct attachment *a = console_user(c);
    struct units_point p = units_from(process_journal(console_process(c)), to);

    (void)from;
    a->open_len = 0;
    a->skip = (size_t)(p.at - to);
    send_cursor(c, p.units);
}

static void attachment_exited(struct console *c, const struct exit_record *x)
{
    struct attachment *a = console_user(c);

    (void)x;
    send_text(c, a->open, a->open_len, true);
    console_close(c, 1000, "");
}

static void attachment_closed(struct console *c, int code)
{
    (void)code;
    free(console_user(c));
}

/* Text and binary frames are keystrokes, whatever their content. */
static const struct console_ops ops = {
    .bytes = attachment_bytes,
    .gap = attachment_gap,
    .replay_done = attachment_replay_done,
    .exited = attachment_exited,
    .closed = attachment_closed,
};

/* --- setup ---------------------------------------------------------------------------- */

/* An invalid cursor means all retained output: an empty terminal would not help. */
static uint64_t start_of(const struct http_request *rq, struct journal *j)
{
    const char *text = http_query(rq, "cursor");
    int64_t cursor = 0;

    if (text != NULL && !text_to_i64(text, -1, INT64_MAX, &cursor))
        cursor = 0;
    if (cursor == -1)
        return units_end(j).at;
    return units_find(j, (uint64_t)cursor, OC_REPLAY_UNITS).at;
}

static void attach(struct http_request *rq, struct process *p)
{
    struct attachment *a = hf_xalloc(sizeof *a);
    const struct console_open o = {
        .process = p,
        .viewer =
            {
                .since = SINCE_OFFSET,
                .offset = start_of(rq, process_journal(p)),
                .only_stream = -1,
                /* Together with the incomplete character of the one before, a slice is one
                 * frame. */
                .slice_bytes = OC_FRAME_UNITS - UTF8_OPEN_MAX,
            },
        .ops = &ops,
        .user = a,
        .text_max = LIMIT_OC_INPUT_BYTES,
    };
    struct hf_error err;

    if (console_open(rq, &o, &err) != NULL)
        return;
    free(a);
    if (err.code != HF_OK)
        http_reply_error(rq, &err);
}

/* A PTY that does not exist is a 404 whether or not the request is for a WebSocket, so the HTTP
 * layer does not check that. */
void oc_pty_connect(struct http_request *rq)
{
    struct process *p = oc_process(rq);
    struct process_view v;

    if (p == NULL)
        return;
    if (!http_is_websocket(rq) || !ws_version_is_ours(rq) || !ws_key_is_valid(rq)) {
        http_reply_empty(rq, 400);
        return;
    }
    process_view(p, &v);
    if (http_query(rq, "ticket") != NULL && !oc_ticket_spend(rq, v.id))
        http_reply_empty(rq, 403);
    else if (!v.running)
        ws_refuse(rq, CLOSE_NO_SESSION, "session exited");
    else
        attach(rq, p);
}
