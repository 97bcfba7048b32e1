/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_ws.h - the client's side of a WebSocket
 *
 * The handshake blocks; after it the caller polls, and reads messages with client_ws_next().
 * Layer: cli.
 */
#ifndef HF_CLI_CLIENT_CLIENT_WS_H
#define HF_CLI_CLIENT_CLIENT_WS_H

#include "cli/client/client_fetch.h"
#include "transport/ws_codec.h"

struct client_ws {
    struct client_conn wire;
    struct ws_decoder decoder;
    struct buf text; /* of a text message that is not complete */
    size_t taken;    /* bytes of wire.in used by the last event */
    bool closing;    /* a close frame was sent or received */
};

enum wsock_event {
    WSOCK_MORE,   /* nothing complete; read more */
    WSOCK_BYTES,  /* a piece of a binary message */
    WSOCK_TEXT,   /* a whole text message */
    WSOCK_CLOSED, /* the peer's close frame: code, and bytes is the reason */
    WSOCK_BROKEN, /* protocol error; close the connection */
};
struct wsock_item {
    const char *bytes;
    size_t len;
    int code;
};

/* 0; -EPROTO and *refusal (status > 0) if the daemon sent another response; -errno and err. */
int client_ws_open(struct client_ws *ws, const struct daemon_address *p, const char *path,
                   int timeout_ms, struct fetch_reply *refusal, struct hf_error *err);
void client_ws_close(struct client_ws *ws);
/* Answers pings itself. The item is valid until the next call. */
enum wsock_event client_ws_next(struct client_ws *ws, struct wsock_item *out);
/* Queues one masked frame. */
int client_ws_send(struct client_ws *ws, int opcode, const void *bytes, size_t len);
void client_ws_send_close(struct client_ws *ws, int code);

#endif
