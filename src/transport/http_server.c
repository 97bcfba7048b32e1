/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server.c - the server's life cycle: options, time-outs, draining, the end
 *
 * Layer: transport.
 */
#include "transport/http_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/conn_own.h"
#include "transport/deflate.h"
#include "transport/h2.h"
#include "transport/http_request.h"
#include "transport/ws_conn.h"

void http_options_default(struct http_options *o)
{
    *o = (struct http_options){
        .header_bytes = LIMIT_HEADER_BYTES,
        .header_count = LIMIT_HEADER_COUNT,
        .uri_bytes = LIMIT_URI_BYTES,
        .max_connections = LIMIT_CONNECTIONS,
        .held_bytes = LIMIT_HELD_BYTES,
        .held_weak_bytes = LIMIT_HELD_WEAK_BYTES,
        .held_untrusted_bytes = LIMIT_HELD_UNTRUSTED_BYTES,
        .head_ms = LIMIT_REQUEST_HEAD_MS,
        .body_ms = LIMIT_REQUEST_BODY_MS,
        .keepalive_ms = LIMIT_KEEPALIVE_MS,
        .stall_ms = LIMIT_STALL_MS,
    };
}

void http_options_fit(struct http_options *o)
{
    struct rlimit limit;
    size_t room;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    room = (size_t)limit.rlim_cur / LIMIT_DESCRIPTOR_PART;
    if (o->max_connections <= room)
        return;
    log_warn("limiting connections to %zu instead of %zu: the open file limit is %zu", room,
             o->max_connections, (size_t)limit.rlim_cur);
    o->max_connections = room;
}

static void server_on_timer(struct timer *t, void *arg)
{
    struct http_server *s = arg;
    uint64_t now = loop_now_ms(s->loop), next;
    enum deadline_kind kind;
    struct deadline *e;

    while ((e = deadlines_pop(&s->deadlines, now, &kind)) != NULL) {
        struct conn *c = list_entry(e, struct conn, deadline);

        if (kind >= DEADLINE_STREAM_BODY)
            h2_on_stream_deadline(e, kind);
        else
            c->proto->on_deadline(c, kind);
    }
    next = deadlines_next(&s->deadlines);
    if (next != DEADLINE_NEVER)
        timer_start(t, next > now ? next - now : 0);
}

void server_set_deadline(struct http_server *s, struct deadline *e, enum deadline_kind kind)
{
    uint64_t now = loop_now_ms(s->loop), at;

    if (s->deadlines.length_ms[kind] == 0)
        kind = DEADLINE_NONE;
    if (!deadline_set(&s->deadlines, e, kind, now))
        return;
    at = s->deadlines.armed_ms;
    timer_start(s->timer, at > now ? at - now : 0);
}

static void server_set_lengths(struct http_server *s)
{
    struct deadlines *d = &s->deadlines;

    d->length_ms[DEADLINE_HEAD] = s->o.head_ms;
    d->length_ms[DEADLINE_BODY] = s->o.body_ms;
    d->length_ms[DEADLINE_STREAM_BODY] = s->o.body_ms;
    d->length_ms[DEADLINE_STREAM_STALL] = s->o.stall_ms;
    d->length_ms[DEADLINE_IDLE] = s->o.keepalive_ms;
    d->length_ms[DEADLINE_STALL] = s->o.stall_ms;
    d->length_ms[DEADLINE_PING] = s->o.ping_ms > 0 ? s->o.ping_ms : WS_PING_MS;
    d->length_ms[DEADLINE_CLOSE] = WS_CLOSE_MS;
    d->length_ms[DEADLINE_LINGER] = LIMIT_LINGER_MS;
    d->length_ms[DEADLINE_CONNECT] = s->o.connect_ms;
    d->length_ms[DEADLINE_REPLY] = s->o.reply_ms;
    d->length_ms[DEADLINE_POOL] = s->o.pool_ms;
    d->length_ms[DEADLINE_QUIET] = s->o.quiet_ms;
    /* Peers that connected within about a second of each other are pinged in one wake-up. */
    d->slack_ms[DEADLINE_PING] = d->length_ms[DEADLINE_PING] / 16;
}

struct http_server *http_server_new(struct loop *loop, const struct http_options *o)
{
    struct http_server *s = hf_xalloc(sizeof *s);

    s->loop = loop;
    s->o = *o;
    s->scratch = hf_xalloc(SERVER_SCRATCH_BYTES + 1);
    list_init(&s->listeners);
    list_init(&s->conns);
    list_init(&s->background);
    list_init(&s->requests);
    admission_init(&s->admission);
    peer_memory_totals_init(&s->held);
    list_init(&s->later);
    deadlines_init(&s->deadlines);
    server_set_lengths(s);
    s->timer = timer_new(loop, server_on_timer, s);
    return s;
}

static void server_free_conns(struct http_server *s)
{
    while (!list_is_empty(&s->conns))
        conn_free(list_entry(s->conns.next, struct conn, link));
    while (!list_is_empty(&s->background))
        conn_free(list_entry(s->background.next, struct conn, link));
}

void http_server_free(struct http_server *s)
{
    struct list *it, *tmp;

    if (s == NULL)
        return;
    s->drain_done = NULL;
    list_for_each (it, tmp, &s->listeners)
        listener_stop(list_entry(it, struct listener, link));
    server_free_conns(s); /* they point at their listeners */
    request_free_all(s);
    list_for_each (it, tmp, &s->listeners)
        listener_free(list_entry(it, struct listener, link));
    task_cancel(&s->drain_task);
    timer_close(s->timer);
    timer_close(s->accept_timer);
    timer_close(s->later_timer);
    timer_close(s->drain_timer);
    deflater_free(s->deflater);
    buf_fini(&s->plain);
    buf_fini(&s->head);
    hf_wipe(s->scratch, SERVER_SCRATCH_BYTES);
    free(s->scratch);
    free(s);
}

void http_server_mount(struct http_server *s, const struct route_table *table)
{
    assert(s->table_count < SERVER_TABLES_MAX);
    s->tables[s->table_count++] = table;
}

const struct route_table *server_default_table(const struct http_server *s,
                                               const struct listener *l)
{
    if (l->table != NULL)
        return l->table;
    return s->table_count > 0 ? s->tables[0] : NULL;
}

void http_server_stats(const struct http_server *s, struct http_stats *out)
{
    *out = s->stats;
    out->held_untrusted = s->held.bytes[HELD_UNTRUSTED];
    out->held_weak = s->held.bytes[HELD_WEAK];
    out->held_own = s->held.bytes[HELD_OWN];
}

bool http_server_has_room(const struct http_server *s, size_t bytes)
{
    for (int i = 0; i < HELD_CLASSES; i++)
        bytes += s->held.bytes[i];
    return bytes <= s->o.held_bytes;
}

/* The text of the Date header, generated at most once per second. It does not use gmtime(), which
 * reads the machine's time zone from a file (io.h says why that matters). */
const char *server_date(struct http_server *s)
{
    int64_t now_s = clock_wall_ms() / 1000;

    if (now_s != s->date_s) {
        clock_http_date(now_s * 1000, s->date);
        s->date_s = now_s;
    }
    return s->date;
}

/* --- draining ------------------------------------------------------------------- */

static void server_on_drained(void *arg)
{
    struct http_server *s = arg;
    task_fn *done = s->drain_done;

    if (done == NULL)
        return;
    s->drain_done = NULL;
    timer_stop(s->drain_timer);
    done(s->drain_arg); /* may free the server */
}

static void server_check_drained(struct http_server *s)
{
    if (s->draining && s->drain_done != NULL && list_is_empty(&s->conns))
        loop_defer(s->loop, &s->drain_task);
}

void server_conn_closed(struct http_server *s)
{
    if (list_is_empty(&s->conns) && list_is_empty(&s->background)) { /* no connection to wait for */
        timer_stop(s->timer);
        s->deadlines.armed_ms = DEADLINE_NEVER;
    }
    server_update_accept(s);
    server_check_drained(s);
}

void server_cut(struct http_server *s)
{
    bool over = s->drain_over;
    struct list *it, *tmp;

    s->drain_over = true;
    list_for_each (it, tmp, &s->conns) {
        struct conn *c = list_entry(it, struct conn, link);

        if (over || c->proto->on_cut == NULL)
            conn_end(c);
        else
            c->proto->on_cut(c);
    }
}

static void on_drain_timer(struct timer *t, void *arg)
{
    server_cut(arg);
    timer_start(t, SERVER_LAST_WORDS_MS);
}

void http_server_drain(struct http_server *s, uint32_t ms, task_fn *done, void *arg)
{
    struct list *it, *tmp;

    assert(!s->draining);
    s->draining = true;
    s->drain_done = done;
    s->drain_arg = arg;
    s->drain_task = (struct task){.fn = server_on_drained, .arg = s};
    s->drain_timer = timer_new(s->loop, on_drain_timer, s);
    timer_start(s->drain_timer, ms);
    list_for_each (it, tmp, &s->listeners)
        listener_stop(list_entry(it, struct listener, link));
    list_for_each (it, tmp, &s->conns) {
        struct conn *c = list_entry(it, struct conn, link);

        if (c->proto->on_leave != NULL)
            c->proto->on_leave(c);
        else if (request_is_idle(c))
            conn_end(c);
        else
            ws_drain(c);
    }
    server_check_drained(s);
}

void http_server_cut(struct http_server *s, const char *grant)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &s->conns) {
        struct conn *c = list_entry(it, struct conn, link);

        if (c->proto == &h2_proto)
            h2_cut(c, grant);
        else if (c->grant != NULL && strcmp(c->grant, grant) == 0)
            conn_end(c);
    }
}

void http_server_cut_token(struct http_server *s, uint32_t token)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &s->conns) {
        struct conn *c = list_entry(it, struct conn, link);

        if (c->token == token)
            conn_set_trust(c, ROLE_NONE); /* even an idle connection loses its place */
        if (c->proto == &h2_proto)
            h2_cut_token(c, token);
        else if (c->token == token && request_is_admitted(c) &&
                 !ws_cut(c, WS_CODE_TOKEN_ENDED, "token_ended"))
            conn_end(c);
    }
}
