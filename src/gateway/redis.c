/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redis.c - a connection to Redis that reconnects by itself
 *
 * Layer: gateway.
 */
#include "gateway/redis.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/head.h"
#include "transport/conn.h"

#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 1000

struct redis {
    struct http_server *server;
    struct conn *c; /* NULL: between two attempts */
    struct timer *timer;
    struct redis_reader *reader;
    struct tls_context *trust; /* NULL: without TLS */
    struct redis_url url;
    const struct redis_ops *ops; /* NULL: freed as soon as its connection has ended */
    void *arg;
    uint32_t pause_ms;
    unsigned greeting; /* replies to our own AUTH, SELECT */
    size_t owed;       /* outstanding replies, each due within the connect time-out */
    bool up, complained;
};

static void redis_dial(struct redis *r);

/* --- URLs -------------------------------------------------------------------------- */

static int bad_url(struct hf_error *err)
{
    return hf_fail(
        err, HF_E_bad_value,
        "The Redis URL must be redis://[USER@]IP:PORT[/DB], or rediss:// for TLS, with an "
        "IP address.");
}

static int bad_password(struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_value,
                   "Every user of this machine can read a password in the Redis URL. Append "
                   "?password_file=FILE to the address, or set " REDIS_PASSWORD_ENV ".");
}

/* "[USER@]"; *rest: what follows it. */
static int take_user(const char *s, struct redis_url *out, const char **rest, struct hf_error *err)
{
    size_t n = strcspn(s, "@/?");

    *rest = s;
    if (s[n] != '@')
        return 0;
    if (memchr(s, ':', n) != NULL)
        return bad_password(err);
    if (n == 0 || n >= sizeof out->user)
        return bad_url(err);
    memcpy(out->user, s, n);
    *rest = s + n + 1;
    return 0;
}

static bool take_address(const char *host, struct redis_url *out)
{
    char name[64];

    if (strncmp(host, "localhost", 9) != 0 || (host[9] != '\0' && host[9] != ':'))
        return endpoint_address_parse(host, 6379, &out->to);
    snprintf(name, sizeof name, "127.0.0.1%.20s", host + 9);
    return endpoint_address_parse(name, 6379, &out->to);
}

static bool take_db(const char *s, const char *end, struct redis_url *out)
{
    for (; s < end; s++) {
        if (*s < '0' || *s > '9' || out->db > 1000)
            return false;
        out->db = out->db * 10 + (unsigned)(*s - '0');
    }
    return true;
}

/* The value of a parameter; false: it is too long. "" without one. */
static bool find_parameter(const char *query, const char *name, char *out, size_t room)
{
    size_t n, len = strlen(name);
    const char *s = query;

    while (s != NULL && (strncmp(s, name, len) != 0 || s[len] != '='))
        s = (s = strchr(s, '&')) != NULL ? s + 1 : NULL;
    if (s == NULL)
        return true;
    s += len + 1;
    n = strcspn(s, "&");
    if (n == 0 || n >= room)
        return false;
    memcpy(out, s, n);
    return true;
}

/* The parameters of the connection; the caller reads the others. */
static bool take_query(const char *query, struct redis_url *out)
{
    if (strlen(query) >= sizeof out->query)
        return false;
    memcpy(out->query, query, strlen(query) + 1);
    return find_parameter(query, "ca_file", out->ca_file, sizeof out->ca_file) &&
           find_parameter(query, "password_file", out->password_file, sizeof out->password_file) &&
           (out->tls || out->ca_file[0] == '\0');
}

int redis_parse_url(const char *url, struct redis_url *out, struct hf_error *err)
{
    const char *query;
    char host[64];
    size_t n;
    int rc;

    *out = (struct redis_url){.tls = strncmp(url, "rediss://", 9) == 0};
    if (!out->tls && strncmp(url, "redis://", 8) != 0)
        return bad_url(err);
    rc = take_user(url + (out->tls ? 9 : 8), out, &url, err);
    if (rc < 0)
        return rc;
    n = strcspn(url, "/?");
    if (n == 0 || n >= sizeof host)
        return bad_url(err);
    memcpy(host, url, n);
    host[n] = '\0';
    url += n;
    query = url + strcspn(url, "?");
    if (!take_address(host, out) || (*url == '/' && !take_db(url + 1, query, out)) ||
        (*query == '?' && !take_query(query + 1, out)))
        return bad_url(err);
    return 0;
}

static int set_password(struct redis_url *url, const char *text, size_t len, struct hf_error *err)
{
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    if (len >= sizeof url->password || memchr(text, '\0', len) != NULL)
        return hf_fail(err, HF_E_bad_value, "A Redis password must have at most %zu characters.",
                       sizeof url->password - 1);
    memcpy(url->password, text, len);
    url->password[len] = '\0';
    return 0;
}

int redis_url_load(struct redis_url *url, const char *password, struct hf_error *err)
{
    struct buf text = {0};
    int rc = 0;

    if (url->password_file[0] != '\0') {
        rc = io_read_file(url->password_file, sizeof url->password, &text);
        if (rc < 0)
            return hf_fail(err, HF_E_bad_value, "Cannot read %s: %s.", url->password_file,
                           strerror(-rc));
        rc = set_password(url, buf_cstr(&text), text.len, err);
        buf_wipe(&text);
    } else if (password != NULL) {
        rc = set_password(url, password, strlen(password), err);
    }
    if (rc == 0 && url->user[0] != '\0' && url->password[0] == '\0')
        return hf_fail(err, HF_E_bad_value,
                       "A Redis user needs a password: password_file=FILE, or " REDIS_PASSWORD_ENV
                       ".");
    return rc;
}

/* --- the connection ------------------------------------------------------------------ */

static void redis_greet(struct redis *r)
{
    char db[16];

    r->greeting = 0;
    if (r->url.user[0] != '\0') {
        redis_command(r, 3, (const char *const[]){"AUTH", r->url.user, r->url.password});
        r->greeting++;
    } else if (r->url.password[0] != '\0') {
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
    struct redis *r = conn_owner(c);

    if (r->up || r->ops == NULL)
        return;
    conn_set_deadline(c, DEADLINE_NONE);
    r->up = true;
    r->pause_ms = RETRY_MIN_MS;
    if (r->complained)
        log_info("redis at %s is responding again", conn_peer(c));
    r->complained = false;
    redis_greet(r);
    r->ops->on_up(r->arg);
}

/* A server that has received a command and sends nothing counts as disconnected. */
static void redis_update_deadline(struct redis *r)
{
    conn_set_deadline(r->c, r->owed > 0 ? DEADLINE_CONNECT : DEADLINE_NONE);
}

static void redis_give(struct redis *r, struct redis_reply *reply)
{
    if (r->owed > 0) { /* otherwise a published message */
        r->owed--;
        redis_update_deadline(r);
    }
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
    struct redis *r = conn_owner(c);
    struct redis_reply *reply;
    int rc;

    if (len == 0 || r->ops == NULL)
        return len;
    rc = redis_reader_feed(r->reader, bytes, len);
    while (rc == 0 && !conn_is_ended(c) && r->ops != NULL) {
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
    tls_context_free(r->trust);
    timer_close(r->timer);
    hf_wipe(&r->url, sizeof r->url);
    free(r);
}

static void redis_on_end(struct conn *c)
{
    struct redis *r = conn_owner(c);
    bool was_up = r->up;

    r->c = NULL;
    r->up = false;
    r->owed = 0;
    if (r->ops == NULL) {
        redis_release(r);
        return;
    }
    if (!r->complained)
        log_warn("redis at %s is not responding: %s", conn_peer(c), conn_why(c));
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

/* The certificate must match the address that we connect to. */
static void redis_dial_tls(struct redis *r)
{
    char ip[INET6_ADDRSTRLEN];

    head_peer_ip(conn_peer(r->c), ip, sizeof ip);
    conn_dial_tls(r->c, tls_client_new(r->trust, ip));
}

static void redis_dial(struct redis *r)
{
    int errnum = 0;

    r->pause_ms = r->pause_ms * 2 < RETRY_MAX_MS ? r->pause_ms * 2 : RETRY_MAX_MS;
    r->c = conn_dial(r->server, &r->url.to.any, r->url.to.len, &redis_proto, r, &errnum);
    if (r->c == NULL) {
        timer_start(r->timer, r->pause_ms);
        return;
    }
    if (r->trust != NULL)
        redis_dial_tls(r);
    conn_set_background(r->c, true);
    conn_set_deadline(r->c, DEADLINE_CONNECT);
}

static void redis_on_timer(struct timer *t, void *arg)
{
    (void)t;
    redis_dial(arg);
}

struct redis *redis_new(struct http_server *s, const struct redis_url *url,
                        const struct redis_ops *ops, void *arg, struct hf_error *err)
{
    struct tls_context *trust = NULL;
    struct redis *r;

    if (url->tls) {
        trust = tls_client_context_new(url->ca_file[0] != '\0' ? url->ca_file : NULL, err);
        if (trust == NULL)
            return NULL;
    }
    r = hf_xalloc(sizeof *r);
    r->trust = trust;
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
    return r->c != NULL ? conn_fd(r->c) : -1;
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
    if (r->owed++ == 0)
        redis_update_deadline(r);
    conn_send(r->c, &iov, 1);
    buf_wipe(&out);
}
