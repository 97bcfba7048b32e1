/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_fetch.c - one HTTP request of the gateway itself
 *
 * Layer: gateway.
 */
#include "gateway/gateway_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/limits.h"
#include "base/mem.h"
#include "gateway/head.h"
#include "transport/conn.h"

struct fetch {
    struct conn *c;
    const struct fetch_ops *ops; /* NULL: cancelled */
    void *arg;
    struct http1 rs;
    struct buf head; /* until it can be sent */
    struct http_server *server;
    int rc;
    bool done;
};

static void fetch_finish(struct fetch *f, int rc)
{
    f->rc = rc;
    f->done = true;
    conn_end(f->c); /* on_end reports it */
}

/* True: continue. */
static bool fetch_step(struct fetch *f, const char *bytes, size_t len, size_t *used)
{
    switch (http1_feed(&f->rs, bytes, len, used)) {
    case HTTP1_HEAD:
        if (f->rs.status >= 200)
            f->ops->on_head(f->arg, &f->rs);
        return true;
    case HTTP1_BODY: f->ops->on_body(f->arg, f->rs.body, f->rs.body_len); return true;
    case HTTP1_DONE:
        if (f->rs.status >= 200) {
            fetch_finish(f, 0);
            return false;
        }
        http1_again(&f->rs, false);
        return true;
    case HTTP1_ERROR: fetch_finish(f, -EPROTO); return false;
    default: return *used < len;
    }
}

static size_t fetch_on_bytes(struct conn *c, char *bytes, size_t len)
{
    struct fetch *f = conn_owner(c);
    size_t at = 0;

    if (f->ops == NULL || f->done)
        return len;
    conn_set_deadline(c, f->ops->lasts ? DEADLINE_NONE : DEADLINE_REPLY);
    while (at < len || http1_is_complete(&f->rs)) {
        size_t used = 0;
        bool more = fetch_step(f, bytes + at, len - at, &used);

        at += used;
        if (!more || conn_is_ended(c) || f->ops == NULL)
            return len;
    }
    return len;
}

static void fetch_on_eof(struct conn *c)
{
    struct fetch *f = conn_owner(c);

    if (!f->done)
        fetch_finish(f, http1_finish(&f->rs) ? 0 : -ECONNRESET);
}

/* The connection is open; with TLS nothing could be sent before. */
static void fetch_on_drain(struct conn *c)
{
    struct fetch *f = conn_owner(c);
    struct iovec iov = {buf_data(&f->head), f->head.len};

    conn_set_deadline(c, DEADLINE_REPLY);
    if (f->head.len == 0)
        return;
    conn_send(c, &iov, 1);
    buf_wipe(&f->head);
}

static void fetch_on_deadline(struct conn *c, enum deadline_kind kind)
{
    (void)kind;
    fetch_finish(conn_owner(c), -ETIMEDOUT);
}

static void fetch_on_end(struct conn *c)
{
    struct fetch *f = conn_owner(c);

    if (f->ops != NULL)
        f->ops->on_done(f->arg, f->done               ? f->rc
                                : conn_errnum(c) != 0 ? -conn_errnum(c)
                                                      : -ECONNRESET);
    http1_fini(&f->rs);
    buf_wipe(&f->head);
    free(f);
}

static const struct conn_proto fetch_proto = {
    .on_bytes = fetch_on_bytes,
    .on_eof = fetch_on_eof,
    .on_drain = fetch_on_drain,
    .on_deadline = fetch_on_deadline,
    .on_end = fetch_on_end,
};

static struct conn *fetch_dial(struct http_server *s, const struct fetch_target *t, struct fetch *f,
                               int *errnum)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};

    if (t->to.len > 0)
        return conn_dial(s, &t->to.any, t->to.len, &fetch_proto, f, errnum);
    memcpy(un.sun_path, t->unix_path, sizeof un.sun_path);
    return conn_dial(s, (const struct sockaddr *)&un, sizeof un, &fetch_proto, f, errnum);
}

struct fetch *fetch_start(struct http_server *s, const struct fetch_target *t,
                          const struct buf *head, const struct fetch_ops *ops, void *arg,
                          struct hf_error *err)
{
    static const struct http1_limits limits = {LIMIT_HEADER_BYTES, LIMIT_HEADER_COUNT,
                                               LIMIT_URI_BYTES};
    struct tls *tls = NULL;
    struct fetch *f;
    int errnum = 0;

    if (t->tls) {
        char name[INET6_ADDRSTRLEN];

        head_peer_ip(t->host, name, sizeof name);
        tls = tls_client_new(t->trust, name);
    }
    f = hf_xalloc(sizeof *f);
    f->c = fetch_dial(s, t, f, &errnum);
    if (f->c == NULL) {
        tls_discard(tls);
        free(f);
        hf_fail(err, HF_E_upstream_unreachable, "Cannot call %s: %s.", t->host, strerror(errnum));
        return NULL;
    }
    if (tls != NULL)
        conn_dial_tls(f->c, tls);
    f->server = s;
    f->ops = ops;
    f->arg = arg;
    http1_init_response(&f->rs, &limits, false);
    buf_put(&f->head, buf_data(head), head->len);
    conn_set_background(f->c, true);
    conn_set_deadline(f->c, DEADLINE_CONNECT);
    return f;
}

const char *fetch_why(const struct fetch *f, int rc)
{
    return f->done ? strerror(-rc) : conn_why(f->c);
}

void fetch_cancel(struct fetch *f)
{
    if (f == NULL)
        return;
    f->ops = NULL;
    conn_end(f->c);
}

/* --- URLs ------------------------------------------------------------------------- */

static int bad_url(const char *url, struct hf_error *err)
{
    return hf_fail(err, HF_E_bad_value,
                   "'%s' is not a usable URL: use http://IP:PORT/PATH, https:// or unix:PATH.",
                   url);
}

int fetch_parse_url(const char *url, struct fetch_target *out, struct hf_error *err)
{
    size_t n;

    *out = (struct fetch_target){.host = "localhost"};
    if (strncmp(url, "unix:", 5) == 0) {
        url += strncmp(url, "unix://", 7) == 0 ? 7 : 5;
        if (url[0] == '\0' || strlen(url) >= sizeof out->unix_path)
            return bad_url(url, err);
        snprintf(out->unix_path, sizeof out->unix_path, "%s", url);
        return 0;
    }
    out->tls = strncmp(url, "https://", 8) == 0;
    if (!out->tls && strncmp(url, "http://", 7) != 0)
        return bad_url(url, err);
    url += out->tls ? 8 : 7;
    n = strcspn(url, "/");
    if (n >= sizeof out->host || strlen(url + n) >= sizeof out->path)
        return bad_url(url, err);
    memcpy(out->host, url, n);
    out->host[n] = '\0';
    snprintf(out->path, sizeof out->path, "%s", url + n);
    if (n > 0 && out->path[0] != '\0' && out->path[strlen(out->path) - 1] == '/')
        out->path[strlen(out->path) - 1] = '\0';
    if (strncmp(out->host, "localhost:", 10) == 0)
        snprintf(out->host, sizeof out->host, "127.0.0.1:%.*s", (int)(n - 10), url + 10);
    if (!endpoint_address_parse(out->host, out->tls ? 443 : 80, &out->to))
        return bad_url(url, err);
    for (const char *s = out->path; *s != '\0'; s++) {
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f)
            return bad_url(url, err);
    }
    return 0;
}
