/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_receive.c - a connection's events: receives, delivers, and ends a turn
 *
 * Layer: transport.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/limits.h"
#include "transport/conn_own.h"

bool conn_is_reading(const struct conn *c)
{
    return c->state != CONN_CONNECTING && c->input == INPUT_OPEN && !c->paused &&
           c->in.len < CONN_KEEP_BYTES;
}

/*
 * The one place that decides which events the loop watches. A peer that is neither read nor written
 * may still disconnect. A dialled peer is paused on behalf of another, which is watched: its last
 * bytes are valid even if it has disconnected, and its end is noticed when they are read.
 */
void conn_update_interest(struct conn *c)
{
    int want = (conn_is_reading(c) ? LOOP_READ : 0) | (c->blocked ? LOOP_WRITE : 0);

    if (!conn_is_ended(c))
        watch_set(c->watch, want == 0 && !c->dialled ? LOOP_LEAVE : want);
}

void conn_set_eof(struct conn *c)
{
    c->input = INPUT_EOF;
    conn_update_interest(c);
}

void conn_pause(struct conn *c)
{
    c->paused = true;
    c->resume = false; /* a pending resume was for the previous pause */
    conn_update_interest(c);
}

void conn_resume(struct conn *c)
{
    if (conn_is_ended(c))
        return;
    c->resume = true;
    loop_defer(c->server->loop, &c->task);
}

void conn_resume_later(struct conn *c)
{
    if (conn_is_ended(c))
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
    } while (used < len && c->proto != proto && !conn_is_ended(c));
    c->delivering = false;
    return used;
}

/* Keeps what was not consumed. `in` is empty at this point. */
static void conn_keep(struct conn *c, const char *bytes, size_t len)
{
    if (conn_is_ended(c))
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
    c->input = INPUT_EOF;
    conn_update_interest(c);
    c->proto->on_eof(c);
}

/* One read brought the end and bytes before it: deliver those first. */
static void conn_update_eof(struct conn *c)
{
    if (c->input == INPUT_EOF_WAITS && !c->paused && !conn_is_ended(c))
        conn_on_eof(c);
}

static void conn_on_cipher(struct conn *c, size_t n)
{
    struct buf *plain = &c->server->plain;
    size_t used;
    bool opened;
    int rc;

    if (c->own_bytes == 0)
        conn_add_own_bytes(c, TLS_CONNECTION_BYTES); /* from here on it has a session */
    if (conn_is_ended(c))
        return;
    plain->off = plain->len = 0; /* its memory is reused */
    buf_put(plain, buf_data(&c->in), c->in.len);
    rc = tls_receive(c->tls, c->server->scratch, n, plain, &c->out);
    opened = c->state == CONN_HANDSHAKE && tls_is_ready(c->tls);
    if (opened)
        conn_advance(c, CONN_OPEN);
    if (!c->blocked)
        conn_flush(c); /* handshake, alerts */
    conn_count_held(c);
    if (opened && !conn_is_ended(c))
        c->proto->on_drain(c);
    if (conn_is_ended(c))
        return;
    if (plain->len > c->in.len) {
        buf_fini(&c->in);
        buf_cstr(plain); /* room for a NUL */
        used = conn_deliver(c, buf_data(plain), plain->len);
        conn_keep(c, buf_data(plain) + used, plain->len - used);
    }
    if (rc == -ECONNRESET) {
        c->input = INPUT_EOF_WAITS;
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
    conn_advance(c, c->tls != NULL ? CONN_HANDSHAKE : CONN_OPEN);
    c->blocked = false;
    c->behind = 0;
    if (c->tls != NULL)
        conn_on_cipher(c, 0); /* sends the client hello */
    else
        conn_flush(c);
    conn_update_interest(c);
    if (!conn_is_ended(c) && !c->blocked && c->tls == NULL)
        c->proto->on_drain(c);
}

static void conn_on_room(struct conn *c)
{
    if (c->proto->on_writable != NULL) {
        c->proto->on_writable(c);
        return;
    }
    conn_flush(c);
    if (!conn_is_ended(c) && !c->blocked)
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
    return c->errnum != 0 || c->state != CONN_SHUT;
}

/* The peer disconnects while it is not being read. Its earlier bytes may still be wanted. */
static void conn_on_leave(struct conn *c, int events)
{
    if ((events & LOOP_CUT) && conn_is_cut(c))
        conn_end(c);
    else if (c->input != INPUT_OPEN)
        return; /* already known */
    else if (!c->paused)
        conn_on_eof(c); /* as if it had followed the few bytes that are kept */
    else if (c->proto->on_last != NULL)
        c->proto->on_last(c);
}

void conn_on_event(struct watch *w, int events, void *arg)
{
    struct conn *c = arg;

    (void)w;
    if (events & LOOP_LEAVE) {
        conn_on_leave(c, events);
        return;
    }
    if (c->state == CONN_CONNECTING) {
        conn_on_connected(c);
        return;
    }
    if ((events & LOOP_WRITE) && c->blocked)
        conn_on_room(c);
    if ((events & LOOP_READ) != 0 && !conn_is_ended(c) && conn_is_reading(c))
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
    if (conn_is_ended(c) || used == held.len) {
        buf_fini(&held);
    } else {
        assert(c->in.len == 0);
        buf_drop(&held, used);
        c->in = held;
    }
    conn_update_interest(c);
    conn_count_held(c);
}

void conn_on_task(void *arg)
{
    struct conn *c = arg;

    if (c->fresh) {
        c->fresh = false;
        conn_on_readable(c); /* clients speak first and usually have by now: saves a turn */
    }
    if (!conn_is_ended(c) && !c->blocked)
        conn_flush(c); /* sends corked bytes */
    if (!conn_is_ended(c) && c->resume) {
        c->resume = c->paused = false;
        conn_on_resume(c);
        conn_update_eof(c);
    }
    if (!conn_is_ended(c))
        return;
    if (c->task.queued)
        return; /* ended just now: the next round frees it, with a clean stack */
    c->proto->on_end(c);
    conn_destroy(c);
}
