/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - idle connections to sandboxes, kept for the next request
 *
 * Layer: gateway.
 */
#include "gateway/pool.h"

#include <errno.h>
#include <string.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/mem.h"

#define POOL_CHAINS 256 /* a power of two */

struct idle {
    struct list chain; /* of those with the same hash, last used first */
    struct list age;   /* of all, oldest first */
    struct pool *pool;
    struct conn *c;
    struct address to;
};

struct pool {
    struct list chains[POOL_CHAINS];
    struct list age;
    size_t count;
    uint64_t *gauge;
};

struct pool *pool_new(uint64_t *gauge)
{
    struct pool *p = hf_xalloc(sizeof *p);

    for (size_t i = 0; i < POOL_CHAINS; i++)
        list_init(&p->chains[i]);
    list_init(&p->age);
    p->gauge = gauge;
    return p;
}

void pool_free(struct pool *p)
{
    free(p);
}

static struct list *chain_of(struct pool *p, const struct address *to)
{
    return &p->chains[crypto_hash(&to->any, to->len) & (POOL_CHAINS - 1)];
}

static void idle_free(struct idle *i)
{
    list_remove(&i->chain);
    list_remove(&i->age);
    *i->pool->gauge = --i->pool->count;
    free(i);
}

static size_t idle_on_bytes(struct conn *c, char *bytes, size_t len)
{
    (void)bytes;
    if (len > 0)
        conn_end(c);
    return len;
}

static void idle_on_eof(struct conn *c)
{
    conn_end(c);
}

static void idle_on_drain(struct conn *c)
{
    (void)c;
}

static void idle_on_deadline(struct conn *c, enum deadline_kind kind)
{
    (void)kind;
    conn_end(c);
}

static void idle_on_end(struct conn *c)
{
    if (conn_owner(c) != NULL)
        idle_free(conn_owner(c));
}

static const struct conn_proto idle_proto = {
    .on_bytes = idle_on_bytes,
    .on_eof = idle_on_eof,
    .on_drain = idle_on_drain,
    .on_deadline = idle_on_deadline,
    .on_end = idle_on_end,
};

void pool_end(struct conn *c)
{
    conn_become(c, &idle_proto, NULL);
    conn_end(c);
}

static size_t chain_count(const struct list *chain, const struct address *to)
{
    size_t n = 0;
    struct list *it;

    for (it = chain->next; it != chain; it = it->next)
        n += endpoint_address_equal(&list_entry(it, struct idle, chain)->to, to);
    return n;
}

void pool_put(struct pool *p, struct conn *c, const struct address *to)
{
    struct list *chain = chain_of(p, to);
    struct idle *i;

    if (conn_is_ended(c) || conn_is_eof(c) || conn_kept(c) > 0 ||
        chain_count(chain, to) >= LIMIT_POOL_PER_ADDRESS) {
        pool_end(c);
        return;
    }
    if (p->count >= LIMIT_POOL)
        conn_end(list_entry(p->age.next, struct idle, age)->c);
    i = hf_xalloc(sizeof *i);
    i->pool = p;
    i->c = c;
    i->to = *to;
    list_prepend(chain, &i->chain);
    list_append(&p->age, &i->age);
    *p->gauge = ++p->count;
    conn_become(c, &idle_proto, i);
    conn_set_background(c, true);
    conn_set_deadline(c, DEADLINE_POOL);
}

static bool is_silent(const struct conn *c)
{
    char byte;

    return recv(conn_fd(c), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

struct conn *pool_take(struct pool *p, const struct address *to, bool sure)
{
    struct list *chain = chain_of(p, to), *it, *tmp;

    list_for_each (it, tmp, chain) {
        struct idle *i = list_entry(it, struct idle, chain);
        struct conn *c = i->c;

        if (!endpoint_address_equal(&i->to, to))
            continue;
        if (conn_is_ended(c) || (sure && !is_silent(c))) {
            conn_end(c);
            continue;
        }
        conn_set_owner(c, NULL);
        idle_free(i);
        conn_set_deadline(c, DEADLINE_NONE);
        conn_set_background(c, false);
        return c;
    }
    return NULL;
}
