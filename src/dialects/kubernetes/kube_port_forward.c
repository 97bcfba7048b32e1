/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_port_forward.c - portforward: connections to ports of the sandbox
 *
 * The worker may not open sockets, so a process of this binary does (cli/port_relay.c), one per
 * forwarded connection. Its reader paces it, as with every process. A forward has two streams, data
 * and error:
 *
 * - Channels: port i of the query has data channel 2i and error channel 2i + 1. Both begin with the
 *   port number in two bytes, little-endian. The connection closes when all ports have closed.
 * - SPDY: a pair of streams per connection, paired by a request id. The client opens the error
 *   stream first. When the port's side closes, both end.
 *
 * After a failure the error stream carries a text. For a port that does not read we buffer up to
 * LIMIT_KUBE_FORWARD_HELD_BYTES, so that the other forwards on the connection keep running. Layer:
 * dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/file_op.h"
#include "dialects/kubernetes/kube_process_stream.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "transport/ws.h"

/* In the child this is the keeper's own binary, wherever it is installed and even if it was
 * replaced. */
#define OWN_BINARY "/proc/self/exe"

#define PROTOCOL "portforward.k8s.io"
#define REQUEST_ID_BYTES 64
#define FORWARD_ERROR_BYTES 256
#define BASE64_PORTS 5 /* a channel is a single digit in base64 */

struct forward {
    struct list link;
    struct forwards *all;
    char request[REQUEST_ID_BYTES]; /* SPDY */
    uint16_t port;
    uint32_t error, data;
    bool has_error, has_data;
    bool begun; /* the relay has been started */
    struct kube_stream stream;
    char why[FORWARD_ERROR_BYTES]; /* what the relay reported */
};

struct forwards {
    struct kube_conn conn;
    struct list list;
    size_t streams;
};

static struct forward *forward_of(struct kube_stream *t)
{
    return list_entry(t, struct forward, stream);
}

static struct forwards *forwards_of(struct kube_conn *c)
{
    return list_entry(c, struct forwards, conn);
}

static struct forward *forward_new(struct forwards *all, const char *request, uint16_t port)
{
    struct forward *f = hf_xalloc(sizeof *f);

    f->all = all;
    f->port = port;
    snprintf(f->request, sizeof f->request, "%s", request);
    list_append(&all->list, &f->link);
    return f;
}

static void forward_free(struct forward *f)
{
    struct process *p = kube_stream_process(&f->stream);

    if (p != NULL)
        process_ref(p);
    if (f->begun)
        kube_stream_fini(&f->stream);
    if (p != NULL)
        file_op_end(p);
    process_unref(p);
    f->all->streams -= (size_t)f->has_error + f->has_data;
    list_remove(&f->link);
    free(f);
}

static void forwards_release(struct kube_conn *c)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &forwards_of(c)->list)
        forward_free(list_entry(it, struct forward, link));
}

/* --- from the port -------------------------------------------------------------------------- */

/* The port's side has closed. why: "" if it closed normally. */
static void forward_end(struct forward *f, const char *why)
{
    struct forwards *all = f->all;
    struct kube_conn *c = &all->conn;

    kube_conn_send(c, f->error, why, strlen(why), true);
    kube_conn_send(c, f->data, "", 0, true);
    forward_free(f);
    kube_conn_resume(c); /* its input may have been paused */
    if (!c->protocol->spdy && list_is_empty(&all->list))
        kube_conn_finish(c, false);
}

static void note_why(struct forward *f, const char *text, size_t len)
{
    size_t have = strlen(f->why), room = sizeof f->why - 1 - have;

    len = len < room ? len : room;
    memcpy(f->why + have, text, len);
    f->why[have + len] = '\0';
    f->why[strcspn(f->why, "\n")] = '\0';
}

static void forward_bytes(struct kube_stream *t, enum stream stream, const char *bytes, size_t len)
{
    struct forward *f = forward_of(t);

    if (stream == STREAM_STDERR)
        note_why(f, bytes, len);
    else
        kube_conn_send(t->conn, f->data, bytes, len, false);
}

/* The viewer is lossless, so this does not happen. If it did, all bytes after the gap would be
 * wrong. */
static void forward_gap(struct kube_stream *t, uint64_t bytes)
{
    char text[64];

    snprintf(text, sizeof text, "%llu bytes were lost", (unsigned long long)bytes);
    forward_end(forward_of(t), text);
}

static void forward_ended(struct kube_stream *t, const struct exit_record *x)
{
    struct forward *f = forward_of(t);

    if (x->exit_code != 0 && f->why[0] == '\0')
        note_why(f, "the relay was terminated", strlen("the relay was terminated"));
    forward_end(f, f->why);
}

static void forward_failed(struct kube_stream *t, const struct hf_error *err)
{
    forward_end(forward_of(t), err->detail);
}

static const struct kube_stream_ops stream_ops = {
    .bytes = forward_bytes,
    .gap = forward_gap,
    .ended = forward_ended,
    .failed = forward_failed,
};

/* The forward may be freed before this returns. */
static void forward_begin(struct forward *f)
{
    struct viewer_options v = viewer_own(0);
    char number[8];
    const char *const args[] = {"port-relay", number};
    struct spawn_spec spec;

    snprintf(number, sizeof number, "%u", (unsigned)f->port);
    spec_init(&spec);
    spec.command = OWN_BINARY;
    spec.argv0 = "holdfast";
    spec.args = args;
    spec.arg_count = sizeof args / sizeof *args;
    spec.cwd = "/";
    spec.clear_env = true;
    spec.source = SOURCE_SYSTEM;
    spec.helper = true;
    spec.label = "port";
    spec.stdin_mode = STDIN_PIPE;
    v.read_only = false;
    v.role = VIEWER_OWN;
    f->begun = true;
    kube_stream_init(&f->stream, &f->all->conn, &stream_ops, true, LIMIT_KUBE_FORWARD_HELD_BYTES);
    f->stream.shared = true;
    kube_stream_spawn(&f->stream, &spec, &v);
}

/* --- from the client -------------------------------------------------------------------------- */

static struct forward *find_request(struct forwards *all, const char *request)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &all->list) {
        struct forward *f = list_entry(it, struct forward, link);

        if (strcmp(f->request, request) == 0)
            return f;
    }
    return NULL;
}

static struct forward *find_stream(struct forwards *all, uint32_t id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &all->list) {
        struct forward *f = list_entry(it, struct forward, link);

        if ((f->has_error && f->error == id) || (f->has_data && f->data == id))
            return f;
    }
    return NULL;
}

/* Adds a stream to a forward; false: it already has that stream. */
static bool forward_add(struct forward *f, bool error, uint32_t id)
{
    bool *has = error ? &f->has_error : &f->has_data;

    if (*has)
        return false;
    *has = true;
    *(error ? &f->error : &f->data) = id;
    f->all->streams++;
    return true;
}

/* Parses a port number; 0: malformed. */
static uint16_t parse_port(const char *text)
{
    int64_t port = 0;

    return text != NULL && text_to_i64(text, 1, 65535, &port) ? (uint16_t)port : 0;
}

static void forwards_open(struct kube_conn *c, uint32_t id, const struct spdy_headers *h)
{
    struct forwards *all = forwards_of(c);
    const char *type = spdy_header(h, "streamtype"), *request = spdy_header(h, "requestid");
    uint16_t port = parse_port(spdy_header(h, "port"));
    struct forward *f;

    request = request != NULL ? request : ""; /* very old clients send none */
    if (port == 0 || type == NULL || (strcmp(type, "error") != 0 && strcmp(type, "data") != 0) ||
        strlen(request) >= REQUEST_ID_BYTES || all->streams >= LIMIT_KUBE_STREAMS ||
        find_stream(all, id) != NULL) {
        kube_conn_reset_stream(c, id, SPDY_REFUSED_STREAM);
        return;
    }
    f = find_request(all, request);
    if (f == NULL)
        f = forward_new(all, request, port);
    if (f->port != port || !forward_add(f, strcmp(type, "error") == 0, id)) {
        kube_conn_reset_stream(c, id, SPDY_PROTOCOL_ERROR);
        return;
    }
    kube_conn_accept_stream(c, id);
    if (f->has_error && f->has_data)
        forward_begin(f);
}

static size_t forwards_data(struct kube_conn *c, uint32_t id, const char *bytes, size_t len,
                            bool fin)
{
    struct forward *f = find_stream(forwards_of(c), id);

    if (f == NULL || !f->begun || id != f->data)
        return len; /* clients end the error stream at once: they send nothing on it */
    return kube_stream_type(&f->stream, bytes, len, fin);
}

static void forwards_reset(struct kube_conn *c, uint32_t id)
{
    struct forward *f = find_stream(forwards_of(c), id);

    if (f != NULL)
        forward_free(f);
}

static void forwards_room(struct kube_conn *c)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &forwards_of(c)->list) {
        struct forward *f = list_entry(it, struct forward, link);

        if (f->begun && kube_conn_ready(c))
            kube_stream_pump(&f->stream);
    }
}

/* A server that shuts down closes its WebSockets itself, with 1001. */
static void forwards_drain(struct kube_conn *c)
{
    if (c->protocol->spdy)
        kube_conn_finish(c, true);
}

static const struct kube_conn_ops conn_ops = {
    .open = forwards_open,
    .reset = forwards_reset,
    .data = forwards_data,
    .last_stream = CHANNEL_CLOSE - 1,
    .room = forwards_room,
    .drain = forwards_drain,
    .release = forwards_release,
};

/* --- setup ---------------------------------------------------------------------------------- */

/* "ports=80,443" and "ports=80&ports=443"; false: replied. */
static bool decode_ports(struct http_request *rq, struct forwards *all, uint32_t max)
{
    const char *name, *value;
    uint32_t count = 0;
    size_t i = 0;

    while (http_query_each(rq, &i, &name, &value)) {
        while (strcmp(name, "ports") == 0 && *value != '\0') {
            size_t len = strcspn(value, ",");
            char *one = hf_xstrndup(value, len);
            uint16_t port = parse_port(one);
            struct forward *f;

            free(one);
            if (port == 0 || count == max) {
                kube_refuse(rq, 400, "ports must be 1 to %u numbers from 1 to 65535", max);
                return false;
            }
            f = forward_new(all, "", port);
            forward_add(f, false, 2 * count);
            forward_add(f, true, 2 * count + 1);
            count++;
            value += len + (value[len] == ',');
        }
    }
    if (count > 0)
        return true;
    kube_refuse(rq, 400, "query parameter \"ports\" is required");
    return false;
}

static void begin_ports(struct forwards *all)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &all->list) {
        const struct forward *f = list_entry(it, struct forward, link);
        const char number[2] = {(char)f->port, (char)(f->port >> 8)};

        kube_conn_send(&all->conn, f->data, number, sizeof number, false);
        kube_conn_send(&all->conn, f->error, number, sizeof number, false);
    }
    list_for_each (it, tmp, &all->list)
        forward_begin(list_entry(it, struct forward, link));
}

static const struct protocol *negotiate(struct http_request *rq)
{
    static const struct protocol spdy[] = {{.name = PROTOCOL, .spdy = true}, {.name = NULL}};
    static const struct protocol tunnel = {.name = "SPDY/3.1+" PROTOCOL, .spdy = true};

    if (http_is_websocket(rq) && ws_is_offered(rq, tunnel.name))
        return &tunnel;
    return kube_conn_negotiate(rq, spdy);
}

void kube_portforward(struct http_request *rq)
{
    const struct protocol *protocol = kube_is_pod(rq) ? negotiate(rq) : NULL;
    struct forwards *all;

    if (protocol == NULL)
        return;
    all = hf_xalloc(sizeof *all);
    list_init(&all->list);
    if (!protocol->spdy &&
        !decode_ports(rq, all, protocol->base64 ? BASE64_PORTS : LIMIT_KUBE_PORTS)) {
        forwards_release(&all->conn);
        free(all);
        return;
    }
    kube_conn_accept(&all->conn, rq, protocol, &conn_ops);
    if (!protocol->spdy)
        begin_ports(all);
}
