/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_redis.c - sandboxes that register themselves in Redis
 *
 * Each sandbox is a key with a time to live (redis.h), signed with that sandbox's key
 * (registration.h). An entry is cached until that time, and dropped at once when a message names
 * it; while no messages can arrive, it is cached only briefly. Unknown ids are cached briefly as
 * well, and the number of concurrent look-ups is limited, so that a client that invents ids cannot
 * flood Redis. Without Redis, cached entries are still served, and every other look-up fails with
 * -EAGAIN. Layer: gateway.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/redis.h"
#include "gateway/resolver.h"
#include "transport/http_server.h"

#define KEEP_DEAF_MS 1000     /* without messages */
#define KEEP_FOREVER_MS 60000 /* a key without an expiry is read again */

/* One pending look-up, and all that wait for its reply. */
struct question {
    struct list link; /* in order of requests */
    struct list lookups;
    char id[PLACE_ID_BYTES + 1];
    struct endpoint *found; /* from the first reply; the second has its time to live */
    int64_t expires_ms;     /* wall clock, as in the entry; 0: none */
    bool has_value, failed;
};

struct miss {
    char id[PLACE_ID_BYTES + 1];
    uint64_t until_ms;
};

struct redis_resolver {
    struct resolver r;
    struct redis *queries, *subscriber;
    const struct registration_trust *trust;
    struct roster *known;
    struct list questions;
    size_t question_count;
    bool subscribed;
    struct miss misses[LIMIT_GATEWAY_MISSES]; /* by hash; a newer one replaces it */
};

static struct miss *miss_slot(struct redis_resolver *rr, const char *id)
{
    return &rr->misses[crypto_hash(id, strlen(id)) % LIMIT_GATEWAY_MISSES];
}

static bool is_missing(struct redis_resolver *rr, const char *id)
{
    const struct miss *m = miss_slot(rr, id);

    return clock_mono_ms() < m->until_ms && strcmp(m->id, id) == 0;
}

static void note_miss(struct redis_resolver *rr, const char *id)
{
    struct miss *m = miss_slot(rr, id);

    snprintf(m->id, sizeof m->id, "%s", id);
    m->until_ms = clock_mono_ms() + GATEWAY_MISS_MS;
}

/* The entry has changed: it may have been added or removed. */
static void forget(struct redis_resolver *rr, const char *id)
{
    struct miss *m = miss_slot(rr, id);

    roster_remove(rr->known, id);
    if (strcmp(m->id, id) == 0)
        m->until_ms = 0;
}

static void question_end(struct redis_resolver *rr, struct question *q, int rc)
{
    struct endpoint *e = q->found;

    list_remove(&q->link);
    rr->question_count--;
    while (!list_is_empty(&q->lookups))
        resolver_lookup_done(list_entry(q->lookups.next, struct lookup, link), rc, e);
    endpoint_unref(e);
    free(q);
}

static void question_on_value(struct redis_resolver *rr, struct question *q,
                              const struct redis_reply *r)
{
    struct hf_error err = {0};

    q->has_value = true;
    if (r->type != REDIS_TEXT) {
        q->failed = r->type != REDIS_NIL;
        return;
    }
    q->found =
        registration_read(rr->trust, q->id, r->text, r->len, clock_wall_ms(), &q->expires_ms, &err);
    if (q->found == NULL)
        log_warn("ignoring the Redis entry of sandbox %s: %s", q->id, err.detail);
}

/* How long the entry is valid: Redis' time to live, but never beyond the signed expiry. */
static uint64_t question_life(const struct question *q, int64_t ttl)
{
    int64_t left = q->expires_ms - clock_wall_ms();

    if (ttl < 0)
        ttl = KEEP_FOREVER_MS;
    if (q->expires_ms != 0 && left < ttl)
        ttl = left;
    return ttl > 0 ? (uint64_t)ttl : 0;
}

static void question_on_time(struct redis_resolver *rr, struct question *q,
                             const struct redis_reply *r)
{
    uint64_t now = clock_mono_ms();
    int64_t ttl = r->type == REDIS_NUMBER ? r->number : -2;

    q->failed = q->failed || r->type != REDIS_NUMBER;
    if (q->found == NULL || ttl == -2) {
        roster_remove(rr->known, q->id);
        endpoint_unref(q->found);
        q->found = NULL;
        if (!q->failed)
            note_miss(rr, q->id);
        question_end(rr, q, q->failed ? -EAGAIN : -ENOENT);
        return;
    }
    q->found->fetched_ms = now;
    q->found->until_ms = now + question_life(q, ttl);
    roster_put(rr->known, q->id, endpoint_ref(q->found));
    question_end(rr, q, 0);
}

static void queries_on_reply(void *arg, const struct redis_reply *r)
{
    struct redis_resolver *rr = arg;
    struct question *q;

    if (list_is_empty(&rr->questions))
        return;
    q = list_entry(rr->questions.next, struct question, link);
    if (!q->has_value)
        question_on_value(rr, q, r);
    else
        question_on_time(rr, q, r);
}

static void queries_on_up(void *arg)
{
    (void)arg;
}

static void queries_on_down(void *arg)
{
    struct redis_resolver *rr = arg;

    while (!list_is_empty(&rr->questions))
        question_end(rr, list_entry(rr->questions.next, struct question, link), -EAGAIN);
}

/* --- messages --------------------------------------------------------------------------- */

static void subscriber_on_up(void *arg)
{
    struct redis_resolver *rr = arg;

    redis_command(rr->subscriber, 2, (const char *const[]){"SUBSCRIBE", REDIS_CHANNEL});
}

static void subscriber_on_down(void *arg)
{
    ((struct redis_resolver *)arg)->subscribed = false;
}

static void subscriber_on_reply(void *arg, const struct redis_reply *r)
{
    struct redis_resolver *rr = arg;

    if (r->type != REDIS_LIST || r->count < 3 || r->items[0]->type != REDIS_TEXT)
        return;
    if (strcmp(r->items[0]->text, "subscribe") == 0)
        rr->subscribed = true;
    else if (strcmp(r->items[0]->text, "message") == 0 && r->items[2]->type == REDIS_TEXT &&
             r->items[2]->len <= PLACE_ID_BYTES)
        forget(rr, r->items[2]->text);
}

static const struct redis_ops queries_ops = {queries_on_up, queries_on_down, queries_on_reply};
static const struct redis_ops subscriber_ops = {subscriber_on_up, subscriber_on_down,
                                                subscriber_on_reply};

/* --- the resolver ----------------------------------------------------------------------- */

static void redis_resolver_close(struct resolver *r)
{
    struct redis_resolver *rr = (struct redis_resolver *)r;

    redis_free(rr->queries);
    redis_free(rr->subscriber);
    while (!list_is_empty(&rr->questions)) {
        struct question *q = list_entry(rr->questions.next, struct question, link);

        while (!list_is_empty(&q->lookups))
            resolver_lookup_cancel(list_entry(q->lookups.next, struct lookup, link));
        list_remove(&q->link);
        endpoint_unref(q->found);
        free(q);
    }
    roster_free(rr->known);
    free(rr);
}

/* The operator must choose: without signatures, every writer to Redis could pose as any sandbox. */
static int check_trust(const struct registration_trust *t, struct hf_error *err)
{
    if (t->key.len == 0 && !t->takes_unsigned)
        return hf_fail(err, HF_E_bad_value,
                       "Entries in Redis must be signed: set --register-key-file FILE. Use "
                       "--unsigned-registrations only if everyone with write access to Redis is "
                       "trusted.");
    if (t->key.len > 0 && t->takes_unsigned)
        return hf_fail(err, HF_E_bad_value,
                       "Use --register-key-file or --unsigned-registrations, not both.");
    if (t->key.len > 0 && t->key.len < REGISTRATION_KEY_MIN_BYTES)
        return hf_fail(err, HF_E_bad_value, "The registration key must have at least %d bytes.",
                       REGISTRATION_KEY_MIN_BYTES);
    return 0;
}

static struct resolver *redis_resolver_open(struct http_server *s, const char *url,
                                            const struct resolver_secrets *secrets,
                                            struct hf_error *err)
{
    struct redis_resolver *rr;
    struct redis_url parsed;

    if (redis_parse_url(url, &parsed, err) < 0 || check_trust(secrets->trust, err) < 0 ||
        redis_url_load(&parsed, secrets->redis_password, err) < 0)
        return NULL;
    rr = hf_xalloc(sizeof *rr);
    rr->trust = secrets->trust;
    rr->known = roster_new();
    list_init(&rr->questions);
    rr->queries = redis_new(s, &parsed, &queries_ops, rr, err);
    rr->subscriber = rr->queries != NULL ? redis_new(s, &parsed, &subscriber_ops, rr, err) : NULL;
    hf_wipe(&parsed, sizeof parsed);
    if (rr->subscriber != NULL)
        return &rr->r;
    redis_resolver_close(&rr->r);
    return NULL;
}

static bool is_fresh(const struct redis_resolver *rr, const struct endpoint *e, uint64_t now)
{
    if (now >= e->until_ms)
        return false;
    return rr->subscribed || !redis_is_up(rr->queries) || now < e->fetched_ms + KEEP_DEAF_MS;
}

static struct question *question_find(struct redis_resolver *rr, const char *id)
{
    struct list *it;

    for (it = rr->questions.next; it != &rr->questions; it = it->next) {
        struct question *q = list_entry(it, struct question, link);

        if (!q->has_value && strcmp(q->id, id) == 0)
            return q;
    }
    return NULL;
}

static struct question *question_send(struct redis_resolver *rr, const char *id)
{
    struct question *q = hf_xalloc(sizeof *q);
    char key[sizeof REDIS_PREFIX + PLACE_ID_BYTES + 1];

    list_init(&q->lookups);
    snprintf(q->id, sizeof q->id, "%s", id);
    snprintf(key, sizeof key, REDIS_PREFIX "%s", id);
    list_append(&rr->questions, &q->link);
    rr->question_count++;
    redis_command(rr->queries, 2, (const char *const[]){"GET", key});
    redis_command(rr->queries, 2, (const char *const[]){"PTTL", key});
    return q;
}

static void redis_resolver_find(struct resolver *r, struct lookup *l)
{
    struct redis_resolver *rr = (struct redis_resolver *)r;
    struct endpoint *e = roster_get(rr->known, l->id);
    struct question *q;

    if (e != NULL && is_fresh(rr, e, clock_mono_ms())) {
        resolver_lookup_done(l, 0, e);
        return;
    }
    if (!redis_is_up(rr->queries)) {
        resolver_lookup_done(l, -EAGAIN, NULL);
        return;
    }
    if (is_missing(rr, l->id)) {
        resolver_lookup_done(l, -ENOENT, NULL);
        return;
    }
    q = question_find(rr, l->id);
    if (q == NULL && rr->question_count >= LIMIT_GATEWAY_LOOKUPS) {
        resolver_lookup_done(l, -EAGAIN, NULL);
        return;
    }
    if (q == NULL)
        q = question_send(rr, l->id);
    list_append(&q->lookups, &l->link);
}

static bool redis_resolver_is_ready(const struct resolver *r)
{
    const struct redis_resolver *rr = (const struct redis_resolver *)r;

    return redis_is_up(rr->queries);
}

const struct resolver_class resolver_redis = {
    .scheme = "redis",
    .open_registry = redis_resolver_open,
    .close = redis_resolver_close,
    .find = redis_resolver_find,
    .is_ready = redis_resolver_is_ready,
};
/* With TLS; the URL selects it. */
const struct resolver_class resolver_rediss = {
    .scheme = "rediss",
    .open_registry = redis_resolver_open,
    .close = redis_resolver_close,
    .find = redis_resolver_find,
    .is_ready = redis_resolver_is_ready,
};
