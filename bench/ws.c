/* SPDX-License-Identifier: Apache-2.0 */
/* ws.c - the WebSocket half of the benchmark's client (see client_id.h) */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OP_CLOSE 8
#define OP_PING 9
#define OP_PONG 10

/* The header ends at the blank line and not a byte later: frames may follow. */
static void read_upgrade(struct ws *w, const char *path)
{
    char head[8192];
    size_t n = 0;

    while (n < sizeof(head) - 1) {
        if (recv(w->fd, head + n, 1, 0) != 1)
            die("no answer to the upgrade of %s", path);
        head[++n] = '\0';
        if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0)
            break;
    }
    if (strncmp(head, "HTTP/1.1 101", 12) != 0) {
        ssize_t more = recv(w->fd, head + n, sizeof(head) - 1 - n, MSG_DONTWAIT);

        head[more > 0 ? n + (size_t)more : n] = '\0';
        die("the upgrade of %s was refused:\n%s", path, head);
    }
}

void ws_open(struct ws *w, int port, const char *path, const char *token, const char *protocol)
{
    char request[2048];
    int n;

    memset(w, 0, sizeof(*w));
    w->first = true;
    w->fd = tcp_connect(port);
    n = snprintf(request, sizeof(request),
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: aG9sZGZhc3QgYmVuY2ghIQ==\r\n%s%s%s%s%s%s\r\n",
                 path, port, token ? "Authorization: Bearer " : "", token ? token : "",
                 token ? "\r\n" : "", protocol ? "Sec-WebSocket-Protocol: " : "",
                 protocol ? protocol : "", protocol ? "\r\n" : "");
    if (n < 0 || (size_t)n >= sizeof(request))
        die("upgrade request too long");
    fd_write_all(w->fd, request, (size_t)n);
    read_upgrade(w, path);
}

void ws_close(struct ws *w)
{
    close(w->fd);
    w->fd = -1;
}

void ws_send(struct ws *w, int opcode, const void *p, size_t n)
{
    static uint32_t key = 2463534242U;
    uint8_t frame[8 + 4096];
    size_t head = n < 126 ? 2 : 4;
    const uint8_t *bytes = p;

    if (n > 4096)
        die("ws_send: only short messages");
    key ^= key << 13, key ^= key >> 17, key ^= key << 5;
    frame[0] = (uint8_t)(0x80 | opcode);
    frame[1] = (uint8_t)(0x80 | (head == 2 ? n : 126));
    frame[2] = (uint8_t)(n >> 8); /* overwritten by the key when short */
    frame[3] = (uint8_t)n;
    memcpy(frame + head, &key, 4);
    for (size_t i = 0; i < n; i++)
        frame[head + 4 + i] = bytes[i] ^ frame[head + i % 4];
    fd_write_all(w->fd, frame, head + 4 + n);
}

/* How long the header is, as far as its first bytes tell. */
static unsigned head_need(const struct ws *w)
{
    uint8_t len;

    if (w->head_len < 2)
        return 2;
    len = w->head[1] & 0x7f;
    return len == 126 ? 4 : len == 127 ? 10 : 2;
}

static void head_done(struct ws *w)
{
    uint8_t len = w->head[1] & 0x7f;
    unsigned wide = len == 126 ? 2 : len == 127 ? 8 : 0;

    if (w->head[1] & 0x80)
        die("the server sent a masked frame");
    w->left = wide ? 0 : len;
    for (unsigned i = 0; i < wide; i++)
        w->left = w->left << 8 | w->head[2 + i];
    w->frame_op = w->head[0] & 0x0f;
    if (w->frame_op == WS_TEXT || w->frame_op == WS_BINARY)
        w->opcode = w->frame_op;
    if (w->frame_op != 0)
        w->note_len = 0;
}

static void note_take(struct ws *w, const uint8_t *p, size_t n)
{
    size_t room = sizeof(w->note) - 1 - w->note_len;

    if (n > room)
        n = room;
    memcpy(w->note + w->note_len, p, n);
    w->note_len += n;
    w->note[w->note_len] = '\0';
}

static void frame_done(struct ws *w)
{
    bool fin = w->head[0] & 0x80;

    w->head_len = 0;
    if (w->frame_op == OP_PING)
        ws_send(w, OP_PONG, w->note, w->note_len);
    else if (w->frame_op == OP_CLOSE)
        w->closed = true;
    else if (fin && w->opcode == WS_TEXT && strstr(w->note, "\"gap\"") != NULL)
        w->gaps++;
    if (w->frame_op < OP_CLOSE && fin)
        w->first = true;
}

static size_t feed_payload(struct ws *w, const uint8_t *p, size_t n, ws_sink sink, void *arg)
{
    bool data = w->frame_op < OP_CLOSE && w->opcode == WS_BINARY;

    if (n > w->left)
        n = (size_t)w->left;
    if (!data) {
        note_take(w, p, n);
    } else if (n > 0) {
        sink(arg, p, n, w->first);
        w->first = false;
    }
    w->left -= n;
    return n;
}

static size_t feed(struct ws *w, const uint8_t *p, size_t n, ws_sink sink, void *arg)
{
    size_t given = 0;

    while (n > 0) {
        size_t took = 1;

        if (w->head_len < head_need(w)) {
            w->head[w->head_len++] = *p;
            if (w->head_len == head_need(w))
                head_done(w);
        } else {
            took = feed_payload(w, p, n, sink, arg);
            if (w->frame_op < OP_CLOSE && w->opcode == WS_BINARY)
                given += took;
        }
        if (w->head_len == head_need(w) && w->left == 0)
            frame_done(w);
        p += took;
        n -= took;
    }
    return given;
}

ssize_t ws_pump(struct ws *w, int flags, ws_sink sink, void *arg)
{
    static uint8_t buf[CLIENT_BYTES];
    ssize_t n;

    if (w->closed)
        return -1;
    n = recv(w->fd, buf, sizeof(buf), flags);
    if (n < 0 && errno == EAGAIN && (flags & MSG_DONTWAIT))
        return 0;
    if (n < 0 && errno == EAGAIN)
        die("nothing came from the server for too long");
    if (n <= 0)
        return -1;
    return (ssize_t)feed(w, buf, (size_t)n, sink, arg);
}
