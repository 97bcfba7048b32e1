/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_remote_command_ws.c - exec and attach by WebSocket
 *
 * Go clients start reading before they have set up their streams, and drop what arrives for a
 * missing one. So we send nothing until the client has sent data for a channel, or until
 * KUBE_GATE_MS after its pong.
 *
 * The end is all output, one message on the error channel, then close 1000. kubectl takes a close
 * 1000 without that message for success, so no other case closes with 1000. Layer: dialects.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/kubernetes/kube_remote_command.h"
#include "transport/ws.h"

struct kube_remote_command_ws_wire {
    struct remote remote;
    const struct protocol *protocol;
    struct ws *ws;
    struct channel_in in;
    struct timer *gate;
    bool open;  /* may we send? */
    bool heard; /* the pong has arrived */
    bool last;  /* the Status is queued until the gate opens */
    struct kube_status status;
};

static struct kube_remote_command_ws_wire *wire_of(struct remote *r)
{
    return list_entry(r, struct kube_remote_command_ws_wire, remote);
}

static void wire_free(struct remote *r)
{
    struct kube_remote_command_ws_wire *w = wire_of(r);

    timer_close(w->gate);
    remote_fini(r);
    free(w);
}

/* --- to the client --------------------------------------------------------------------------- */

static bool wire_ready(struct remote *r)
{
    return wire_of(r)->open && ws_ready(wire_of(r)->ws);
}

static uint64_t wire_sent(struct remote *r)
{
    return ws_count_sent(wire_of(r)->ws);
}

static uint64_t wire_confirmed(struct remote *r)
{
    return ws_count_received(wire_of(r)->ws);
}

static void wire_send(struct remote *r, enum channel channel, const char *bytes, size_t len)
{
    const struct kube_remote_command_ws_wire *w = wire_of(r);
    struct buf *text = &r->kube->base.scratch;
    char first = (char)channel;
    struct iovec iov[] = {{&first, 1}, {(void *)(uintptr_t)bytes, len}};

    if (!w->protocol->base64) {
        ws_send(w->ws, WS_BINARY, iov, 2);
        return;
    }
    buf_clear(text);
    channel_encode(text, (uint8_t)channel, bytes, len);
    ws_send_text(w->ws, buf_data(text), text->len);
}

static void say_last(struct kube_remote_command_ws_wire *w, const struct kube_status *status,
                     bool draining)
{
    struct buf text = {0};

    kube_status_write(&text, status, w->protocol->status);
    if (text.len > 0)
        wire_send(&w->remote, CHANNEL_ERROR, buf_data(&text), text.len);
    buf_fini(&text);
    ws_close(w->ws, draining ? 1001 : 1000, draining ? "the daemon is shutting down" : "");
}

static void wire_end(struct remote *r, const struct kube_status *s, bool draining)
{
    struct kube_remote_command_ws_wire *w = wire_of(r);

    if (w->open || draining) {
        say_last(w, s, draining);
        return;
    }
    w->last = true;
    w->status = *s;
    ws_resume(w->ws); /* read on: input from the client opens the gate */
}

/* "Ready" as in the original: an empty message on the first channel that the client reads. */
static void greet(struct remote *r)
{
    wire_send(r,
              r->request.out   ? CHANNEL_STDOUT
              : r->request.err ? CHANNEL_STDERR
                               : CHANNEL_ERROR,
              "", 0);
}

static void open_gate(struct kube_remote_command_ws_wire *w)
{
    if (w->open)
        return;
    w->open = true;
    timer_stop(w->gate);
    greet(&w->remote);
    if (w->last)
        say_last(w, &w->status, false);
    else
        remote_pump(&w->remote);
}

static void on_gate(struct timer *t, void *arg)
{
    (void)t;
    open_gate(arg);
}

static void wire_room(struct remote *r)
{
    ws_resume(wire_of(r)->ws);
}

static void wire_ping(struct remote *r)
{
    ws_ping(wire_of(r)->ws);
}

static const struct remote_ops remote_ops = {
    .ready = wire_ready,
    .send = wire_send,
    .sent = wire_sent,
    .confirmed = wire_confirmed,
    .room = wire_room,
    .ping = wire_ping,
    .end = wire_end,
    .free = wire_free,
};

/* --- from the client -------------------------------------------------------------------------- */

static bool is_small(void *arg, uint8_t channel)
{
    (void)arg;
    return channel != CHANNEL_STDIN;
}

static size_t on_input(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    struct kube_remote_command_ws_wire *w = arg;

    (void)channel;
    open_gate(w);
    return remote_type(&w->remote, bytes, len);
}

/* Data for other channels is discarded, as in the original. */
static void on_small(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    struct kube_remote_command_ws_wire *w = arg;

    open_gate(w);
    if (channel == CHANNEL_RESIZE)
        remote_sizes(&w->remote, bytes, len);
    else if (channel == CHANNEL_CLOSE && w->protocol->close && len == 1 &&
             bytes[0] == CHANNEL_STDIN)
        remote_type_eof(&w->remote);
}

static const struct channel_ops channel_ops = {
    .input = on_input,
    .small = on_small,
    .is_small = is_small,
};

static size_t wire_on_binary(void *arg, const void *bytes, size_t len, bool last)
{
    struct kube_remote_command_ws_wire *w = arg;

    if (!w->protocol->base64)
        return channel_feed(&w->in, bytes, len, last, &channel_ops, w);
    ws_close(w->ws, 1003, "messages must be base64 text");
    return len;
}

static void wire_on_text(void *arg, const char *text, size_t len)
{
    struct kube_remote_command_ws_wire *w = arg;
    struct buf data = {0};
    uint8_t channel;

    open_gate(w);
    if (!w->protocol->base64)
        ws_close(w->ws, 1003, "messages must be binary");
    else if (!channel_decode(text, len, &channel, &data))
        ws_close(w->ws, 1007, "a message must be a digit and base64");
    else if (channel != CHANNEL_STDIN)
        on_small(w, channel, buf_data(&data), data.len);
    else if (data.len > 0 && !remote_type_all(&w->remote, buf_data(&data), data.len))
        ws_pause(w->ws);
    buf_fini(&data);
}

static void wire_on_drain(void *arg)
{
    remote_pump(&((struct kube_remote_command_ws_wire *)arg)->remote);
}

static void wire_on_pong(void *arg)
{
    struct kube_remote_command_ws_wire *w = arg;

    if (!w->open && !w->heard)
        timer_start(w->gate, KUBE_GATE_MS);
    w->heard = true;
    remote_heard(&w->remote);
}

/* 1006 is a broken connection: the client may attach to the program again and write to it. */
static void wire_on_closed(void *arg, int code)
{
    struct kube_remote_command_ws_wire *w = arg;

    remote_leave(&w->remote, code != 1006);
    wire_free(&w->remote);
}

static const struct ws_ops ws_ops = {
    .on_text = wire_on_text,
    .on_binary = wire_on_binary,
    .on_drain = wire_on_drain,
    .on_pong = wire_on_pong,
    .on_receipt = wire_on_drain,
    .on_closed = wire_on_closed,
};

/* --- setup ---------------------------------------------------------------------------------- */

void remote_ws(struct http_request *rq, struct remote_request *request)
{
    const struct protocol *protocol = kube_protocol_pick(ws_offered(rq));
    struct kube_remote_command_ws_wire *w;

    if (protocol == NULL) {
        kube_refuse(rq, 400, "none of the subprotocols is supported: %.200s", ws_offered(rq));
        return;
    }
    w = hf_xalloc(sizeof *w);
    w->protocol = protocol;
    remote_init(&w->remote, kube_of(rq), &remote_ops, request);
    w->ws = ws_accept(rq, protocol->name[0] != '\0' ? protocol->name : NULL, &ws_ops, w);
    ws_allow_text(w->ws, LIMIT_KUBE_TEXT_BYTES);
    w->gate = timer_new(w->remote.kube->base.loop, on_gate, w);
    timer_start(w->gate, KUBE_REPLY_MS);
    ws_ping(w->ws);
    /* If a client sends its input and closes, the command still runs: the close is read after the
     * start. */
    if (w->remote.request.exec && !w->remote.request.tty)
        ws_pause(w->ws);
    remote_begin(&w->remote);
}
