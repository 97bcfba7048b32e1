/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linger.c - a connection whose owner is done: it sends what is buffered, and ends
 *
 * When the peer may still be sending, c->owner is the connection itself, which means "drain".
 * Layer: transport.
 */
#include "transport/conn_own.h"

static size_t ending_on_bytes(struct conn *c, char *bytes, size_t len)
{
    (void)c, (void)bytes;
    return len;
}

/* Everything is sent. */
static void ending_on_drain(struct conn *c)
{
    if (c->tls != NULL || c->owner != NULL)
        conn_shutdown_write(c);
    if (c->owner == NULL || conn_is_eof(c))
        conn_end(c);
    else
        conn_set_deadline(c, DEADLINE_LINGER);
}

static void ending_on_eof(struct conn *c)
{
    if (!c->blocked)
        conn_end(c);
}

static void ending_on_deadline(struct conn *c, enum deadline_kind kind)
{
    (void)kind;
    conn_end(c);
}

static void ending_on_end(struct conn *c)
{
    (void)c;
}

static const struct conn_proto ending_proto = {
    .on_bytes = ending_on_bytes,
    .on_eof = ending_on_eof,
    .on_drain = ending_on_drain,
    .on_deadline = ending_on_deadline,
    .on_end = ending_on_end,
};

void conn_finish(struct conn *c, bool drain)
{
    if (conn_is_ended(c)) { /* in its owner's on_end: no owner is left to notify */
        conn_become(c, &ending_proto, NULL);
        return;
    }
    buf_wipe(&c->in);
    conn_become(c, &ending_proto, drain && !conn_is_eof(c) ? c : NULL);
    if (c->state == CONN_OPEN)
        conn_advance(c, CONN_PARTING);
    if (!c->blocked)
        conn_flush(c);
    if (c->blocked)
        conn_set_deadline(c, DEADLINE_STALL);
    else if (!conn_is_ended(c))
        ending_on_drain(c);
}
