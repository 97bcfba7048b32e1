/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.c - one socket: receiving, sending, time-outs, the end
 *
 * Layer: transport.
 */
#include "transport/conn.h"

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

static void conn_on_event(struct watch *w, int events, void *arg);
static void conn_on_task(void *arg);

/* Called wherever the buffered bytes have changed. */
static void conn_count_held(struct conn *c)
{
    size_t own = c->trust == ROLE_NONE && !c->dialled ? c->own_bytes : 0;

    peer_memory_set(&c->held, c, c->in.cap + c->out.cap + own);
}

void conn_add_own_bytes(struct conn *c, size_t bytes)
{
    c->own_bytes += bytes;
    conn_count_held(c);
}

static bool conn_is_reading(const struct conn *c)
{
    return !c->paused && !c->eof && !c->eof_waits && !c->connecting && c->in.len < CONN_KEEP_BYTES;
}

/*
 * The one place that decides which events the loop watches. A peer that is neither read nor written
 * may still disconnect. A dialled peer is paused on behalf of another, which is watched: its last
 * bytes are valid even if it has disconnected, and its end is noticed when they are read.
 */
static void conn_update_interest(struct conn *c)
{
    int want = (conn_is_reading(c) ? LOOP_READ : 0) | (c->blocked ? LOOP_WRITE : 0);

    if (!c->ended)
        watch_set(c->watch, want == 0 && !c->dialled ? LOOP_LEAVE : want);
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
    c->dialled = c->connecting = c->blocked = true;
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
    assert(c->connecting && c->tls == NULL);
    c->tls = t;
}

const char *conn_why(const struct conn *c)
{
    if (c->errnum != 0)
        return strerror(c->errnum);
    if (c->connecting)
        return "no response in time";
    return c->tls != NULL && !tls_is_ready(c->tls) ? tls_why(c->tls) : "the connection was cut";
}

/* The last step: no function that uses c is on the stack. */
static void conn_destroy(struct conn *c)
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
    if (c->ended)
        return;
    peer_memory_account_out(c);
    c->ended = true;
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
    if (c->ended || c->dialled || c->trust == role)
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
    if (!c->ended)
        server_set_deadline(c->server, &c->deadline, kind);
}

void conn_time_head(struct conn *c)
{
    if (c->deadline.kind != DEADLINE_HEAD)
        conn_set_deadline(c, DEADLINE_HEAD);
}

/* --- sending ------------------------------------------------------------------ */

static ssize_t conn_sendmsg(struct conn *c, struct iovec *iov, size_t count)
{
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (c->parting ? MSG_MORE : 0);
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t n;

    do /* a single part does not need a parts table */
        n = count == 1 ? send(c->fd, iov->iov_base, iov->iov_len, flags)
                       : sendmsg(c->fd, &msg, flags);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == ENOBUFS))
        return 0;
    if (n < 0 && c->dialled && (errno == EPIPE || errno == ECONNRESET)) {
        c->mute = true; /* its reply may still be waiting to be read */
        for (size_t i = 0; i < count; i++)
            n += (ssize_t)iov[i].iov_len;
        return n + 1;
    }
    if (n < 0)
        c->errnum = errno;
    if (n > 0) {
        c->server->stats.bytes_out += (uint64_t)n;
        c->sent += (uint64_t)n;
    }
    return n;
}

static size_t iov_total(const struct iovec *iov, int count)
{
    size_t total = 0;

    for (int i = 0; i < count; i++)
        total += iov[i].iov_len;
    return total;
}

/* Appends everything after the first `skip` bytes; a peer may have chosen the sizes. */
static int buf_put_iov(struct buf *b, const struct iovec *iov, int count, size_t skip)
{
    size_t total = iov_total(iov, count);

    if (buf_reserve(b, total - skip) < 0)
        return -ENOMEM;
    for (int i = 0; i < count; i++) {
        size_t n = skip < iov[i].iov_len ? skip : iov[i].iov_len;

        buf_put(b, (const char *)iov[i].iov_base + n, iov[i].iov_len - n);
        skip -= n;
    }
    return 0;
}

void conn_flush(struct conn *c)
{
    struct iovec iov = {buf_data(&c->out), c->out.len};
    ssize_t n;

    if (c->ended || c->connecting || c->out.len == 0)
        return;
    n = conn_sendmsg(c, &iov, 1);
    if (n < 0) {
        conn_end(c);
        return;
    }
    buf_drop(&c->out, (size_t)n);
    c->blocked = c->out.len > 0;
    if (!c->blocked) {
        buf_fini(&c->out);
        c->behind = 0;
    }
    c->progress |= n > 0;
    if (n > 0 && c->deadline.kind == DEADLINE_STALL)
        conn_set_deadline(c, DEADLINE_STALL);
    conn_update_interest(c);
    conn_count_held(c);
}

/* Sends corked bytes and the caller's parts in one call; buffers the rest. */
static void conn_send_now(struct conn *c, const struct iovec *iov, int count)
{
    struct iovec all[CONN_IOV_MAX];
    size_t corked = c->out.len, sent;
    ssize_t n;

    assert(count < CONN_IOV_MAX);
    all[0] = (struct iovec){buf_data(&c->out), corked};
    memcpy(all + 1, iov, (size_t)count * sizeof *iov);
    n = conn_sendmsg(c, corked > 0 ? all : all + 1, (size_t)count + (corked > 0));
    if (n < 0) {
        conn_end(c);
        return;
    }
    sent = (size_t)n;
    if (sent == corked + iov_total(iov, count)) {
        buf_fini(&c->out);
        conn_count_held(c);
        return;
    }
    if (buf_put_iov(&c->out, iov, count, sent > corked ? sent - corked : 0) < 0) {
        conn_end(c);
        return;
    }
    if (corked > 0)
        buf_drop(&c->out, sent < corked ? sent : corked);
    c->blocked = true;
    conn_update_interest(c);
    conn_count_held(c);
}

static int conn_encrypt(struct conn *c, const struct iovec *iov, int count)
{
    for (int i = 0; i < count; i++) {
        int rc = tls_send(c->tls, iov[i].iov_base, iov[i].iov_len, &c->out);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* What a sender passes in one call may be any size; only what is appended after it is counted. */
static bool conn_is_overfull(struct conn *c, const struct iovec *iov, int count)
{
    if (!c->blocked)
        return false;
    c->behind += iov_total(iov, count);
    return c->behind > LIMIT_CONN_OUT_BYTES;
}

void conn_send(struct conn *c, const struct iovec *iov, int count)
{
    if (c->ended || c->mute)
        return;
    if (conn_is_overfull(c, iov, count)) {
        log_info("closing connection to %s: peer stopped reading", c->peer);
        conn_end(c);
    } else if (c->tls != NULL) {
        if (conn_encrypt(c, iov, count) < 0)
            conn_end(c);
        else if (!c->blocked)
            conn_flush(c);
        else
            conn_count_held(c);
    } else if (c->blocked) {
        if (buf_put_iov(&c->out, iov, count, 0) < 0)
            conn_end(c);
        else
            conn_count_held(c);
    } else {
        conn_send_now(c, iov, count);
    }
}

/* Sends what the socket accepts at once; buffers nothing. */
static size_t conn_offer(struct conn *c, struct iovec *iov, size_t count)
{
    ssize_t n;

    if (c->ended || c->mute || c->blocked || c->tls != NULL || c->out.len > 0)
        return 0;
    n = conn_sendmsg(c, iov, count);
    if (n < 0)
        conn_end(c);
    return n > 0 ? (size_t)n : 0;
}

size_t conn_send_lent(struct conn *c, const struct iovec *head, const void *lent, size_t len)
{
    struct iovec iov[2] = {*head, {(void *)(uintptr_t)lent, len}};
    size_t sent = conn_offer(c, iov, 2), of_head = sent < head->iov_len ? sent : head->iov_len;
    size_t of_lent = sent - of_head, held = len - of_lent;

    if (held == 0)
        return len;
    if (held > LIMIT_LENT_SLICE_BYTES)
        held = LIMIT_LENT_SLICE_BYTES;
    iov[0].iov_base = (char *)head->iov_base + of_head;
    iov[0].iov_len -= of_head;
    iov[1].iov_base = (char *)iov[1].iov_base + of_lent;
    iov[1].iov_len = held;
    conn_send(c, iov, 2);
    return of_lent + held;
}

void conn_cork(struct conn *c, const void *bytes, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, len};

    if (c->ended || c->mute)
        return;
    if (c->tls == NULL)
        buf_put(&c->out, bytes, len);
    else if (conn_encrypt(c, &iov, 1) < 0)
        conn_end(c);
    loop_defer(c->server->loop, &c->task);
    conn_count_held(c);
}

uint64_t conn_count_sent(const struct conn *c)
{
    return c->sent + c->out.len;
}

/* The kernel does not report when this grows; callers have to poll. */
uint64_t conn_count_taken(struct conn *c)
{
    int waiting = 0;

    if (!c->ended && ioctl(c->fd, SIOCOUTQ, &waiting) == 0 && (uint64_t)waiting <= c->sent &&
        c->sent - (uint64_t)waiting > c->taken)
        c->taken = c->sent - (uint64_t)waiting;
    return c->taken;
}

void conn_shutdown_write(struct conn *c)
{
    if (c->tls != NULL) {
        tls_shutdown(c->tls, &c->out);
        conn_flush(c);
    }
    if (!c->ended && c->out.len == 0) {
        c->shut = true;
        shutdown(c->fd, SHUT_WR);
    }
}

void conn_set_blocked(struct conn *c, bool blocked)
{
    c->blocked = blocked;
    if (!blocked)
        c->behind = 0;
    conn_update_interest(c);
}

void conn_set_eof(struct conn *c)
{
    c->eof = true;
    conn_update_interest(c);
}

/* --- receiving ---------------------------------------------------------------- */

void conn_pause(struct conn *c)
{
    c->paused = true;
    c->resume = false; /* a pending resume was for the previous pause */
    conn_update_interest(c);
}

void conn_resume(struct conn *c)
{
    if (c->ended)
        return;
    c->resume = true;
    loop_defer(c->server->loop, &c->task);
}

void conn_resume_later(struct conn *c)
{
    if (c->ended)
        return;
    c->resume = true;
    server_defer_later(c->server, &c->task);
}

/* The next protocol gets the rest of the bytes. */
static size_t conn_deliver(struct conn *c, char *bytes, size_t len)
{
    const struct conn_proto *proto;
    size_t used = 0;

    c->delivering = true;
    do {
        proto = c->proto;
        used += proto->on_bytes(c, bytes + used, len - used);
        assert(used <= len);
    } while (used < len && c->proto != proto && !c->ended);
    c->delivering = false;
    return used;
}

/* Keeps what was not consumed. `in` is empty at this point. */
static void conn_keep(struct conn *c, const char *bytes, size_t len)
{
    if (c->ended)
        return;
    if (len > 0 && buf_reserve(&c->in, len + 1) < 0) {
        conn_end(c);
        return;
    }
    buf_put(&c->in, bytes, len);
    conn_update_interest(c);
    conn_count_held(c);
}

/* Puts the kept bytes in front of the new ones, both in the scratch buffer. */
static void conn_on_plain(struct conn *c, size_t n)
{
    char *scratch = c->server->scratch;
    size_t total = c->in.len + n, used;

    buf_fini(&c->in);
    used = conn_deliver(c, scratch, total);
    conn_keep(c, scratch + used, total - used);
}

static void conn_on_eof(struct conn *c)
{
    c->eof = true;
    c->eof_waits = false;
    conn_update_interest(c);
    c->proto->on_eof(c);
}

/* One read brought the end and bytes before it: deliver those first. */
static void conn_update_eof(struct conn *c)
{
    if (c->eof_waits && !c->paused && !c->ended)
        conn_on_eof(c);
}

static void conn_on_cipher(struct conn *c, size_t n)
{
    struct buf *plain = &c->server->plain;
    size_t used;
    int rc;

    if (c->own_bytes == 0)
        conn_add_own_bytes(c, TLS_CONNECTION_BYTES); /* from here on it has a session */
    if (c->ended)
        return;
    plain->off = plain->len = 0; /* its memory is reused */
    buf_put(plain, buf_data(&c->in), c->in.len);
    rc = tls_receive(c->tls, c->server->scratch, n, plain, &c->out);
    if (!c->blocked)
        conn_flush(c); /* handshake, alerts */
    conn_count_held(c);
    if (c->ended)
        return;
    if (c->dialled && !c->tls_open && tls_is_ready(c->tls)) {
        c->tls_open = true;
        c->proto->on_drain(c);
        if (c->ended)
            return;
    }
    if (plain->len > c->in.len) {
        c->tls_open = true;
        buf_fini(&c->in);
        buf_cstr(plain); /* room for a NUL */
        used = conn_deliver(c, buf_data(plain), plain->len);
        conn_keep(c, buf_data(plain) + used, plain->len - used);
    }
    if (rc == -ECONNRESET) {
        c->eof_waits = true;
        conn_update_interest(c);
        conn_update_eof(c);
    } else if (rc < 0) {
        conn_end(c);
    }
}

/* Reads the rest of the socket in the next turn, after the other connections. */
static size_t conn_read_bytes(const struct conn *c, size_t room, uint64_t now_ns)
{
    bool late = now_ns / 1000000 >= loop_now_ms(c->server->loop) + CONN_READ_LATE_MS;
    size_t want = late ? c->read_size / CONN_READ_LATE_PART : c->read_size;

    want = want > CONN_READ_LEAST_BYTES ? want : CONN_READ_LEAST_BYTES;
    return want < room ? want : room;
}

/* The next read is as large as can be handled in a fraction of a millisecond. */
static void conn_update_read_size(struct conn *c, bool full, uint64_t took_ns)
{
    if (took_ns > CONN_READ_SLOW_US * 1000ULL && c->read_size > CONN_READ_LEAST_BYTES)
        c->read_size /= 2;
    else if (took_ns < CONN_READ_FAST_US * 1000ULL && full && c->read_size < SERVER_SCRATCH_BYTES)
        c->read_size *= 2;
}

/* Handles all that was received. One recv() per event: a short read means that the socket is
 * empty. */
static void conn_on_received(struct conn *c, size_t kept, size_t n)
{
    c->server->stats.bytes_in += n;
    if (c->tls != NULL) {
        conn_on_cipher(c, n);
        return;
    }
    if (kept > 0)
        memcpy(c->server->scratch, buf_data(&c->in), kept);
    conn_on_plain(c, n);
}

static void conn_receive(struct conn *c)
{
    size_t kept = c->tls != NULL ? 0 : c->in.len;
    uint64_t began_ns = clock_mono_ns();
    size_t want = conn_read_bytes(c, SERVER_SCRATCH_BYTES - kept, began_ns);
    ssize_t n;

    do
        n = recv(c->fd, c->server->scratch + kept, want, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno != EAGAIN) {
            c->errnum = errno;
            conn_end(c);
        }
        return;
    }
    if (n == 0) {
        conn_on_eof(c);
        return;
    }
    conn_on_received(c, kept, (size_t)n);
    conn_update_read_size(c, (size_t)n == want && want >= c->read_size, clock_mono_ns() - began_ns);
}

/* The peer has accepted our connection, or refused it. */
static void conn_on_connected(struct conn *c)
{
    socklen_t len = sizeof c->errnum;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &c->errnum, &len) < 0)
        c->errnum = errno;
    if (c->errnum != 0) {
        conn_end(c);
        return;
    }
    c->connecting = c->blocked = false;
    c->behind = 0;
    if (c->tls != NULL)
        conn_on_cipher(c, 0); /* sends the client hello */
    else
        conn_flush(c);
    conn_update_interest(c);
    if (!c->ended && !c->blocked && c->tls == NULL)
        c->proto->on_drain(c);
}

static void conn_on_room(struct conn *c)
{
    if (c->proto->on_writable != NULL) {
        c->proto->on_writable(c);
        return;
    }
    conn_flush(c);
    if (!c->ended && !c->blocked)
        c->proto->on_drain(c);
}

static void conn_on_readable(struct conn *c)
{
    if (c->proto->on_readable != NULL && c->tls == NULL)
        c->proto->on_readable(c);
    else
        conn_receive(c);
}

bool conn_may_bring(const struct conn *c, uint64_t bytes)
{
    int unread = 0;

    return c->tls != NULL || ioctl(c->fd, FIONREAD, &unread) < 0 ||
           c->in.len + (uint64_t)unread >= bytes;
}

/* The peer is gone: an error, or both directions ended although we did not end ours. */
static bool conn_is_cut(struct conn *c)
{
    socklen_t len = sizeof c->errnum;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &c->errnum, &len) < 0)
        c->errnum = errno;
    return c->errnum != 0 || !c->shut;
}

/* The peer disconnects while it is not being read. Its earlier bytes may still be wanted. */
static void conn_on_leave(struct conn *c, int events)
{
    if ((events & LOOP_CUT) && conn_is_cut(c))
        conn_end(c);
    else if (c->eof || c->eof_waits)
        return; /* already known */
    else if (!c->paused)
        conn_on_eof(c); /* as if it had followed the few bytes that are kept */
    else if (c->proto->on_last != NULL)
        c->proto->on_last(c);
}

static void conn_on_event(struct watch *w, int events, void *arg)
{
    struct conn *c = arg;

    (void)w;
    if (events & LOOP_LEAVE) {
        conn_on_leave(c, events);
        return;
    }
    if (c->connecting) {
        conn_on_connected(c);
        return;
    }
    if ((events & LOOP_WRITE) && c->blocked)
        conn_on_room(c);
    if ((events & LOOP_READ) != 0 && !c->ended && conn_is_reading(c))
        conn_on_readable(c);
}

/* --- the end of a turn ---------------------------------------------------------- */

static void conn_on_resume(struct conn *c)
{
    struct buf held = c->in;
    char none[1] = "";
    size_t used;

    c->in = (struct buf){0};
    if (held.len > 0)
        buf_cstr(&held); /* room for a NUL */
    used = conn_deliver(c, held.len > 0 ? buf_data(&held) : none, held.len);
    if (c->ended || used == held.len) {
        buf_fini(&held);
    } else {
        assert(c->in.len == 0);
        buf_drop(&held, used);
        c->in = held;
    }
    conn_update_interest(c);
    conn_count_held(c);
}

static void conn_on_task(void *arg)
{
    struct conn *c = arg;

    if (c->fresh) {
        c->fresh = false;
        conn_on_readable(c); /* clients speak first and usually have by now: saves a turn */
    }
    if (!c->ended && !c->blocked)
        conn_flush(c); /* sends corked bytes */
    if (!c->ended && c->resume) {
        c->resume = c->paused = false;
        conn_on_resume(c);
        conn_update_eof(c);
    }
    if (!c->ended)
        return;
    if (c->task.queued)
        return; /* ended just now: the next round frees it, with a clean stack */
    c->proto->on_end(c);
    conn_destroy(c);
}
