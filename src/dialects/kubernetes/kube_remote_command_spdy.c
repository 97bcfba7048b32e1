/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_remote_command_spdy.c - exec and attach by SPDY: one stream per channel
 *
 * The client opens the streams one after the other, each after our reply to the previous one. The
 * command starts when all are open. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/kubernetes/kube_remote_command.h"
#include "dialects/kubernetes/spdy_conn.h"

#define PROMISE "{" /* the first byte of every Status */
#define CHANNELS 5  /* CHANNEL_STDIN to CHANNEL_RESIZE */

struct kube_remote_command_spdy_wire {
    struct remote remote;
    struct spdy_conn *conn;
    struct timer *streams; /* the deadline for opening all streams */
    uint32_t ids[CHANNELS];
    bool wanted[CHANNELS], open[CHANNELS];
    bool status;       /* the Status object; otherwise text */
    bool promised;     /* its first byte was sent */
    struct buf resize; /* a size received in part */
};

static struct kube_remote_command_spdy_wire *wire_of(struct remote *r)
{
    return list_entry(r, struct kube_remote_command_spdy_wire, remote);
}

static void wire_fini(struct kube_remote_command_spdy_wire *w)
{
    timer_close(w->streams);
    buf_fini(&w->resize);
    remote_fini(&w->remote);
    free(w);
}

/* --- to the client --------------------------------------------------------------------------- */

static bool wire_ready(struct remote *r)
{
    return spdy_conn_ready(wire_of(r)->conn);
}

static uint64_t wire_sent(struct remote *r)
{
    return spdy_conn_count_sent(wire_of(r)->conn);
}

static uint64_t wire_confirmed(struct remote *r)
{
    return spdy_conn_count_taken(wire_of(r)->conn);
}

static void wire_send(struct remote *r, enum channel channel, const char *bytes, size_t len)
{
    const struct kube_remote_command_spdy_wire *w = wire_of(r);

    spdy_conn_send(w->conn, w->ids[channel], bytes, len, false);
}

static void send_fin(struct kube_remote_command_spdy_wire *w, enum channel channel)
{
    if (w->open[channel])
        spdy_conn_send(w->conn, w->ids[channel], "", 0, true);
}

/*
 * Clients treat an empty error stream as success, and a broken connection leaves it empty. So we
 * send the first byte of the Status at once: without the rest it is an error.
 */
static void promise_status(struct kube_remote_command_spdy_wire *w)
{
    if (!w->status)
        return;
    spdy_conn_send(w->conn, w->ids[CHANNEL_ERROR], PROMISE, strlen(PROMISE), false);
    w->promised = true;
}

static void wire_end(struct remote *r, const struct kube_status *s, bool draining)
{
    struct kube_remote_command_spdy_wire *w = wire_of(r);
    struct buf text = {0};

    (void)draining;
    timer_stop(w->streams);
    kube_status_write(&text, s, w->status);
    if (w->promised)
        buf_drop(&text, strlen(PROMISE));
    if (w->open[CHANNEL_ERROR])
        spdy_conn_send(w->conn, w->ids[CHANNEL_ERROR], buf_data(&text), text.len, true);
    buf_fini(&text);
    send_fin(w, CHANNEL_STDOUT);
    send_fin(w, CHANNEL_STDERR);
    send_fin(w, CHANNEL_STDIN);
    spdy_conn_finish(w->conn);
}

static void wire_room(struct remote *r)
{
    spdy_conn_resume(wire_of(r)->conn);
}

static void wire_ping(struct remote *r)
{
    spdy_conn_ping(wire_of(r)->conn);
}

static void wire_free(struct remote *r)
{
    struct kube_remote_command_spdy_wire *w = wire_of(r);

    spdy_conn_free(w->conn);
    wire_fini(w);
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

static int channel_of(const char *type)
{
    static const char *const types[CHANNELS] = {"stdin", "stdout", "stderr", "error", "resize"};

    for (int i = 0; type != NULL && i < CHANNELS; i++)
        if (strcmp(types[i], type) == 0)
            return i;
    return -1;
}

static bool is_complete(const struct kube_remote_command_spdy_wire *w)
{
    for (int i = 0; i < CHANNELS; i++)
        if (w->wanted[i] && !w->open[i])
            return false;
    return true;
}

static void on_open(void *arg, uint32_t id, const struct spdy_headers *h)
{
    struct kube_remote_command_spdy_wire *w = arg;
    int channel = channel_of(spdy_header(h, "streamtype"));

    if (channel < 0 || !w->wanted[channel] || w->open[channel]) {
        spdy_conn_reset(w->conn, id, SPDY_REFUSED_STREAM);
        return;
    }
    w->open[channel] = true;
    w->ids[channel] = id;
    spdy_conn_accept(w->conn, id);
    if (!is_complete(w))
        return;
    timer_stop(w->streams);
    promise_status(w);
    remote_begin(&w->remote);
}

/* A size is one line, but it may arrive in pieces. */
static void on_resize(struct kube_remote_command_spdy_wire *w, const char *bytes, size_t len)
{
    const char *end = memrchr(bytes, '\n', len);

    if (w->resize.len + len > LIMIT_KUBE_SMALL_BYTES) {
        buf_clear(&w->resize);
        return;
    }
    buf_put(&w->resize, bytes, len);
    if (end == NULL && (len == 0 || bytes[len - 1] != '}'))
        return;
    remote_sizes(&w->remote, buf_data(&w->resize), w->resize.len);
    buf_clear(&w->resize);
}

static size_t on_data(void *arg, uint32_t id, const char *bytes, size_t len, bool fin)
{
    struct kube_remote_command_spdy_wire *w = arg;
    size_t n;

    if (w->open[CHANNEL_RESIZE] && id == w->ids[CHANNEL_RESIZE])
        on_resize(w, bytes, len);
    if (!w->open[CHANNEL_STDIN] || id != w->ids[CHANNEL_STDIN])
        return len;
    n = len > 0 ? remote_type(&w->remote, bytes, len) : 0;
    if (fin && n == len)
        remote_type_eof(&w->remote);
    return n;
}

static void on_reset(void *arg, uint32_t id)
{
    (void)arg, (void)id; /* clients reset all streams at their end, then disconnect */
}

static void on_drain(void *arg)
{
    remote_pump(&((struct kube_remote_command_spdy_wire *)arg)->remote);
}

static void on_pong(void *arg)
{
    remote_heard(&((struct kube_remote_command_spdy_wire *)arg)->remote);
}

static void on_disconnect(void *arg)
{
    struct kube_remote_command_spdy_wire *w = arg;

    remote_leave(&w->remote, false);
    wire_fini(w);
}

static const struct spdy_conn_ops conn_ops = {
    .open = on_open,
    .data = on_data,
    .reset = on_reset,
    .drain = on_drain,
    .pong = on_pong,
    .gone = on_disconnect,
};

/* --- setup ---------------------------------------------------------------------------------- */

static void on_streams_late(struct timer *t, void *arg)
{
    (void)t;
    spdy_conn_finish(((struct kube_remote_command_spdy_wire *)arg)->conn);
}

static void wire_wants(struct kube_remote_command_spdy_wire *w)
{
    const struct remote_request *a = &w->remote.request;

    w->wanted[CHANNEL_ERROR] = true;
    w->wanted[CHANNEL_STDIN] = a->in;
    w->wanted[CHANNEL_STDOUT] = a->out;
    w->wanted[CHANNEL_STDERR] = a->err;
    w->wanted[CHANNEL_RESIZE] = a->tty;
}

void remote_spdy(struct http_request *rq, struct remote_request *request)
{
    static const char *const ours[] = {"v4.channel.k8s.io", "v3.channel.k8s.io", NULL};
    const char *protocol = spdy_negotiate(rq, ours);
    struct kube *k = kube_of(rq);
    struct kube_remote_command_spdy_wire *w;

    if (protocol == NULL)
        return;
    w = hf_xalloc(sizeof *w);
    w->status = protocol == ours[0];
    remote_init(&w->remote, k, &remote_ops, request);
    wire_wants(w);
    w->streams = timer_new(k->base.loop, on_streams_late, w);
    timer_start(w->streams, KUBE_STREAMS_MS);
    w->conn = spdy_conn_raw(rq, protocol, &conn_ops, w);
}
