/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.c - turns accepted sockets into connections
 *
 * Options that every connection needs are set on the listening socket: on Linux accepted sockets
 * inherit them, which saves system calls per connection. Layer: transport.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/conn_own.h"
#include "transport/http_request.h"

/* Keep-alive detects a vanished peer after about two minutes. */
#define KEEPALIVE_IDLE_S 60
#define KEEPALIVE_STEP_S 15
#define KEEPALIVE_COUNT 4

/* Connections beyond the limit get a 429; unix sockets have extra places beyond that. */
static bool listener_may_accept(const struct listener *l)
{
    const struct http_server *s = l->server;
    size_t more = SERVER_REFUSE_MAX + (l->kind == LISTEN_UNIX ? LIMIT_CONNECTIONS_LOCAL : 0);

    return !s->draining && !s->accept_failing && s->stats.connections < s->o.max_connections + more;
}

static void listener_update(struct listener *l)
{
    l->paused = !listener_may_accept(l);
    if (l->watch != NULL)
        watch_set(l->watch, l->paused ? 0 : LOOP_READ);
}

void server_update_accept(struct http_server *s)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &s->listeners)
        listener_update(list_entry(it, struct listener, link));
}

static void on_accept_timer(struct timer *t, void *arg)
{
    struct http_server *s = arg;

    (void)t;
    s->accept_failing = false;
    server_update_accept(s);
}

/* Out of descriptors or memory: leave connections in the backlog instead of spinning. */
static void server_accept_failed(struct http_server *s, int errnum)
{
    if (!s->full_logged)
        log_warn("pausing accept: %s", hf_errno_name(errnum));
    s->full_logged = true;
    s->accept_failing = true;
    if (s->accept_timer == NULL)
        s->accept_timer = timer_new(s->loop, on_accept_timer, s);
    timer_start(s->accept_timer, SERVER_ACCEPT_PAUSE_MS);
    server_update_accept(s);
}

/* Returns false to stop accepting for this turn. */
static bool listener_accept_one(struct listener *l)
{
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof peer;
    int fd = accept4(l->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0) {
        l->server->full_logged = false;
        conn_new(l->server, l, fd, (struct sockaddr *)&peer, l->proto);
        listener_update(l);
        return !l->paused;
    }
    switch (errno) {
    case EAGAIN: return false;
    case EINTR:
    case ECONNABORTED:
    case EPROTO: return true; /* affects only that peer */
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        if (admission_evict(l->server))
            return true; /* its descriptor is free now */
        server_accept_failed(l->server, errno);
        return false;
    default: /* accept() also reports network errors of a single connection */
        log_debug("accept: %s", hf_errno_name(errno));
        return false;
    }
}

static void listener_on_readable(struct watch *w, int events, void *arg)
{
    struct listener *l = arg;

    (void)w, (void)events;
    for (int i = 0; i < SERVER_ACCEPT_BURST; i++) {
        if (!listener_accept_one(l))
            return;
    }
}

static void set_option(int fd, int level, int name, int value)
{
    if (setsockopt(fd, level, name, &value, sizeof value) < 0)
        log_debug("setsockopt(%d, %d): %s", level, name, hf_errno_name(errno));
}

void conn_tune_tcp(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_STEP_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
}

static struct listener *listener_new(struct http_server *s, int fd, enum listen_kind kind,
                                     struct tls_context *tls)
{
    struct listener *l = hf_xalloc(sizeof *l);

    l->server = s;
    l->fd = fd;
    l->kind = kind;
    l->tls = tls;
    l->proto = &http_proto;
    if (kind == LISTEN_TCP)
        conn_tune_tcp(fd);
    list_append(&s->listeners, &l->link);
    l->watch = watch_new(s->loop, fd, listener_on_readable, l);
    if (l->watch == NULL)
        log_error("cannot watch listening socket %d", fd);
    else
        listener_update(l);
    return l;
}

void http_server_listen(struct http_server *s, int fd, enum listen_kind kind,
                        const struct route_table *table, struct tls_context *tls)
{
    listener_new(s, fd, kind, tls)->table = table;
}

void http_server_listen_proto(struct http_server *s, int fd, enum listen_kind kind,
                              const struct conn_proto *proto, void *owner, struct tls_context *tls)
{
    struct listener *l = listener_new(s, fd, kind, tls);

    l->proto = proto;
    l->owner = owner;
}

void listener_stop(struct listener *l)
{
    watch_close(l->watch);
    l->watch = NULL;
    io_close(&l->fd);
}

void listener_free(struct listener *l)
{
    listener_stop(l);
    list_remove(&l->link);
    free(l);
}
