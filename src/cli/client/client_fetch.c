/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_fetch.c - HTTP/1.1 requests and responses over a client_conn. Layer: cli.
 */
#include "cli/client/client_fetch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

#define SEND_MS 60000

void fetch_escape(struct buf *out, const char *text)
{
    text_percent_encode(out, text, "-._~:");
}

void fetch_write_head(struct buf *out, const struct daemon_address *p,
                      const struct fetch_request *request)
{
    bool v6 = p->host != NULL && strchr(p->host, ':') != NULL;

    buf_printf(out, "%s %s%s HTTP/1.1\r\n", request->method, p->prefix, request->path);
    if (p->host == NULL)
        buf_puts(out, "Host: localhost\r\n");
    else
        buf_printf(out, "Host: %s%s%s:%u\r\n", v6 ? "[" : "", p->host, v6 ? "]" : "", p->port);
    if (p->token != NULL)
        buf_printf(out, "Authorization: Bearer %s\r\n", p->token);
    if (request->accept != NULL)
        buf_printf(out, "Accept: %s\r\n", request->accept);
    if (request->header != NULL)
        buf_printf(out, "%s\r\n", request->header);
    buf_puts(out, "User-Agent: holdfast/" HF_VERSION "\r\n");
}

static int queue_request(struct client_conn *w, const struct daemon_address *p,
                         const struct fetch_request *request)
{
    struct buf head = {0};
    bool has_body = request->body != NULL || strcmp(request->method, "POST") == 0;
    int rc;

    fetch_write_head(&head, p, request);
    buf_puts(&head, "Connection: close\r\n");
    if (request->body != NULL)
        buf_printf(&head, "Content-Type: %s\r\n",
                   request->type != NULL ? request->type : "application/json");
    if (has_body)
        buf_printf(&head, "Content-Length: %zu\r\n", request->body_len);
    buf_puts(&head, "\r\n");
    rc = client_conn_put(w, buf_data(&head), head.len);
    buf_wipe(&head);
    if (rc == 0 && request->body_len > 0)
        rc = client_conn_put(w, request->body, request->body_len);
    return rc;
}

static int send_request(struct client_conn *w, const struct daemon_address *p,
                        const struct fetch_request *request)
{
    int rc = queue_request(w, p, request);

    /* A daemon that rejects early may have closed its side; its response can still be read. */
    if (rc == 0)
        rc = client_conn_flush_all(w, SEND_MS);
    return rc == -EPIPE || rc == -ECONNRESET ? 0 : rc;
}

int fetch_event(struct fetch_stream *s, int timeout_ms)
{
    struct client_conn *w = &s->wire;
    uint64_t end = timeout_ms < 0 ? UINT64_MAX : clock_mono_ms() + (uint64_t)timeout_ms;

    buf_drop(&w->in, s->taken);
    s->taken = 0;
    for (;;) {
        enum http1_event e =
            http1_feed(&s->response, w->in.len > 0 ? buf_data(&w->in) : "", w->in.len, &s->taken);
        int rc;

        if (e != HTTP1_MORE)
            return (int)e;
        buf_drop(&w->in, s->taken);
        s->taken = 0;
        rc = client_conn_receive(w);
        if (rc == -EAGAIN && (rc = client_conn_wait_until(w, POLLIN, end)) == 0)
            continue;
        if (rc == -ETIMEDOUT)
            return rc;
        if (rc <= 0)
            return http1_finish(&s->response) ? HTTP1_DONE : rc < 0 ? rc : -ECONNRESET;
    }
}

static int no_response(const struct daemon_address *p, int rc, struct hf_error *err)
{
    hf_fail(err, HF_E_bad_value, "%s %s: %s; is it a holdfast daemon, and is it running?", p->url,
            rc == HTTP1_ERROR ? "did not send an HTTP response" : "did not respond",
            rc < 0 ? strerror(-rc) : "bad response");
    return rc < 0 ? rc : -EPROTO;
}

void fetch_expect(struct http1 *response, bool to_head)
{
    static const struct http1_limits limits = {LIMIT_HEADER_BYTES, LIMIT_HEADER_COUNT, 0};

    http1_init_response(response, &limits, to_head);
}

/* The head of the response, or an error and nothing to close. */
static int read_head(struct fetch_stream *s, const struct daemon_address *p, int rc,
                     struct hf_error *err)
{
    if (rc == 0)
        rc = fetch_event(s, -1);
    if (rc == HTTP1_HEAD)
        return s->response.status;
    rc = no_response(p, rc, err);
    fetch_close(s);
    return rc;
}

static int dial(struct fetch_stream *s, const struct daemon_address *p,
                const struct fetch_request *request, struct hf_error *err)
{
    *s = (struct fetch_stream){.wire.fd = -1};
    fetch_expect(&s->response, strcmp(request->method, "HEAD") == 0);
    return client_conn_open(&s->wire, p, FETCH_DIAL_MS, err);
}

int fetch_queue(struct fetch_stream *s, const struct daemon_address *p,
                const struct fetch_request *request, struct hf_error *err)
{
    int rc = dial(s, p, request, err);

    if (rc < 0)
        return rc;
    rc = queue_request(&s->wire, p, request);
    if (rc < 0) {
        rc = no_response(p, rc, err);
        fetch_close(s);
    }
    return rc;
}

int fetch_open(struct fetch_stream *s, const struct daemon_address *p,
               const struct fetch_request *request, struct hf_error *err)
{
    int rc = dial(s, p, request, err);

    if (rc < 0)
        return rc;
    return read_head(s, p, send_request(&s->wire, p, request), err);
}

/* --- a body in pieces -------------------------------------------------------------------- */

int fetch_send_open(struct fetch_stream *s, const struct daemon_address *p,
                    const struct fetch_request *request, struct hf_error *err)
{
    struct buf head = {0};
    int rc;

    *s = (struct fetch_stream){.wire.fd = -1};
    fetch_expect(&s->response, false);
    rc = client_conn_open(&s->wire, p, FETCH_DIAL_MS, err);
    if (rc < 0)
        return rc;
    fetch_write_head(&head, p, request);
    buf_printf(&head, "Connection: close\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
               request->type != NULL ? request->type : "application/octet-stream");
    rc = client_conn_put(&s->wire, buf_data(&head), head.len);
    buf_wipe(&head);
    if (rc < 0) {
        rc = no_response(p, rc, err);
        fetch_close(s);
    }
    return rc;
}

/* A daemon that refuses the body sends its response and reads no more. */
static int flush_unless_answered(struct client_conn *w)
{
    int rc;

    while ((rc = client_conn_flush(w)) == -EAGAIN) {
        rc = client_conn_wait(w, POLLIN | POLLOUT, SEND_MS);
        if (rc < 0)
            return rc;
        rc = client_conn_receive(w);
        if (w->in.len > 0 || (rc <= 0 && rc != -EAGAIN))
            return -EPIPE;
    }
    return rc == -ECONNRESET ? -EPIPE : rc;
}

int fetch_send(struct fetch_stream *s, const void *bytes, size_t len)
{
    char size[24];
    int n = snprintf(size, sizeof size, "%zx\r\n", len);
    int rc = client_conn_put(&s->wire, size, (size_t)n);

    if (rc == 0)
        rc = client_conn_put(&s->wire, bytes, len);
    if (rc == 0)
        rc = client_conn_put(&s->wire, "\r\n", 2);
    return rc == 0 ? flush_unless_answered(&s->wire) : rc;
}

int fetch_send_end(struct fetch_stream *s, const struct daemon_address *p, bool complete,
                   struct hf_error *err)
{
    int rc = complete ? client_conn_put(&s->wire, "0\r\n\r\n", 5) : 0;

    if (rc == 0 && complete)
        rc = flush_unless_answered(&s->wire);
    return read_head(s, p, rc == -EPIPE ? 0 : rc, err);
}

/* ------------------------------------------------------------------------------------------ */

ssize_t fetch_next(struct fetch_stream *s, const char **piece, int timeout_ms)
{
    int rc = fetch_event(s, timeout_ms);

    if (rc == HTTP1_DONE)
        return 0;
    if (rc != HTTP1_BODY)
        return rc < 0 ? rc : -EPROTO;
    *piece = s->response.body;
    return (ssize_t)s->response.body_len;
}

void fetch_close(struct fetch_stream *s)
{
    client_conn_close(&s->wire);
    http1_fini(&s->response);
}

static json_t *parse_json(const struct http1 *response, const struct buf *body)
{
    size_t at = 0;
    const char *type = http1_header(response, "Content-Type", &at);

    if (type == NULL || strstr(type, "json") == NULL || body->len == 0)
        return NULL;
    return json_parse(buf_data(body), body->len, NULL);
}

int fetch_rest(struct fetch_stream *s, struct fetch_reply *out)
{
    const char *piece;
    ssize_t n;

    *out = (struct fetch_reply){.status = s->response.status};
    while ((n = fetch_next(s, &piece, -1)) > 0) {
        if (out->body.len + (size_t)n > LIMIT_CLIENT_REPLY_BYTES)
            return -EMSGSIZE;
        buf_put(&out->body, piece, (size_t)n);
    }
    out->json = parse_json(&s->response, &out->body);
    return (int)n;
}

int fetch_call(const struct daemon_address *p, const struct fetch_request *request,
               struct fetch_reply *out, struct hf_error *err)
{
    struct fetch_stream s;
    int rc = fetch_open(&s, p, request, err);

    *out = (struct fetch_reply){0};
    if (rc < 0)
        return rc;
    rc = fetch_rest(&s, out);
    fetch_close(&s);
    if (rc < 0) {
        fetch_reply_fini(out);
        return no_response(p, rc, err);
    }
    return 0;
}

void fetch_reply_fini(struct fetch_reply *r)
{
    json_free_secret(r->json);
    buf_wipe(&r->body);
    *r = (struct fetch_reply){0};
}
