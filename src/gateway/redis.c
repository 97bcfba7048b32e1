/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redis.c - a connection to Redis that comes back by itself. Layer: gateway.
 */
#include "gateway/redis.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "transport/conn.h"

#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 1000

struct redis {
    struct http_server *server;
    struct conn *c; /* NULL: between two attempts */
    struct timer *timer;
    struct redis_reader *reader;
    struct redis_url url;
    const struct redis_ops *ops; /* NULL: freed as soon as its connection is gone */
    void *arg;
    uint32_t pause_ms;
    unsigned greeting; /* replies that are ours: AUTH, SELECT */
    bool up, complained;
};

static void redis_dial(struct redis *r);

/* --- URLs -------------------------------------------------------------------------- */

static int bad_url(struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_value,
                   "Redis is given as redis://[:PASSWORD@]IP:PORT[/DB], with an address.");
}

int redis_parse_url(const char *url, struct redis_url *out, struct hf_error *err)
{
    const char *at, *mark;
    char host[64];
    uint64_t db = 0;
    size_t n;

    *out = (struct redis_url){0};
    if (strncmp(url, "redis://", 8) != 0)
        return bad_url(err);
    url += 8;
    at = strchr(url, '@');
    if (at != NULL) {
        const char *colon = memchr(url, ':', (size_t)(at - url));

        if (colon == NULL || (size_t)(at - colon) > sizeof out->password)
            return bad_url(err);
        memcpy(out->password, colon + 1, (size_t)(at - colon) - 1);
        url = at + 1;
    }
    n = strcspn(url, "/?");
    if (n == 0 || n >= sizeof host)
        return bad_url(err);
    memcpy(host, url, n);
    host[n] = '\0';
    url += n;
    mark = url + strcspn(url, "?");
    if (*mark == '?')
        snprintf(out->query, sizeof out->query, "%s", mark + 1);
    if (*url == '/' && mark > url + 1) {
        for (const char *s = url + 1; s < mark; s++) {
            if (*s < '0' || *s > '9' || db > 1000)
                return bad_url(err);
            db = db * 10 + (uint64_t)(*s - '0');
        }
    }
    out->db = (unsigned)db;
    if (strncmp(host, "localhost", 9) == 0 && (host[9] == '\0' || host[9] == ':')) {
        char name[64];

        snprintf(name, sizeof name, "127.0.0.1%.20s", host + 9);
        return address_parse(name, 6379, &out->to) ? 0 : bad_url(err);
    }
    return address_parse(host, 6379, &out->to) ? 0 : bad_url(err);
}

/* --- the connection ------------------------------------------------------------------ */

static void redis_greet(struct redis *r)
{
    char db[16];

    r->greeting = 0;
    if (r->url.password[0] != '\0') {
        redis_command(r, 2, (const char *const[]){"AUTH", r->url.password});
        r->greeting++;
    }
    if (r->url.db != 0) {
        snprintf(db, sizeof db, "%u", r->url.db);
        redis_command(r, 2, (const char *const[]){"SELECT", db});
        r->greeting++;
    }
}

static void redis_on_drain(struct conn *c)
{
    struct redis *r = c->owner;

    if (r->up || r->ops == NULL)
        return;
    conn_set_deadline(c, DEADLINE_NONE);
    r->up = true;
    r->pause_ms = RETRY_MIN_MS;
    if (r->complained)
        log_info("redis at %s is back", c->peer);
    r->complained = false;
    redis_greet(r);
    r->ops->on_up(r->arg);
}

static void redis_give(struct redis *r, struct redis_reply *reply)
{
    if (r->greeting > 0) {
        r->greeting--;
        if (reply->type == REDIS_FAILURE)
            log_error("redis: %.100s", reply->text);
    } else if (r->ops != NULL) {
        r->ops->on_reply(r->arg, reply);
    }
    redis_reply_free(reply);
}

static size_t redis_on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct redis *r = c->owner;
    struct redis_reply *reply;
    int rc;

    if (len == 0 || r->ops == NULL)
        return len;
    rc = redis_reader_feed(r->reader, bytes, len);
    while (rc == 0 && !c->ended && r->ops != NULL) {
        rc = redis_reader_next(r->reader, &reply);
        if (rc <= 0)
            break;
        redis_give(r, reply);
        rc = 0;
    }
    if (rc < 0)
        conn_end(c);
    return len;
}

static void redis_on_eof(struct conn *c)
{
    conn_end(c);
}

static void redis_on_deadline(struct conn *c, enum deadline_kind kind)
{
    (void)kind;
    conn_end(c);
}

static void redis_release(struct redis *r)
{
    redis_reader_free(r->reader);
    timer_close(r->timer);
    hf_wipe(&r->url, sizeof r->url);
    free(r);
}

static void redis_on_end(struct conn *c)
{
    struct redis *r = c->owner;
    bool was_up = r->up;

    r->c = NULL;
    r->up = false;
    if (r->ops == NULL) {
        redis_release(r);
        return;
    }
    if (!r->complained)
        log_warn("redis at %s does not answer", c->peer);
    r->complained = true;
    redis_reader_free(r->reader);
    r->reader = redis_reader_new();
    timer_start(r->timer, r->pause_ms);
    if (was_up)
        r->ops->on_down(r->arg);
}

static const struct conn_proto redis_proto = {
    .on_bytes = redis_on_bytes,
    .on_eof = redis_on_eof,
    .on_drain = redis_on_drain,
    .on_deadline = redis_on_deadline,
    .on_end = redis_on_end,
};

static void redis_dial(struct redis *r)
{
    int errnum = 0;

    r->pause_ms = r->pause_ms * 2 < RETRY_MAX_MS ? r->pause_ms * 2 : RETRY_MAX_MS;
    r->c = conn_dial(r->server, &r->url.to.any, r->url.to.len, &redis_proto, r, &errnum);
    if (r->c == NULL) {
        timer_start(r->timer, r->pause_ms);
        return;
    }
    conn_set_background(r->c, true);
    conn_set_deadline(r->c, DEADLINE_CONNECT);
}

static void redis_on_timer(struct timer *t, void *arg)
{
    (void)t;
    redis_dial(arg);
}

struct redis *redis_new(struct http_server *s, const struct redis_url *url,
                        const struct redis_ops *ops, void *arg)
{
    struct redis *r = hf_xalloc(sizeof *r);

    r->server = s;
    r->url = *url;
    r->ops = ops;
    r->arg = arg;
    r->pause_ms = RETRY_MIN_MS;
    r->reader = redis_reader_new();
    r->timer = timer_new(s->loop, redis_on_timer, r);
    redis_dial(r);
    return r;
}

void redis_free(struct redis *r)
{
    if (r == NULL)
        return;
    r->ops = NULL;
    timer_stop(r->timer);
    if (r->c != NULL)
        conn_end(r->c);
    else
        redis_release(r);
}

int redis_fd(const struct redis *r)
{
    return r->c != NULL ? r->c->fd : -1;
}

bool redis_is_up(const struct redis *r)
{
    return r->up;
}

void redis_command(struct redis *r, int count, const char *const *words)
{
    struct buf out = {0};
    struct iovec iov;

    if (r->c == NULL || !r->up)
        return;
    buf_printf(&out, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        buf_printf(&out, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    iov = (struct iovec){buf_data(&out), out.len};
    conn_send(r->c, &iov, 1);
    buf_wipe(&out);
}
