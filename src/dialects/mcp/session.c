/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - sessions: few, and gone when nobody uses them. Layer: dialects.
 */
#include "dialects/mcp/session.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/mcp/call.h"

static bool session_is_idle(const struct session *s)
{
    return s->busy == 0 && s->feed.stream == NULL;
}

/* The list is in order of use, so the first that is idle is the one to go next. */
static struct session *oldest_idle(struct mcp *m)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &m->sessions) {
        struct session *s = list_entry(it, struct session, link);

        if (session_is_idle(s))
            return s;
    }
    return NULL;
}

static uint64_t age_ms(const struct mcp *m, const struct session *s)
{
    return loop_now_ms(engine_loop(m->engine)) - s->used_ms;
}

static void expiry_arm(struct mcp *m)
{
    const struct session *s = oldest_idle(m);
    uint64_t limit = (uint64_t)m->options.session_ms;

    if (s == NULL || timer_is_active(m->expiry))
        return;
    timer_start(m->expiry, age_ms(m, s) < limit ? limit - age_ms(m, s) : 0);
}

static void expiry_on_timer(struct timer *t, void *arg)
{
    struct mcp *m = arg;
    struct session *s;

    (void)t;
    while ((s = oldest_idle(m)) != NULL && age_ms(m, s) >= (uint64_t)m->options.session_ms)
        session_free(m, s);
    expiry_arm(m);
}

void session_touch(struct mcp *m, struct session *s)
{
    s->used_ms = loop_now_ms(engine_loop(m->engine));
    list_remove(&s->link);
    list_append(&m->sessions, &s->link);
    expiry_arm(m);
}

static void on_stream_gone(struct feed *f)
{
    session_touch(f->mcp, list_entry(f, struct session, feed));
}

struct session *mcp_session_new(struct mcp *m, const struct revision *rev, enum role role)
{
    uint8_t random[SESSION_ID_LEN * 5 / 8];
    struct session *s = oldest_idle(m);

    if (m->session_count >= LIMIT_MCP_SESSIONS) {
        if (s == NULL)
            return NULL;
        session_free(m, s);
    }
    if (m->expiry == NULL)
        m->expiry = timer_new(engine_loop(m->engine), expiry_on_timer, m);
    s = hf_xalloc(sizeof *s);
    s->revision = rev;
    s->role = role;
    random_bytes(random, sizeof random);
    base32_encode(s->id, random, sizeof random);
    assert(strlen(s->id) == SESSION_ID_LEN);
    feed_init(&s->feed, m, on_stream_gone);
    s->feed.wants_list = true;
    list_append(&m->sessions, &s->link);
    m->session_count++;
    session_touch(m, s);
    return s;
}

void session_free(struct mcp *m, struct session *s)
{
    session_end_calls(s, m);
    feed_fini(&s->feed);
    list_remove(&s->link);
    m->session_count--;
    free(s);
}

struct session *mcp_session_find(struct mcp *m, const char *id, enum role role)
{
    struct list *it, *tmp;

    if (id == NULL || strlen(id) != SESSION_ID_LEN)
        return NULL;
    list_for_each (it, tmp, &m->sessions) {
        struct session *s = list_entry(it, struct session, link);

        if (s->role != role || !bytes_equal_ct(s->id, id, SESSION_ID_LEN))
            continue;
        session_touch(m, s);
        return s;
    }
    return NULL;
}

void mcp_sessions_free(struct mcp *m)
{
    while (!list_is_empty(&m->sessions))
        session_free(m, list_entry(m->sessions.next, struct session, link));
    timer_close(m->expiry);
}
