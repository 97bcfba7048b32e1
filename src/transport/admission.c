/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.c - decides which connections stay when there are too many
 *
 * Layer: transport.
 */
#include "transport/admission.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/auth.h"
#include "transport/conn_own.h"

#define ADDRESS_BYTES 16

struct address_group {
    struct list link;      /* in its bucket */
    struct list untrusted; /* least recent progress first */
    size_t untrusted_count;
    size_t members; /* includes trusted ones: the group is freed with the last */
    uint8_t address[ADDRESS_BYTES];
};

void admission_init(struct admission *a)
{
    list_init(&a->untrusted);
    for (size_t i = 0; i < ADMISSION_BUCKETS; i++)
        list_init(&a->groups[i]);
}

/* --- addresses -------------------------------------------------------------------- */

/* IPv4 as mapped into IPv6. Of IPv6 only the first half counts: one host may own the second
 * half. */
static void address_key(const struct sockaddr *peer, uid_t uid, uint8_t key[ADDRESS_BYTES])
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;

    memset(key, 0, ADDRESS_BYTES);
    if (peer->sa_family == AF_INET) {
        key[10] = key[11] = 0xff;
        memcpy(key + 12, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    } else if (peer->sa_family == AF_INET6) {
        memcpy(key, &v6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? 16 : 8);
    } else {
        key[0] = 0xff; /* a multicast prefix: no peer's address */
        memcpy(key + 1, &uid, sizeof uid);
    }
}

static struct list *find_bucket(struct admission *a, const uint8_t key[ADDRESS_BYTES])
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < ADDRESS_BYTES; i++)
        hash = (hash ^ key[i]) * 16777619u;
    return &a->groups[hash % ADMISSION_BUCKETS];
}

static struct address_group *group_join(struct admission *a, const struct sockaddr *peer, uid_t uid)
{
    uint8_t key[ADDRESS_BYTES];
    struct list *bucket, *it, *tmp;
    struct address_group *g;

    address_key(peer, uid, key);
    bucket = find_bucket(a, key);
    list_for_each (it, tmp, bucket) {
        g = list_entry(it, struct address_group, link);
        if (memcmp(g->address, key, ADDRESS_BYTES) == 0) {
            g->members++;
            return g;
        }
    }
    g = hf_xalloc(sizeof *g);
    memcpy(g->address, key, ADDRESS_BYTES);
    list_init(&g->untrusted);
    list_append(bucket, &g->link);
    g->members = 1;
    return g;
}

static void group_part(struct address_group *g)
{
    if (--g->members > 0)
        return;
    list_remove(&g->link);
    free(g);
}

/* --- the order -------------------------------------------------------------------- */

static bool is_listed(const struct conn *c)
{
    return c->admitted.group != NULL && !list_is_empty(&c->admitted.all);
}

static void put_in(struct conn *c)
{
    struct admitted *m = &c->admitted;

    list_append(&c->server->admission.untrusted, &m->all);
    list_append(&m->group->untrusted, &m->neighbours);
    m->group->untrusted_count++;
}

static void take_out(struct conn *c)
{
    struct admitted *m = &c->admitted;

    if (!is_listed(c))
        return;
    list_remove(&m->all);
    list_remove(&m->neighbours);
    m->group->untrusted_count--;
}

void admission_progress(struct conn *c)
{
    if (!is_listed(c))
        return;
    take_out(c);
    put_in(c);
}

void admission_update(struct conn *c)
{
    if (c->admitted.group == NULL)
        return;
    take_out(c);
    if (c->trust == ROLE_NONE)
        put_in(c);
}

void admission_leave(struct conn *c)
{
    take_out(c);
    if (c->admitted.group != NULL)
        group_part(c->admitted.group);
    c->admitted.group = NULL;
}

/* --- room ------------------------------------------------------------------------- */

static void evict(struct conn *c)
{
    log_debug("closing connection to %s: evicted to make room", c->peer);
    c->server->stats.connections_evicted_total++;
    conn_end(c);
}

bool admission_evict(struct http_server *s)
{
    if (list_is_empty(&s->admission.untrusted))
        return false;
    evict(list_entry(s->admission.untrusted.next, struct conn, admitted.all));
    return true;
}

/* All places except those reserved for the role own. */
static size_t open_places(const struct http_server *s)
{
    size_t max = s->o.max_connections;

    return max - (max / 8 < LIMIT_CONNECTIONS_RESERVED ? max / 8 : LIMIT_CONNECTIONS_RESERVED);
}

/* A group above its share loses its own oldest connection; it may own all untrusted ones. */
static bool evict_for(struct http_server *s, const struct address_group *g)
{
    if (g->untrusted_count <= s->o.max_connections / LIMIT_ADDRESS_PART)
        return admission_evict(s);
    evict(list_entry(g->untrusted.next, struct conn, admitted.neighbours));
    return true;
}

static bool is_local(const struct conn *c)
{
    return c->uid != (uid_t)-1 &&
           (c->server->o.auth == NULL || auth_uid_is_own(c->server->o.auth, c->uid));
}

void admission_enter(struct conn *c, const struct sockaddr *peer)
{
    struct http_server *s = c->server;

    list_init(&c->admitted.all);
    list_init(&c->admitted.neighbours);
    if (is_local(c)) {
        c->trust = ROLE_OWN;
        return;
    }
    c->admitted.group = group_join(&s->admission, peer, c->uid);
    while (s->stats.connections >= open_places(s) && evict_for(s, c->admitted.group))
        ;
    c->crowded = s->stats.connections >= open_places(s);
    put_in(c);
}

bool admission_allows(struct conn *c, enum role role, bool probe)
{
    const struct http_server *s = c->server;

    if (c->crowded &&
        s->stats.connections <= (role == ROLE_OWN ? s->o.max_connections : open_places(s)))
        c->crowded = false;
    return !c->crowded || probe;
}
