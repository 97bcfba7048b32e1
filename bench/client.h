/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_id.h - the benchmark's own HTTP/1.1 and WebSocket client
 *
 * As small as it can be and still be a correct peer: one request in flight
 * per connection, masked client frames, pongs for pings. It copies no
 * payload: a sink sees the bytes where recv(2) put them.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include "common.h"

/* Read at once, whatever the way: more than anybody sends at once, so that the few bytes that
 * a frame has around it are no call and no wake-up of their own. */
#define CLIENT_BYTES (1024 * 1024)

struct http {
    int fd;
    size_t len;
    char buf[128 * 1024];
};

struct answer {
    int status;
    const char *body; /* in the connection's buffer, ends in NUL */
    size_t body_len;
};

struct http *http_new(int port);
void http_free(struct http *h);
/* Writes a whole request; returns its length. `body` may be NULL. */
size_t http_format(char *out, size_t size, const char *method, const char *path, int port,
                   const char *token, const char *body);
void http_send(struct http *h, const char *request, size_t len);
/* One recv(2); true when a whole answer is there. It is good until the next. */
bool http_pump(struct http *h, struct answer *a);
void http_wait(struct http *h, struct answer *a);

/* `start` is true for the first piece of a message. */
typedef void (*ws_sink)(void *arg, const uint8_t *p, size_t n, bool start);

struct ws {
    int fd;
    unsigned head_len;
    uint8_t head[10]; /* a server's header: it does not mask */
    uint8_t opcode;   /* of the message; continuations do not change it */
    uint8_t frame_op; /* of the frame */
    bool first;       /* no byte of this message was given out yet */
    bool closed;
    uint64_t left;   /* of the frame */
    size_t note_len; /* text or control payload collected so far */
    unsigned gaps;   /* text messages that spoke of a gap */
    char note[1024];
};

void ws_open(struct ws *w, int port, const char *path, const char *token, const char *protocol);
void ws_close(struct ws *w);
void ws_send(struct ws *w, int opcode, const void *p, size_t n);
/*
 * One recv(2) and all that is in it. Returns the payload bytes of binary
 * messages given to the sink, 0 when there was none, -1 at the end of the
 * connection. `flags` as for recv; with MSG_DONTWAIT nothing there is 0.
 */
ssize_t ws_pump(struct ws *w, int flags, ws_sink sink, void *arg);

#define WS_TEXT 1
#define WS_BINARY 2

#endif
