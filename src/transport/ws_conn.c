/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_conn.c - RFC 6455 on a connection
 *
 * A WebSocket is open, closing (our close frame is sent, the peer's is awaited; data is dropped) or
 * closed. There are three ways to the end: the close handshake and a protocol error finish the
 * connection in good order and notify the owner at once; a broken connection notifies it from
 * on_end. Layer: transport.
 */
#include "transport/ws_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "transport/conn_own.h"
#include "transport/deflate.h"
#include "transport/ws_codec.h"

#define INFLATE_ROOM (16 * 1024)

struct ws {
    struct conn *c;
    const struct ws_ops *ops;
    void *arg;
    struct ws_decoder decoder;
    struct utf8_check utf8;
    struct buf text;           /* a message that did not arrive in one piece */
    size_t text_max;           /* for one message */
    struct inflater *inflater; /* of the message that is arriving */
    struct buf rest;           /* inflated binary that was not consumed */
    struct peer_memory held;   /* of the message, the rest and the inflater */
    uint64_t requested,
        received;          /* wire offsets up to which a receipt was requested, and received */
    uint64_t requested_ms; /* the loop's clock at the oldest pending request; 0: none */
    enum role role;
    uint8_t silent; /* pings without a sign of life */
    bool deflate;   /* negotiated */
    bool closing;
    bool paused;  /* by the owner */
    bool aborted; /* the owner wants no more callbacks */
    bool heard;   /* since the last ping */
    bool passing; /* skipping a text message that is too long */
    bool rest_last;
    bool more, more_last; /* the inflater has more, although its input is used up */
};

static const struct conn_proto ws_proto;

static bool ws_is_closed(const struct ws *ws, const struct conn *c)
{
    return conn_is_ended(c) || c->proto != &ws_proto || c->owner != ws;
}

static void ws_free(struct ws *ws)
{
    peer_memory_clear(&ws->held);
    buf_fini(&ws->text);
    buf_fini(&ws->rest);
    inflater_free(ws->inflater);
    free(ws);
}

/* --- sending ----------------------------------------------------------------------------- */

static void ws_send_frame(struct ws *ws, uint8_t opcode, bool deflated, const struct iovec *iov,
                          int count)
{
    struct iovec parts[CONN_IOV_MAX - 1];
    char header[WS_SEND_HEADER_MAX];
    uint64_t total = 0;

    assert(count < CONN_IOV_MAX - 1);
    for (int i = 0; i < count; i++) {
        total += iov[i].iov_len;
        parts[i + 1] = iov[i];
    }
    parts[0].iov_base = header;
    parts[0].iov_len = ws_encode_header(header, opcode, true, deflated, total);
    conn_send(ws->c, parts, count + 1);
}

static const struct buf *ws_deflate(struct ws *ws, const struct iovec *iov, int count)
{
    struct http_server *s = ws->c->server;
    size_t total = 0;

    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    if (!ws->deflate || total < DEFLATE_MIN_BYTES)
        return NULL;
    if (s->deflater == NULL)
        s->deflater = deflater_new();
    return s->deflater != NULL ? deflater_run(s->deflater, iov, count) : NULL;
}

void ws_send(struct ws *ws, enum ws_opcode opcode, const struct iovec *iov, int count)
{
    const struct buf *packed;
    struct iovec one;

    if (ws->closing || conn_is_ended(ws->c))
        return;
    packed = ws_deflate(ws, iov, count);
    if (packed == NULL) {
        ws_send_frame(ws, (uint8_t)opcode, false, iov, count);
        return;
    }
    one = (struct iovec){buf_data(packed), packed->len};
    ws_send_frame(ws, (uint8_t)opcode, true, &one, 1);
}

void ws_send_text(struct ws *ws, const char *text, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)text, len};

    ws_send(ws, WS_TEXT, &iov, 1);
}

void ws_ping(struct ws *ws)
{
    if (!ws->closing && !conn_is_ended(ws->c))
        ws_send_frame(ws, WS_OP_PING, false, NULL, 0);
}

/* Sent with what follows, or at the end of the turn. */
static void ws_request_receipt(struct ws *ws, uint64_t count)
{
    char frame[WS_SEND_HEADER_MAX + sizeof count];
    size_t head = ws_encode_header(frame, WS_OP_PING, true, false, sizeof count);

    memcpy(frame + head, &count, sizeof count);
    conn_cork(ws->c, frame, head + sizeof count);
    ws->requested = count;
    if (ws->requested_ms == 0)
        ws->requested_ms = loop_now_ms(ws->c->server->loop);
}

uint64_t ws_count_sent(struct ws *ws)
{
    uint64_t count = conn_count_sent(ws->c);

    if (count > ws->requested && !ws->closing && !conn_is_ended(ws->c) && !ws->c->blocked)
        ws_request_receipt(ws, count);
    return count;
}

/* A peer that has never sent a pong may never do so. If its input waits here, its pong is queued
 * after that input, which may wait for the program to write: neither case may stall the program. */
static bool ws_is_mute(const struct ws *ws)
{
    uint64_t patience = ws->received == 0 ? WS_RECEIPT_MS : WS_RECEIPT_INPUT_MS;

    return ws->requested_ms != 0 && (ws->received == 0 || ws->c->paused) &&
           loop_now_ms(ws->c->server->loop) - ws->requested_ms >= patience;
}

uint64_t ws_count_received(struct ws *ws)
{
    return ws_is_mute(ws) ? conn_count_taken(ws->c) : ws->received;
}

/* One of our own pings has come back. A forged one harms only its sender. */
static bool ws_take_receipt(struct ws *ws, const struct ws_piece *piece)
{
    uint64_t count;

    if (piece->len != sizeof count)
        return false;
    memcpy(&count, piece->bytes, sizeof count);
    if (count <= ws->received || count > ws->requested)
        return false;
    ws->received = count;
    ws->requested_ms = count == ws->requested ? 0 : loop_now_ms(ws->c->server->loop);
    return true;
}

bool ws_ready(const struct ws *ws)
{
    return !ws->c->blocked && !conn_is_ended(ws->c) && !ws->closing;
}

size_t ws_held(const struct ws *ws)
{
    return ws->c->blocked ? ws->c->out.len : 0;
}

static void ws_send_close(struct ws *ws, int code, const char *reason)
{
    char payload[WS_CONTROL_MAX];
    size_t len = 0;

    if (ws_code_is_sendable(code)) {
        size_t text = strnlen(reason, sizeof payload - 2);

        text -= utf8_open_tail(reason, text);
        payload[0] = (char)(code >> 8);
        payload[1] = (char)code;
        memcpy(payload + 2, reason, text);
        len = 2 + text;
    }
    ws_send_frame(ws, WS_OP_CLOSE, false, &(struct iovec){payload, len}, 1);
}

void ws_close(struct ws *ws, int code, const char *reason)
{
    if (ws->closing || conn_is_ended(ws->c))
        return;
    ws_send_close(ws, code, reason != NULL ? reason : "");
    ws->closing = true;
    ws->paused = false;
    conn_set_deadline(ws->c, DEADLINE_CLOSE);
    conn_resume(ws->c); /* the peer's close may follow data that is not wanted any more */
}

void ws_abort(struct ws *ws)
{
    ws->aborted = true;
    conn_end(ws->c);
}

/* Peers that may not type need no long messages. */
void ws_allow_text(struct ws *ws, size_t bytes)
{
    if (ws->role >= ROLE_TYPE || bytes < ws->text_max)
        ws->text_max = bytes;
}

void ws_set_trusted(struct ws *ws, enum role role)
{
    if (role > ws->c->trust)
        conn_set_trust(ws->c, role);
}

void ws_pause(struct ws *ws)
{
    if (ws->closing || conn_is_ended(ws->c))
        return;
    ws->paused = true;
    conn_pause(ws->c);
}

void ws_resume(struct ws *ws)
{
    ws->paused = false;
    conn_resume(ws->c);
}

enum role ws_role(const struct ws *ws)
{
    return ws->role;
}

const char *ws_peer(const struct ws *ws)
{
    return ws->c->peer;
}

/* --- the end ----------------------------------------------------------------------------- */

/* In good order: the connection finishes by itself, the owner is notified, ws is dead. */
static void ws_finish(struct ws *ws, int code, bool drain)
{
    conn_finish(ws->c, drain);
    if (!ws->aborted)
        ws->ops->on_closed(ws->arg, code);
    ws_free(ws);
}

void ws_fail(struct ws *ws, int code, const char *reason)
{
    if (!ws->closing)
        ws_send_close(ws, code, reason);
    ws_finish(ws, code, true);
}

/* --- receiving: data ----------------------------------------------------------------------- */

enum taking { TAKEN, WAITS, DEAD };

/* Delivers binary bytes; *taken of len. The callback may have closed ws. */
static enum taking ws_deliver_binary(struct ws *ws, const char *bytes, size_t len, bool last,
                                     size_t *taken)
{
    struct conn *c = ws->c;

    *taken = len;
    if (ws->closing || (len == 0 && !last))
        return TAKEN;
    c->paused = true; /* unless all is consumed */
    *taken = ws->ops->on_binary(ws->arg, bytes, len, last);
    if (ws_is_closed(ws, c))
        return DEAD;
    if (ws->closing || *taken >= len) {
        *taken = len;
        c->paused = ws->paused;
        return TAKEN;
    }
    return WAITS;
}

/* A whole text message; text[len] can be written and is restored. */
static enum taking ws_deliver_text(struct ws *ws, char *text, size_t len)
{
    struct conn *c = ws->c;
    char behind = text[len];

    text[len] = '\0';
    ws->ops->on_text(ws->arg, text, len);
    text[len] = behind;
    return ws_is_closed(ws, c) ? DEAD : TAKEN;
}

static enum taking ws_deliver_collected(struct ws *ws)
{
    struct buf whole = ws->text;
    enum taking rc;

    ws->text = (struct buf){0};
    buf_cstr(&whole);
    rc = ws_deliver_text(ws, buf_data(&whole), whole.len);
    buf_fini(&whole);
    return rc;
}

/* A piece of a message that is too long: its owner is notified when it has ended. */
static enum taking ws_pass_over(struct ws *ws, bool last)
{
    struct conn *c = ws->c;

    buf_fini(&ws->text);
    if (!last)
        return TAKEN;
    ws->ops->on_text_too_long(ws->arg);
    return ws_is_closed(ws, c) ? DEAD : TAKEN;
}

/* A piece of text, checked as it arrives. A piece that is a whole message is not copied. */
static enum taking ws_on_text(struct ws *ws, char *bytes, size_t len, bool first, bool last)
{
    if (ws->closing)
        return TAKEN;
    if (first) {
        ws->utf8 = (struct utf8_check){0};
        ws->passing = false;
    }
    ws->passing |= ws->text.len + len > ws->text_max;
    if (ws->passing && ws->ops->on_text_too_long == NULL) {
        ws_fail(ws, WS_CODE_SIZE, "text message too long");
        return DEAD;
    }
    if (!utf8_check_feed(&ws->utf8, bytes, len) || (last && !utf8_check_done(&ws->utf8))) {
        ws_fail(ws, WS_CODE_TEXT, "text is not UTF-8");
        return DEAD;
    }
    if (ws->passing)
        return ws_pass_over(ws, last);
    if (first && last)
        return ws_deliver_text(ws, bytes, len);
    buf_put(&ws->text, bytes, len);
    return last ? ws_deliver_collected(ws) : TAKEN;
}

/* --- receiving: compressed data ------------------------------------------------------------- */

static enum taking ws_deliver_inflated(struct ws *ws, uint8_t opcode, char *bytes, size_t len,
                                       bool first, bool last)
{
    enum taking rc;
    size_t taken;

    if (opcode == WS_OP_TEXT)
        return ws_on_text(ws, bytes, len, first, last);
    rc = ws_deliver_binary(ws, bytes, len, last, &taken);
    if (rc == WAITS) {
        buf_put(&ws->rest, bytes + taken, len - taken);
        ws->rest_last = last;
    }
    return rc;
}

/*
 * Inflates in steps of INFLATE_ROOM until the input is used up and no more output follows, or the
 * owner has to wait. *used is how much of the input was consumed; if all of it was but more output
 * may follow, `more` is set to continue without input.
 */
static enum taking ws_inflate(struct ws *ws, const struct ws_piece *in, size_t *used)
{
    char room[INFLATE_ROOM + 1];
    bool first = in->first;
    enum taking rc = TAKEN;

    *used = 0;
    do {
        size_t n, made;
        bool drained, last;

        if (inflater_run(ws->inflater, in->bytes + *used, in->len - *used, in->last, &n, room,
                         INFLATE_ROOM, &made) < 0) {
            ws_fail(ws, WS_CODE_TEXT, "compressed data is broken");
            return DEAD;
        }
        *used += n;
        drained = *used == in->len && made < INFLATE_ROOM;
        last = drained && in->last;
        ws->more = !drained && *used == in->len;
        ws->more_last = in->last;
        rc = ws_deliver_inflated(ws, in->opcode, room, made, first, last);
        first = false;
        if (rc == DEAD)
            return DEAD;
        if (ws->closing) {
            *used = in->len; /* the rest is not wanted */
            return TAKEN;
        }
        if (last) {
            inflater_free(ws->inflater);
            ws->inflater = NULL;
        }
        if (drained)
            return rc;
    } while (rc == TAKEN);
    return rc;
}

static enum taking ws_on_deflated(struct ws *ws, const struct ws_piece *piece, size_t *used)
{
    *used = piece->len;
    if (ws->closing)
        return TAKEN;
    if (ws->inflater == NULL)
        ws->inflater = inflater_new();
    if (ws->inflater == NULL) {
        ws_fail(ws, WS_CODE_INTERNAL, "out of memory");
        return DEAD;
    }
    return ws_inflate(ws, piece, used);
}

/* Output that was inflated before and not consumed, then what is still in the inflater. */
static enum taking ws_deliver_rest(struct ws *ws)
{
    enum taking rc = TAKEN;
    size_t taken;

    if (ws->rest.len > 0) {
        rc = ws_deliver_binary(ws, buf_data(&ws->rest), ws->rest.len, ws->rest_last, &taken);
        if (rc == DEAD)
            return DEAD;
        buf_drop(&ws->rest, taken);
        if (ws->rest.len == 0)
            buf_fini(&ws->rest);
    }
    if (rc == TAKEN && ws->more && ws->inflater != NULL) {
        struct ws_piece none = {
            .bytes = (char[1]){0}, .opcode = WS_OP_BINARY, .last = ws->more_last};

        ws->more = false;
        rc = ws_inflate(ws, &none, &taken);
    }
    return rc;
}

/* --- receiving: frames ----------------------------------------------------------------------- */

/* *untaken is how many bytes of the piece were not consumed. */
static enum taking ws_on_data(struct ws *ws, const struct ws_piece *piece, size_t *untaken)
{
    size_t taken = piece->len;
    enum taking rc;

    if (piece->deflated)
        rc = ws_on_deflated(ws, piece, &taken);
    else if (piece->opcode == WS_OP_TEXT)
        rc = ws_on_text(ws, piece->bytes, piece->len, piece->first, piece->last);
    else
        rc = ws_deliver_binary(ws, piece->bytes, piece->len, piece->last, &taken);
    *untaken = piece->len - taken;
    if (rc != DEAD)
        ws_decode_untake(&ws->decoder, piece, *untaken);
    return rc;
}

static enum taking ws_on_close_frame(struct ws *ws, const struct ws_piece *piece)
{
    int code = ws_close_code(piece->bytes, piece->len);

    if (code < 0) {
        ws_fail(ws, -code, "bad close frame");
        return DEAD;
    }
    if (!ws->closing)
        ws_send_close(ws, code, "");
    ws_finish(ws, code, false);
    return DEAD;
}

static void ws_on_pong(struct ws *ws, const struct ws_piece *piece)
{
    void (*notify)(void *arg) = ws_take_receipt(ws, piece) ? ws->ops->on_receipt : ws->ops->on_pong;

    if (notify != NULL)
        notify(ws->arg);
}

static enum taking ws_on_control(struct ws *ws, const struct ws_piece *piece)
{
    struct iovec iov = {piece->bytes, piece->len};
    struct conn *c = ws->c;

    if (piece->opcode == WS_OP_CLOSE)
        return ws_on_close_frame(ws, piece);
    if (piece->opcode == WS_OP_PING && !ws->closing)
        ws_send_frame(ws, WS_OP_PONG, false, &iov, 1);
    if (piece->opcode == WS_OP_PONG && !ws->closing)
        ws_on_pong(ws, piece);
    return ws_is_closed(ws, c) ? DEAD : TAKEN;
}

/* One frame, or the part of it that has arrived. *used grows; WAITS also means: more bytes are
 * needed. */
static enum taking ws_on_frame(struct ws *ws, char *bytes, size_t len, size_t *used)
{
    struct ws_piece piece;
    size_t n, untaken = 0;
    enum taking rc = TAKEN;

    switch (ws_decode(&ws->decoder, bytes + *used, len - *used, &n, &piece)) {
    case WS_EV_MORE: rc = WAITS; break;
    case WS_EV_DATA: rc = ws_on_data(ws, &piece, &untaken); break;
    case WS_EV_CONTROL: rc = ws_on_control(ws, &piece); break;
    case WS_EV_ERROR:
        ws_fail(ws, piece.code, piece.code == WS_CODE_SIZE ? "frame too long" : "bad frame");
        rc = DEAD;
        break;
    }
    *used += n - untaken;
    return rc;
}

static size_t ws_on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct ws *ws = c->owner;
    size_t used = 0;
    enum taking rc = TAKEN;

    ws->heard |= len > 0;
    if (ws->paused) {
        conn_pause(c); /* another caller's conn_resume() undid it */
        return 0;
    }
    if (ws->rest.len > 0 || ws->more)
        rc = ws_deliver_rest(ws);
    while (rc == TAKEN && !ws->paused)
        rc = ws_on_frame(ws, bytes, len, &used);
    if (rc == DEAD)
        return len;
    peer_memory_set(&ws->held, c,
                    ws->text.cap + ws->rest.cap + (ws->inflater != NULL ? INFLATE_BYTES : 0));
    return used;
}

/* --- events ------------------------------------------------------------------------------ */

static void ws_on_eof(struct conn *c)
{
    conn_end(c);
}

static void ws_on_drain(struct conn *c)
{
    struct ws *ws = c->owner;

    if (!ws->closing)
        ws->ops->on_drain(ws->arg);
}

/* Everything the peer sent or read is a sign of life. While we do not read, its silence is our
 * doing. */
static void ws_on_ping(struct ws *ws)
{
    struct conn *c = ws->c;

    if (ws->heard || c->progress || c->paused)
        ws->silent = 0;
    else if (++ws->silent >= WS_SILENT_TICKS) {
        conn_end(c);
        return;
    }
    ws->heard = c->progress = false;
    if (!c->blocked)
        ws_send_frame(ws, WS_OP_PING, false, NULL, 0);
    conn_set_deadline(c, DEADLINE_PING);
}

static void ws_on_deadline(struct conn *c, enum deadline_kind kind)
{
    if (kind == DEADLINE_PING)
        ws_on_ping(c->owner);
    else
        conn_end(c); /* no response to our close frame */
}

static void ws_on_end(struct conn *c)
{
    struct ws *ws = c->owner;

    if (!ws->aborted)
        ws->ops->on_closed(ws->arg, WS_CODE_BROKEN);
    ws_free(ws);
}

static const struct conn_proto ws_proto = {
    .on_bytes = ws_on_bytes,
    .on_eof = ws_on_eof,
    .on_drain = ws_on_drain,
    .on_deadline = ws_on_deadline,
    .on_end = ws_on_end,
};

struct ws *ws_new(struct conn *c, enum role role, bool deflate, const struct ws_ops *ops, void *arg)
{
    struct ws *ws = hf_xalloc(sizeof *ws);

    ws->text_max = LIMIT_WS_TEXT_BYTES;
    ws->c = c;
    ws->ops = ops;
    ws->arg = arg;
    ws->role = role;
    ws->deflate = ws->decoder.may_deflate = deflate;
    ws->decoder.frame_max = LIMIT_WS_FRAME_BYTES;
    ws->heard = true;
    conn_set_grant(c, NULL); /* the owner closes it, with a reason */
    conn_become(c, &ws_proto, ws);
    conn_set_deadline(c, DEADLINE_PING);
    return ws;
}

bool ws_has_left(int code)
{
    return code != WS_CODE_BROKEN && code != WS_CODE_GOING_AWAY;
}

void ws_drain(struct conn *c)
{
    if (c->proto == &ws_proto)
        ws_close(c->owner, WS_CODE_GOING_AWAY, "the daemon is shutting down");
}

bool ws_cut(struct conn *c, int code, const char *reason)
{
    if (c->proto != &ws_proto)
        return false;
    ws_close(c->owner, code, reason);
    return true;
}
