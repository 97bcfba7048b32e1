/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_port_forward_spdy.c - port forwarding by SPDY: two streams per connection, paired by a
 * request id
 *
 * The client opens the error stream first. When the port's side closes, both streams end; after a
 * failure the error stream carries a text. For a port that does not read we buffer up to
 * LIMIT_KUBE_FORWARD_HELD_BYTES, so that the other forwards on the connection keep running. Layer:
 * dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/kubernetes/kube_port_forward.h"
#include "dialects/kubernetes/spdy_conn.h"
#include "transport/ws.h"

#define PROTOCOL "portforward.k8s.io"
#define REQUEST_ID_BYTES 64

struct pair {
    struct list link;
    struct links *all;
    char request[REQUEST_ID_BYTES];
    uint16_t port;
    uint32_t error, data;
    bool has_error, has_data;
    bool begun; /* the forward has been started */
    struct forward forward;
};

struct links {
    struct pending pending;
    struct kube *kube;
    struct spdy_conn *conn;
    char *peer;
    struct list pairs;
    size_t streams;
};

static void pair_free(struct pair *p)
{
    if (p->begun)
        forward_fini(&p->forward);
    p->all->streams -= p->has_error + p->has_data;
    list_remove(&p->link);
    free(p);
}

static void links_free(struct links *l)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->pairs)
        pair_free(list_entry(it, struct pair, link));
    pending_fini(&l->pending);
    free(l->peer);
    free(l);
}

static void links_drain(struct pending *p)
{
    spdy_conn_finish(list_entry(p, struct links, pending)->conn);
}

static void links_on_free(struct pending *p)
{
    struct links *l = list_entry(p, struct links, pending);

    spdy_conn_free(l->conn);
    links_free(l);
}

static const struct pending_kind links_kind = {.drain = links_drain, .free = links_on_free};

/* --- to the client --------------------------------------------------------------------------- */

static bool pair_ready(void *arg)
{
    return spdy_conn_ready(((struct pair *)arg)->all->conn);
}

static void pair_bytes(void *arg, const char *bytes, size_t len)
{
    struct pair *p = arg;

    spdy_conn_send(p->all->conn, p->data, bytes, len, false);
}

static void pair_room(void *arg)
{
    spdy_conn_resume(((struct pair *)arg)->all->conn);
}

static void pair_ended(void *arg, const char *why)
{
    struct pair *p = arg;
    struct spdy_conn *conn = p->all->conn;

    spdy_conn_send(conn, p->error, why, strlen(why), true);
    spdy_conn_send(conn, p->data, "", 0, true);
    pair_free(p);
    spdy_conn_resume(conn); /* its input may have been paused */
}

static const struct forward_ops forward_ops = {
    .ready = pair_ready,
    .bytes = pair_bytes,
    .room = pair_room,
    .ended = pair_ended,
};

/* --- from the client -------------------------------------------------------------------------- */

static struct pair *pair_by_request(struct links *l, const char *request)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->pairs) {
        struct pair *p = list_entry(it, struct pair, link);

        if (strcmp(p->request, request) == 0)
            return p;
    }
    return NULL;
}

static struct pair *pair_by_stream(struct links *l, uint32_t id)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->pairs) {
        struct pair *p = list_entry(it, struct pair, link);

        if ((p->has_error && p->error == id) || (p->has_data && p->data == id))
            return p;
    }
    return NULL;
}

static struct pair *pair_new(struct links *l, const char *request, uint16_t port)
{
    struct pair *p = hf_xalloc(sizeof *p);

    p->all = l;
    p->port = port;
    snprintf(p->request, sizeof p->request, "%s", request);
    list_append(&l->pairs, &p->link);
    return p;
}

/* Adds a stream to a pair; false: the pair already has that stream. */
static bool pair_add(struct pair *p, const char *type, uint32_t id)
{
    bool error = strcmp(type, "error") == 0;

    if ((error && p->has_error) || (!error && p->has_data))
        return false;
    if (error) {
        p->has_error = true;
        p->error = id;
    } else {
        p->has_data = true;
        p->data = id;
    }
    p->all->streams++;
    return true;
}

static void on_open(void *arg, uint32_t id, const struct spdy_headers *h)
{
    struct links *l = arg;
    const char *type = spdy_header(h, "streamtype"), *request = spdy_header(h, "requestid");
    uint16_t port = forward_port(spdy_header(h, "port"));
    struct pair *p;

    request = request != NULL ? request : ""; /* very old clients send none */
    if (port == 0 || type == NULL || (strcmp(type, "error") != 0 && strcmp(type, "data") != 0) ||
        strlen(request) >= REQUEST_ID_BYTES || l->streams >= LIMIT_KUBE_STREAMS ||
        pair_by_stream(l, id) != NULL) {
        spdy_conn_reset(l->conn, id, SPDY_REFUSED_STREAM);
        return;
    }
    p = pair_by_request(l, request);
    if (p == NULL)
        p = pair_new(l, request, port);
    if (p->port != port || !pair_add(p, type, id)) {
        spdy_conn_reset(l->conn, id, SPDY_PROTOCOL_ERROR);
        return;
    }
    spdy_conn_accept(l->conn, id);
    if (!p->has_error || !p->has_data)
        return;
    p->begun = true;
    forward_begin(&p->forward, l->kube, p->port, l->peer, &forward_ops, p);
}

static size_t on_data(void *arg, uint32_t id, const char *bytes, size_t len, bool fin)
{
    struct pair *p = pair_by_stream(arg, id);
    size_t n;

    if (p == NULL || !p->begun || id != p->data)
        return len; /* clients end the error stream at once: they send nothing on it */
    n = len > 0 ? forward_type(&p->forward, bytes, len) : 0;
    if (fin && n == len)
        forward_type_eof(&p->forward);
    return n;
}

static void on_reset(void *arg, uint32_t id)
{
    struct pair *p = pair_by_stream(arg, id);

    if (p != NULL)
        pair_free(p);
}

static void on_drain(void *arg)
{
    struct links *l = arg;
    struct list *it, *tmp;

    list_for_each (it, tmp, &l->pairs) {
        struct pair *p = list_entry(it, struct pair, link);

        if (p->begun && spdy_conn_ready(l->conn))
            forward_pump(&p->forward);
    }
}

static void on_disconnect(void *arg)
{
    links_free(arg);
}

static const struct spdy_conn_ops conn_ops = {
    .open = on_open,
    .data = on_data,
    .reset = on_reset,
    .drain = on_drain,
    .gone = on_disconnect,
};

/* --- setup ---------------------------------------------------------------------------------- */

void forward_spdy(struct http_request *rq)
{
    static const char *const ours[] = {PROTOCOL, NULL};
    bool tunnel = http_is_websocket(rq);
    struct kube *k = kube_of(rq);
    struct links *l;

    if (!tunnel && spdy_negotiate(rq, ours) == NULL)
        return;
    l = hf_xalloc(sizeof *l);
    l->kube = k;
    l->peer = hf_xstrdup(http_peer(rq));
    list_init(&l->pairs);
    pending_init(&l->pending, &k->base.pending, &links_kind);
    l->conn = tunnel ? spdy_conn_tunnel(rq, SPDY_TUNNEL PROTOCOL, &conn_ops, l)
                     : spdy_conn_raw(rq, PROTOCOL, &conn_ops, l);
}
