/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_fetch.h - requests to the daemon, one connection each
 *
 * fetch_call() asks and has the whole answer; fetch_open() and fetch_next() take a
 * long one piece by piece. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_FETCH_H
#define HF_CLI_CLIENT_CLIENT_FETCH_H

#include <jansson.h>

#include "cli/client/client_conn.h"
#include "transport/http1.h"

#define FETCH_DIAL_MS 10000

struct fetch_ask {
    const char *method, *path; /* path with its query, without the place's prefix */
    const void *body;          /* NULL: none */
    size_t body_len;
    const char *type;   /* of the body; NULL: application/json */
    const char *accept; /* NULL: anything */
    const char *header; /* one more, "Name: value"; NULL: none */
};

struct fetch_reply {
    int status;
    struct buf body;
    json_t *json; /* the body, if it is JSON */
};

struct fetch_stream {
    struct client_conn wire;
    struct http1 answer;
    size_t taken; /* of wire.in by the last piece */
};

/* Prepares a parser for a daemon's response; to_head: to a HEAD request. */
void fetch_expect(struct http1 *answer, bool to_head);
/* 0 if there is an answer, whatever it says; else -errno and err. Free with fetch_reply_fini(). */
int fetch_call(const struct daemon_address *p, const struct fetch_ask *ask, struct fetch_reply *out,
               struct hf_error *err);
void fetch_reply_fini(struct fetch_reply *r);

/* Up to the end of the head: its status, or -errno and err. */
int fetch_open(struct fetch_stream *s, const struct daemon_address *p, const struct fetch_ask *ask,
               struct hf_error *err);
/* The next piece of the body, good until the next call: its length; 0: the end; -ETIMEDOUT; -errno. */
ssize_t fetch_next(struct fetch_stream *s, const char **piece, int timeout_ms);
/* All the rest of it, as a reply. */
int fetch_rest(struct fetch_stream *s, struct fetch_reply *out);
void fetch_close(struct fetch_stream *s);
/* Writes request line and headers up to, but without, the empty line. */
void fetch_write_head(struct buf *out, const struct daemon_address *p, const struct fetch_ask *ask);
/* Appends "%"-escaped, for a path segment or a query value. */
void fetch_escape(struct buf *out, const char *text);

#endif
