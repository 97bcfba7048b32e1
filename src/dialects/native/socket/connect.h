/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - a WebSocket on a process
 *
 * Binary frames are bytes, text frames are control messages. One of these per connection: the
 * console moves the bytes, and this has a few flags, and no queue. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_SOCKET_CONNECT_H
#define HF_DIALECTS_NATIVE_SOCKET_CONNECT_H

#include "dialects/common/console.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_decode.h"

#define CONNECT_PROTOCOL "holdfast.v1"
#define CONNECT_QUERY "since mode client name rows cols ack output raw terminal"

/* The decoded query of a connection; `client` and `name` are borrowed from the request. */
struct connect_request {
    struct since since;
    bool since_given;
    bool read_only, ack, raw;
    bool terminal; /* the client displays the bytes in a terminal */
    bool output;   /* false: for input only, without a viewer */
    const char *client, *name;
    int64_t rows, cols;
};
int connect_decode(const struct http_request *rq, struct connect_request *a, struct hf_error *err);

/* A link has ended: closes the connections that used it, with 4410. */
void connect_end_grant(struct native *n, const char *grant);

/* Attaches and replies to the request: 101 and hello, or an error. */
bool connect_open(struct http_request *rq, struct process *p, const struct connect_request *a);

struct connect {
    struct console *console;
    struct list link; /* of native.connects */
    struct native *native;
    struct process *process; /* the console's */
    char *grant;             /* the link that it used; NULL: none */
    struct task notify;      /* sends pending notices at the end of the turn */
    enum role role;          /* its role here: mode=ro makes a watcher */
    int8_t stream;           /* last one announced to the client; -1: none */
    bool has_client;
    bool raw;
    bool pty;
    /* Notices to send as soon as the socket has room; each at most once. */
    bool owes_size, owes_viewers, owes_title, owes_ack, owes_lease, owes_request;
    char size_by[48], request_by[48];
    char lease_why[16];
};

/* NULL once it is closing. */
static inline struct viewer *connect_viewer(const struct connect *c)
{
    return console_viewer(c->console);
}

/* connect_control.c: handles one text message of the client. */
void control_on_text(struct connect *c, const char *text, size_t len);

/* connect_send.c: begins, fills and sends a message. Nothing is sent in raw mode. */
struct json_out connect_message(struct connect *c, const char *type);
void connect_send(struct connect *c, struct json_out *o);
void connect_send_error(struct connect *c, const struct hf_error *err);
void connect_send_pong(struct connect *c);
void connect_send_hello(struct connect *c);
/* `by` may be NULL. A client that does not read is sent no more of them. */
void connect_send_notice(struct connect *c, const char *code, const char *detail, const char *by);
/* Reports what changed while the socket was full: once, with the current value. */
void connect_send_owed(struct connect *c);

#endif
