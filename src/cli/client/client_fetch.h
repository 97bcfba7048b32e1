/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_fetch.h - requests to the daemon, one connection each
 *
 * fetch_call() sends a request and reads the whole response; fetch_open() and fetch_next() read a
 * long one in pieces; fetch_send() writes a long body; fetch_queue() is for callers with a poll
 * loop. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_FETCH_H
#define HF_CLI_CLIENT_CLIENT_FETCH_H

#include <jansson.h>

#include "cli/client/client_conn.h"
#include "transport/http1.h"

#define FETCH_DIAL_MS 10000

struct fetch_request {
    const char *method, *path; /* path with its query, without the address's prefix */
    const void *body;          /* NULL: none */
    size_t body_len;
    const char *type;   /* of the body; NULL: application/json */
    const char *accept; /* NULL: anything */
    const char *header; /* more headers, "Name: value" with CR LF between them; NULL: none */
};

struct fetch_reply {
    int status;
    struct buf body;
    json_t *json; /* the body, if it is JSON */
};

struct fetch_stream {
    struct client_conn wire;
    struct http1 response;
    size_t taken; /* bytes of wire.in used by the last piece */
};

/* Prepares a parser for a response; to_head: of a HEAD request. */
void fetch_expect(struct http1 *response, bool to_head);
/* 0 for any response, whatever its status; else -errno and err. Free with fetch_reply_fini(). */
int fetch_call(const struct daemon_address *p, const struct fetch_request *request,
               struct fetch_reply *out, struct hf_error *err);
void fetch_reply_fini(struct fetch_reply *r);
/* For locals that start as {0}: freed at the end of the scope. */
#define fetch_autoreply __attribute__((cleanup(fetch_reply_fini)))

/* Reads the head of the response: returns its status, or -errno and err. */
int fetch_open(struct fetch_stream *s, const struct daemon_address *p,
               const struct fetch_request *request, struct hf_error *err);
/* Connects and queues the request without waiting for more: the caller flushes s->wire, and reads
 * the response with fetch_event() from its head on. 0, or -errno and err. */
int fetch_queue(struct fetch_stream *s, const struct daemon_address *p,
                const struct fetch_request *request, struct hf_error *err);
/* The next event of the response, reading as needed within timeout_ms (-1: forever); -ETIMEDOUT,
 * -errno. The end of the connection is HTTP1_DONE or -ECONNRESET. */
int fetch_event(struct fetch_stream *s, int timeout_ms);
/* The next piece of the body, valid until the next call: its length; 0: the end; -ETIMEDOUT;
 * -errno. */
ssize_t fetch_next(struct fetch_stream *s, const char **piece, int timeout_ms);
/*
 * A request whose body is sent in pieces, and whose response is read like any other. fetch_send()
 * returns 0, -EPIPE if the daemon accepts no more (its response may say why), or -errno. Closing
 * before fetch_send_end() shows the daemon that the body is not complete.
 */
int fetch_send_open(struct fetch_stream *s, const struct daemon_address *p,
                    const struct fetch_request *request, struct hf_error *err);
int fetch_send(struct fetch_stream *s, const void *bytes, size_t len);
/* Ends the body if it is `complete` and reads the head of the response, as fetch_open() does. */
int fetch_send_end(struct fetch_stream *s, const struct daemon_address *p, bool complete,
                   struct hf_error *err);
/* Reads the rest of the body into a reply. */
int fetch_rest(struct fetch_stream *s, struct fetch_reply *out);
void fetch_close(struct fetch_stream *s);
/* Writes the request line and headers, without the empty line that ends them. */
void fetch_write_head(struct buf *out, const struct daemon_address *p,
                      const struct fetch_request *request);
/* Appends the text percent-encoded, for a path segment or a query value. */
void fetch_escape(struct buf *out, const char *text);

#endif
