/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.c - a connection from its accept or dial to its end
 *
 * Layer: transport.
 */
#include "transport/conn_own.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"

void conn_count_held(struct conn *c)
{
    size_t own = c->trust == ROLE_NONE && !c->dialled ? c->own_bytes : 0;

    peer_memory_set(&c->held, c, c->in.cap + c->out.cap + own);
}

void conn_add_own_bytes(struct conn *c, size_t bytes)
{
    c->own_bytes += bytes;
    conn_count_held(c);
}

static char *peer_name(const struct sockaddr *peer, uid_t uid)
{
    char host[INET6_ADDRSTRLEN] = "?", name[INET6_ADDRSTRLEN + 16];
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;

    if (peer->sa_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(name, sizeof name, "%s:%u", host, ntohs(v4->sin_port));
    } else if (peer->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(name, sizeof name, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        snprintf(name, sizeof name, "unix:uid=%ld", uid == (uid_t)-1 ? -1L : (long)uid);
    }
    return hf_xstrdup(name);
}

static uid_t peer_uid(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof cred;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return (uid_t)-1;
    return cred.uid;
}

void conn_new(struct http_server *s, const struct listener *l, int fd, const struct sockaddr *peer,
              const struct conn_proto *proto)
{
    struct conn *c = hf_xalloc(sizeof *c);

    c->watch = watch_new(s->loop, fd, conn_on_event, c);
    if (c->watch == NULL) {
        free(c);
        close(fd);
        return;
    }
    c->server = s;
    c->state = CONN_OPEN;
    c->read_size = CONN_READ_FIRST_BYTES;
    c->listener = l;
    c->fd = fd;
    c->uid = l->kind == LISTEN_UNIX ? peer_uid(fd) : (uid_t)-1;
    c->peer = peer_name(peer, c->uid);
    c->tls = l->tls != NULL ? tls_new(l->tls) : NULL;
    c->task.fn = conn_on_task;
    c->task.arg = c;
    peer_memory_account_init(&c->account);
    admission_enter(c, peer);
    list_append(&s->conns, &c->link);
    s->stats.connections++;
    s->stats.connections_total++;
    conn_become(c, proto, NULL);
    conn_time_head(c);
    conn_update_interest(c);
    c->fresh = true;
    loop_defer(s->loop, &c->task);
}

static struct conn *conn_new_dialled(struct http_server *s, int fd, const struct sockaddr *to)
{
    struct conn *c = hf_xalloc(sizeof *c);

    c->watch = watch_new(s->loop, fd, conn_on_event, c);
    c->server = s;
    c->read_size = CONN_READ_FIRST_BYTES;
    c->fd = fd;
    c->uid = (uid_t)-1;
    c->peer = peer_name(to, c->uid);
    c->task.fn = conn_on_task;
    c->task.arg = c;
    c->dialled = c->blocked = true;
    peer_memory_account_init(&c->account);
    list_append(&s->conns, &c->link);
    return c;
}

struct conn *conn_dial(struct http_server *s, const struct sockaddr *to, socklen_t len,
                       const struct conn_proto *proto, void *owner, int *errnum)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct conn *c;

    if (fd < 0) {
        *errnum = errno;
        return NULL;
    }
    if (to->sa_family != AF_UNIX)
        conn_tune_tcp(fd);
    if (connect(fd, to, len) < 0 && errno != EINPROGRESS) {
        *errnum = errno;
        close(fd);
        return NULL;
    }
    c = conn_new_dialled(s, fd, to);
    conn_become(c, proto, owner);
    return c;
}

void conn_set_background(struct conn *c, bool background)
{
    list_remove(&c->link);
    list_append(background ? &c->server->background : &c->server->conns, &c->link);
}

void conn_dial_tls(struct conn *c, struct tls *t)
{
    assert(c->state == CONN_CONNECTING && c->tls == NULL);
    c->tls = t;
}

const char *conn_why(const struct conn *c)
{
    if (c->errnum != 0)
        return strerror(c->errnum);
    if (!conn_is_established(c))
        return "no response in time";
    return c->tls != NULL && !tls_is_ready(c->tls) ? tls_why(c->tls) : "the connection was lost";
}

void conn_destroy(struct conn *c)
{
    struct http_server *s = c->server;

    task_cancel(&c->task);
    deadline_clear(&c->deadline);
    list_remove(&c->link);
    tls_discard(c->tls);
    buf_wipe(&c->in);
    buf_fini(&c->out);
    peer_memory_clear(&c->held);
    assert(c->account.bytes == 0);
    free(c->peer);
    free(c->grant);
    free(c);
    server_conn_closed(s);
}

void conn_end(struct conn *c)
{
    if (conn_is_ended(c))
        return;
    peer_memory_account_out(c);
    conn_advance(c, c->state == CONN_CONNECTING ? CONN_FAILED : CONN_ENDED);
    peer_memory_account_in(c);
    admission_leave(c);
    if (!c->dialled)
        c->server->stats.connections--;
    deadline_clear(&c->deadline);
    watch_close_with_fd(c->watch);
    c->watch = NULL;
    c->fd = -1;
    loop_defer(c->server->loop, &c->task);
}

void conn_free(struct conn *c)
{
    conn_end(c);
    c->proto->on_end(c);
    conn_destroy(c);
}

void conn_set_grant(struct conn *c, const char *grant)
{
    free(c->grant);
    c->grant = hf_xstrdup(grant);
}

void conn_set_trust(struct conn *c, enum role role)
{
    if (conn_is_ended(c) || c->dialled || c->trust == role)
        return;
    peer_memory_account_out(c);
    c->trust = role;
    peer_memory_account_in(c);
    admission_update(c);
    conn_count_held(c);
}

void conn_become(struct conn *c, const struct conn_proto *proto, void *owner)
{
    c->proto = proto;
    c->owner = owner;
    c->paused = false;
    conn_update_interest(c);
    conn_count_held(c);
}

void conn_set_deadline(struct conn *c, enum deadline_kind kind)
{
    if (!conn_is_ended(c))
        server_set_deadline(c->server, &c->deadline, kind);
}

void conn_time_head(struct conn *c)
{
    if (c->deadline.kind != DEADLINE_HEAD)
        conn_set_deadline(c, DEADLINE_HEAD);
}

/* --- what it is and where it stands --------------------------------------------- */

bool conn_is_tls(const struct conn *c)
{
    return c->tls != NULL;
}

bool conn_is_dialled(const struct conn *c)
{
    return c->dialled;
}

bool conn_is_established(const struct conn *c)
{
    return c->state != CONN_CONNECTING && c->state != CONN_FAILED;
}

bool conn_is_ended(const struct conn *c)
{
    return c->state >= CONN_FAILED;
}

bool conn_is_blocked(const struct conn *c)
{
    return c->blocked;
}

bool conn_is_paused(const struct conn *c)
{
    return c->paused;
}

bool conn_is_mute(const struct conn *c)
{
    return c->state == CONN_MUTE;
}

bool conn_is_delivering(const struct conn *c)
{
    return c->delivering;
}

bool conn_is_eof(const struct conn *c)
{
    return c->input == INPUT_EOF;
}

bool conn_is_last(const struct conn *c)
{
    return c->last;
}

bool conn_has_request(const struct conn *c)
{
    return c->has_request;
}

bool conn_has_proto(const struct conn *c, const struct conn_proto *proto)
{
    return c->proto == proto;
}

struct http_server *conn_server(const struct conn *c)
{
    return c->server;
}

const struct listener *conn_listener(const struct conn *c)
{
    return c->listener;
}

const char *conn_peer(const struct conn *c)
{
    return c->peer;
}

int conn_fd(const struct conn *c)
{
    return c->fd;
}

int conn_errnum(const struct conn *c)
{
    return c->errnum;
}

enum deadline_kind conn_deadline(const struct conn *c)
{
    return c->deadline.kind;
}

size_t conn_kept(const struct conn *c)
{
    return c->in.len;
}

size_t conn_unsent(const struct conn *c)
{
    return c->out.len;
}

void *conn_owner(const struct conn *c)
{
    return c->owner;
}

void conn_set_owner(struct conn *c, void *owner)
{
    c->owner = owner;
}

void conn_set_mute(struct conn *c)
{
    conn_advance(c, CONN_MUTE);
}

void conn_set_last(struct conn *c)
{
    c->last = true;
}

void conn_set_has_request(struct conn *c)
{
    c->has_request = true;
}
