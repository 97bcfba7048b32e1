/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_memory.c - counts and bounds the memory that peers make the server hold
 *
 * Layer: transport.
 */
#include "transport/peer_memory.h"

#include <assert.h>

#include "base/log.h"
#include "transport/conn_own.h"

void peer_memory_totals_init(struct held_totals *t)
{
    for (int i = 0; i < HELD_CLASSES; i++)
        list_init(&t->holders[i]);
}

void peer_memory_account_init(struct held_account *a)
{
    list_init(&a->link);
}

/* An ended connection is freed in this turn, so it cannot release more. */
static enum held_class class_of(const struct conn *c)
{
    if (c == NULL || c->dialled || conn_is_ended(c) || c->trust == ROLE_OWN)
        return HELD_OWN;
    return c->trust == ROLE_NONE ? HELD_UNTRUSTED : HELD_WEAK;
}

static size_t limit_of(const struct http_server *s, enum held_class class)
{
    return class == HELD_UNTRUSTED ? s->o.held_untrusted_bytes : s->o.held_weak_bytes;
}

void peer_memory_account_out(struct conn *c)
{
    c->server->held.bytes[class_of(c)] -= c->account.bytes;
    list_remove(&c->account.link);
}

void peer_memory_account_in(struct conn *c)
{
    enum held_class class = class_of(c);

    c->server->held.bytes[class] += c->account.bytes;
    if (class != HELD_OWN && c->account.bytes > 0)
        list_append(&c->server->held.holders[class], &c->account.link);
}

/* Searched only when a budget is exceeded, among the connections of one class. */
static struct conn *find_largest(const struct list *holders)
{
    struct conn *largest = NULL;
    struct list *it, *tmp;

    list_for_each (it, tmp, holders) {
        struct conn *c = list_entry(it, struct conn, account.link);

        if (largest == NULL || c->account.bytes > largest->account.bytes)
            largest = c;
    }
    return largest;
}

static void keep_budget(struct http_server *s, enum held_class class)
{
    while (s->held.bytes[class] > limit_of(s, class)) {
        struct conn *c = find_largest(&s->held.holders[class]);

        assert(c != NULL);
        if (class != HELD_UNTRUSTED) /* untrusted peers could fill the log */
            log_info("closing connection to %s: it holds %zu bytes of the server's memory", c->peer,
                     c->account.bytes);
        s->stats.overloaded_total++;
        conn_end(c); /* which removes it from the class */
    }
}

static void add(struct conn *c, size_t more, size_t less)
{
    peer_memory_account_out(c);
    c->account.bytes += more - less;
    peer_memory_account_in(c);
    if (more > less && class_of(c) != HELD_OWN)
        keep_budget(c->server, class_of(c));
}

void peer_memory_set(struct peer_memory *h, struct conn *c, size_t bytes)
{
    size_t before = h->bytes;

    if (bytes == before)
        return;
    assert(h->bytes == 0 || h->c == c);
    *h = (struct peer_memory){.server = c->server, .c = c, .bytes = bytes};
    add(c, bytes, before);
}

void peer_memory_part(struct peer_memory *h)
{
    if (h->bytes == 0 || h->c == NULL)
        return;
    add(h->c, 0, h->bytes);
    h->server->held.bytes[HELD_OWN] += h->bytes;
    h->c = NULL;
}

void peer_memory_clear(struct peer_memory *h)
{
    if (h->bytes == 0)
        return;
    if (h->c != NULL)
        add(h->c, 0, h->bytes);
    else
        h->server->held.bytes[HELD_OWN] -= h->bytes;
    *h = (struct peer_memory){0};
}

bool peer_memory_has_room(const struct conn *c, size_t bytes)
{
    /* keep_budget() handles the other classes */
    return class_of(c) != HELD_OWN || http_server_has_room(c->server, bytes);
}
