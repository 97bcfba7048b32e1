/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_session.c - sessions: limited in number, expired when unused. Layer: dialects.
 */
#include "dialects/mcp/mcp_session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/mcp/mcp_call.h"
#include "dialects/mcp/mcp_limits.h"

static bool session_is_idle(const struct mcp_session *s)
{
    return list_is_empty(&s->exchanges) && s->feed.stream == NULL;
}

typedef bool session_fits_fn(const struct mcp_session *s, const void *arg);

/* The list is ordered by use, so the first idle session is evicted next. fits NULL: any. */
static struct mcp_session *oldest_idle(struct mcp *m, session_fits_fn *fits, const void *arg)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, link);

        if (session_is_idle(s) && (fits == NULL || fits(s, arg)))
            return s;
    }
    return NULL;
}

static bool is_weaker(const struct mcp_session *s, const void *arg)
{
    return s->role < *(const enum role *)arg;
}

static bool is_of_grant(const struct mcp_session *s, const void *arg)
{
    return strcmp(s->principal, arg) == 0;
}

static size_t count(struct mcp *m, session_fits_fn *fits, const void *arg)
{
    struct list *it, *tmp;
    size_t n = 0;

    list_for_each (it, tmp, &m->sessions)
        n += fits(list_entry(it, struct mcp_session, link), arg);
    return n;
}

/* The session to evict for a new one; itself NULL and *many: there is none. */
static struct mcp_session *victim(struct mcp *m, enum role role, const char *principal, bool *many)
{
    static const enum role own = ROLE_OWN;
    size_t mine = count(m, is_of_grant, principal);
    struct mcp_session *s = NULL;

    *many = mine >= (role < ROLE_OWN ? LIMIT_MCP_GRANT_SESSIONS : LIMIT_MCP_SESSIONS);
    if (!*many && role < ROLE_OWN && count(m, is_weaker, &own) >= LIMIT_MCP_GUEST_SESSIONS) {
        *many = true;
        s = oldest_idle(m, is_weaker, &role);
    }
    return *many && s == NULL ? oldest_idle(m, is_of_grant, principal) : s;
}

/*
 * A new session never evicts one of a stronger grant, nor one of another grant that is as strong.
 * The owner has reserved places. Among the others, a session of a weaker grant is evicted, or else
 * one of the same grant.
 */
static bool make_room(struct mcp *m, enum role role, const char *principal)
{
    bool many;
    struct mcp_session *s = victim(m, role, principal, &many);

    if (s != NULL)
        session_free(s);
    return !many || s != NULL;
}

static uint64_t age_ms(const struct mcp *m, const struct mcp_session *s)
{
    return loop_now_ms(m->base.loop) - s->used_ms;
}

static void expiry_arm(struct mcp *m)
{
    const struct mcp_session *s = oldest_idle(m, NULL, NULL);
    uint64_t limit = (uint64_t)m->base.host.mcp_session_ms;

    if (s == NULL || timer_is_active(m->expiry))
        return;
    timer_start(m->expiry, age_ms(m, s) < limit ? limit - age_ms(m, s) : 0);
}

static void expiry_on_timer(struct timer *t, void *arg)
{
    struct mcp *m = arg;
    struct mcp_session *s;

    (void)t;
    while ((s = oldest_idle(m, NULL, NULL)) != NULL &&
           age_ms(m, s) >= (uint64_t)m->base.host.mcp_session_ms)
        session_free(s);
    expiry_arm(m);
}

void session_touch(struct mcp_session *s)
{
    struct mcp *m = s->feed.mcp;

    s->used_ms = loop_now_ms(m->base.loop);
    list_remove(&s->link);
    list_append(&m->sessions, &s->link);
    expiry_arm(m);
}

static void on_stream_closed(struct mcp_feed *f)
{
    session_touch(list_entry(f, struct mcp_session, feed));
}

struct mcp_session *mcp_session_new(struct mcp *m, const struct revision *rev, enum role role,
                                    const char *principal)
{
    uint8_t random[SESSION_ID_LEN * 5 / 8];
    struct mcp_session *s;

    if (!make_room(m, role, principal))
        return NULL;
    if (m->expiry == NULL)
        m->expiry = timer_new(m->base.loop, expiry_on_timer, m);
    s = hf_xalloc(sizeof *s);
    list_init(&s->exchanges);
    s->revision = rev;
    s->role = role;
    snprintf(s->principal, sizeof s->principal, "%s", principal);
    crypto_random(random, sizeof random);
    base32_encode(s->id, random, sizeof random);
    assert(strlen(s->id) == SESSION_ID_LEN);
    mcp_feed_init(&s->feed, m, on_stream_closed);
    s->feed.wants_list = true;
    list_append(&m->sessions, &s->link);
    session_touch(s);
    return s;
}

void session_free(struct mcp_session *s)
{
    mcp_session_end_calls(s);
    mcp_feed_fini(&s->feed);
    list_remove(&s->link);
    free(s);
}

struct mcp_session *mcp_session_find(struct mcp *m, const char *id, const char *principal)
{
    struct list *it, *tmp;

    if (id == NULL || strlen(id) != SESSION_ID_LEN || m->base.draining)
        return NULL;
    list_for_each (it, tmp, &m->sessions) {
        struct mcp_session *s = list_entry(it, struct mcp_session, link);

        if (!is_of_grant(s, principal) || !crypto_equal(s->id, id, SESSION_ID_LEN))
            continue;
        session_touch(s);
        return s;
    }
    return NULL;
}

void mcp_sessions_free(struct mcp *m)
{
    while (!list_is_empty(&m->sessions))
        session_free(list_entry(m->sessions.next, struct mcp_session, link));
    timer_close(m->expiry);
}
