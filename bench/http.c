/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - the HTTP half of the benchmark's client (see client_id.h) */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct http *http_new(int port)
{
    struct http *h = malloc(sizeof(*h));

    if (h == NULL)
        die("out of memory");
    h->fd = tcp_connect(port);
    h->len = 0;
    return h;
}

void http_free(struct http *h)
{
    if (h != NULL)
        close(h->fd);
    free(h);
}

size_t http_format(char *out, size_t size, const char *method, const char *path, int port,
                   const char *token, const char *body)
{
    int n = snprintf(out, size,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                     "%sContent-Length: %zu\r\n\r\n%s",
                     method, path, port, token, body ? "Content-Type: application/json\r\n" : "",
                     body ? strlen(body) : 0, body ? body : "");

    if (n < 0 || (size_t)n >= size)
        die("request to %s is too long", path);
    return (size_t)n;
}

void http_send(struct http *h, const char *request, size_t len)
{
    h->len = 0;
    fd_write_all(h->fd, request, len);
}

/*
 * Joins the chunks in place. Returns the body's length, or -1 when the last
 * chunk is not there yet; then nothing was moved.
 */
static ssize_t chunks_join(char *body, size_t len, bool move)
{
    size_t at = 0;
    size_t out = 0;

    for (;;) {
        char *line_end = memmem(body + at, len - at, "\r\n", 2);
        size_t n;

        if (line_end == NULL)
            return -1;
        n = strtoul(body + at, NULL, 16);
        at = (size_t)(line_end - body) + 2;
        if (at + n + 2 > len)
            return -1;
        if (n == 0)
            return (ssize_t)out;
        if (move)
            memmove(body + out, body + at, n);
        out += n;
        at += n + 2;
    }
}

static bool answer_parse(struct http *h, struct answer *a)
{
    char *body = memmem(h->buf, h->len, "\r\n\r\n", 4);
    const char *length;
    ssize_t n;

    h->buf[h->len] = '\0';
    if (body == NULL)
        return false;
    *body = '\0'; /* the header ends here for the searches below */
    length = strcasestr(h->buf, "\ncontent-length:");
    if (length != NULL) {
        n = strtol(length + 16, NULL, 10);
    } else if (strcasestr(h->buf, "\ntransfer-encoding: chunked") != NULL) {
        n = chunks_join(body + 4, h->len - (size_t)(body + 4 - h->buf), false);
    } else {
        die("an answer without a length: %s", h->buf);
    }
    *body = '\r';
    if (n < 0 || h->len - (size_t)(body + 4 - h->buf) < (size_t)n)
        return false;
    if (length == NULL)
        chunks_join(body + 4, h->len - (size_t)(body + 4 - h->buf), true);
    a->status = atoi(h->buf + strlen("HTTP/1.1 "));
    a->body = body + 4;
    a->body_len = (size_t)n;
    body[4 + n] = '\0';
    return true;
}

bool http_pump(struct http *h, struct answer *a)
{
    ssize_t n = recv(h->fd, h->buf + h->len, sizeof(h->buf) - 1 - h->len, 0);

    if (n == 0)
        die("the server closed in the middle of an answer (%zu bytes of it)", h->len);
    if (n < 0)
        die("no answer: %s", errno == EAGAIN ? "timed out" : strerror(errno));
    h->len += (size_t)n;
    return answer_parse(h, a);
}

void http_wait(struct http *h, struct answer *a)
{
    while (!http_pump(h, a))
        ;
}
