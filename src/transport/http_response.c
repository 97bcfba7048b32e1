/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_response.c - response heads, and responses of known length
 *
 * Head and body are sent in one sendmsg(). Layer: transport.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "transport/conn_own.h"
#include "transport/h2.h"
#include "transport/http_request.h"

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } rows[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].status == status)
            return rows[i].text;
    }
    return "Status";
}

/* --- headers ------------------------------------------------------------------------ */

static bool value_is_clean(const char *s)
{
    for (; *s != '\0'; s++) {
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    }
    return true;
}

/* Is this very line present already? Two callers may both add an Allow. */
static bool has_line(const struct buf *b, const char *name, const char *value)
{
    const char *s = buf_data(b), *end = s + b->len;
    size_t n = strlen(name), v = strlen(value);

    while (s < end) {
        const char *next = memchr(s, '\n', (size_t)(end - s));

        next = next == NULL ? end : next + 1;
        if ((size_t)(next - s) == n + v + 4 && strncasecmp(s, name, n) == 0 &&
            memcmp(s + n + 2, value, v) == 0)
            return true;
        s = next;
    }
    return false;
}

/* A value that would break out of its line can only be a mistake of ours or an attack. */
void http_add_header(struct http_request *rq, const char *name, const char *value)
{
    assert(!rq->replied);
    if (!value_is_clean(value)) {
        log_warn("header %s left out: its value has control characters", name);
        return;
    }
    if (rq->extra.len > 0 && has_line(&rq->extra, name, value))
        return;
    if (strcasecmp(name, "Cache-Control") == 0)
        rq->sets_cache = true;
    buf_puts(&rq->extra, name);
    buf_puts(&rq->extra, ": ");
    buf_puts(&rq->extra, value);
    buf_puts(&rq->extra, "\r\n");
}

/* --- the head ------------------------------------------------------------------------- */

bool request_keeps_connection(const struct http_request *rq)
{
    const struct http1 *p = &rq->parser;

    if (rq->close || p->failed || !p->keep_alive || rq->server->draining || conn_is_eof(rq->c))
        return false;
    if (rq->body_done)
        return true;
    /* A peer that waits for a 100 may or may not still send the body: we cannot know. */
    return !rq->expect && !p->chunked && p->length - p->seen <= REQUEST_DRAIN_BYTES;
}

static void put_connection(struct http_request *rq, struct buf *out)
{
    if (rq->close)
        buf_puts(out, "Connection: close\r\n");
    else if (!rq->parser.http11)
        buf_puts(out, "Connection: keep-alive\r\n");
}

static void put_length(struct buf *out, enum body_form form, int status, uint64_t length)
{
    char digits[24];

    if (form == BODY_CHUNKED) {
        buf_puts(out, "Transfer-Encoding: chunked\r\n");
    } else if (form == BODY_LENGTH && status >= 200 && status != 204 && status != 304) {
        int n = snprintf(digits, sizeof digits, "%llu\r\n", (unsigned long long)length);

        buf_puts(out, "Content-Length: ");
        buf_put(out, digits, (size_t)n);
    }
}

static void put_date_and_type(struct http_request *rq, struct buf *out, const char *type)
{
    buf_puts(out, "Date: ");
    buf_puts(out, server_date(rq->server));
    buf_puts(out, "\r\n");
    if (type != NULL) {
        buf_puts(out, "Content-Type: ");
        buf_puts(out, type);
        buf_puts(out, "\r\n");
    }
}

static void put_promises(const struct http_request *rq, struct buf *out)
{
    buf_puts(out, "X-Content-Type-Options: nosniff\r\n");
    if (!rq->sets_cache)
        buf_puts(out, "Cache-Control: no-store\r\n");
}

void response_put_fields(struct http_request *rq, struct buf *out, const char *type)
{
    put_date_and_type(rq, out, type);
    put_promises(rq, out);
}

struct buf *response_head(struct http_request *rq, int status, const char *type,
                          enum body_form form, uint64_t length)
{
    struct http_server *s = rq->server;
    struct buf *out = &s->head;
    char line[32];

    if (form == BODY_UNTIL_CLOSE || (form != BODY_UPGRADE && !request_keeps_connection(rq)))
        rq->close = true;
    /* A client that wanted another protocol cannot use this connection, and may wait for its
     * end. */
    if (rq->parser.upgrade && status >= 400)
        rq->close = true;
    buf_clear(out);
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    buf_puts(out, line);
    buf_puts(out, http_status_text(status));
    buf_puts(out, "\r\n");
    put_date_and_type(rq, out, type);
    put_length(out, form, status, length);
    if (form != BODY_UPGRADE) {
        put_connection(rq, out);
        put_promises(rq, out);
    }
    buf_put(out, buf_data(&rq->extra), rq->extra.len);
    buf_puts(out, "\r\n");
    s->stats.responses_by_class[status / 100 < 6 ? status / 100 : 0]++;
    return out;
}

void request_reply_begun(struct http_request *rq)
{
    assert(!rq->replied);
    rq->replied = true;
    rq->on_disconnect = NULL;
    rq->on_body = NULL;
    rq->body_waits = false;
}

void request_send_continue(struct http_request *rq)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec iov = {(void *)(uintptr_t)text, sizeof text - 1};

    if (!rq->expect)
        return;
    rq->expect = false;
    if (rq->h2 != NULL)
        h2_send_continue(rq->h2);
    else
        conn_send(rq->c, &iov, 1);
}

/* --- complete responses ----------------------------------------------------------------- */

/* Sends the head together with as much of the body as the socket accepts. */
static void send_lent(struct http_request *rq, const struct iovec *head)
{
    size_t taken = conn_send_lent(rq->c, head, rq->lent, rq->lent_len);

    rq->lent += taken;
    rq->lent_len -= taken;
}

void request_send_lent(struct http_request *rq)
{
    static char nothing[1];
    static const struct iovec none = {nothing, 0};

    while (rq->lent_len > 0 && !rq->c->blocked && !conn_is_ended(rq->c))
        send_lent(rq, &none);
}

static void reply_by_http1(struct http_request *rq, int status, const char *type, const void *body,
                           size_t len, bool lent)
{
    bool bare = status == 204 || status == 304;
    struct buf *head = response_head(rq, status, bare ? NULL : type, BODY_LENGTH, len);
    struct iovec iov[2] = {{buf_data(head), head->len}, {(void *)(uintptr_t)body, len}};
    bool has_body = !bare && len > 0 && rq->parser.method != HTTP_HEAD_M;

    request_reply_begun(rq);
    if (has_body && lent) {
        rq->lent = body;
        rq->lent_len = len;
        send_lent(rq, iov);
    } else {
        conn_send(rq->c, iov, has_body ? 2 : 1);
    }
    if (!rq->c->delivering)
        conn_resume(rq->c);
}

static void reply(struct http_request *rq, int status, const char *type, const void *body,
                  size_t len, bool lent)
{
    if (rq->c == NULL) { /* the peer disconnected, and the handler did not ask to be notified */
        request_reply_begun(rq);
        request_release(rq);
    } else if (rq->h2 != NULL) {
        h2_reply(rq, status, type, body, len, lent);
    } else {
        reply_by_http1(rq, status, type, body, len, lent);
    }
}

void http_reply(struct http_request *rq, int status, const char *type, const void *body, size_t len)
{
    reply(rq, status, type, body, len, false);
}

void http_reply_lent(struct http_request *rq, int status, const char *type, const void *body,
                     size_t len)
{
    reply(rq, status, type, body, len, true);
}

void http_reply_json(struct http_request *rq, int status, const struct buf *json)
{
    http_reply(rq, status, "application/json", buf_data(json), json->len);
}

void http_reply_empty(struct http_request *rq, int status)
{
    http_reply(rq, status, NULL, NULL, 0);
}

void http_reply_error(struct http_request *rq, const struct hf_error *err)
{
    if (rq->table != NULL)
        rq->table->error(rq, err);
    else
        http_reply(rq, hf_code_status(err->code), "text/plain", err->detail, strlen(err->detail));
}
