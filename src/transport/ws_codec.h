/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_codec.h - RFC 6455: decodes frames to pieces of messages, encodes frame headers
 *
 * The decoder works inside the caller's buffer: payload is unmasked in place and delivered as it
 * arrives, so a frame of any size needs no memory. Only headers and control frames must be
 * complete; when one is not, none of it is consumed and the caller keeps it (at most WS_KEEP_MAX
 * bytes) until more arrives.
 *
 * Pure: bytes in, pieces out. Owned by struct ws. Layer: transport; base only.
 */
#ifndef HF_TRANSPORT_WS_CODEC_H
#define HF_TRANSPORT_WS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_OP_MORE = 0, /* continuation of a message */
    WS_OP_TEXT = 1,
    WS_OP_BINARY = 2,
    WS_OP_CLOSE = 8,
    WS_OP_PING = 9,
    WS_OP_PONG = 10,
};
enum {
    WS_CODE_NORMAL = 1000,
    WS_CODE_GOING_AWAY = 1001,
    WS_CODE_PROTOCOL = 1002,
    WS_CODE_TYPE = 1003,
    WS_CODE_NONE = 1005,   /* a close frame without a code; never sent */
    WS_CODE_BROKEN = 1006, /* no close frame at all; never sent */
    WS_CODE_TEXT = 1007,
    WS_CODE_POLICY = 1008,
    WS_CODE_SIZE = 1009,
    WS_CODE_INTERNAL = 1011,
};

#define WS_HEADER_MAX 14 /* from a client, with its mask */
#define WS_CONTROL_MAX 125
#define WS_KEEP_MAX (WS_HEADER_MAX + WS_CONTROL_MAX)

struct ws_decoder {
    uint64_t left;      /* payload of the current data frame still to come */
    uint64_t frame_max; /* 0: no limit; longer frames are 1009 */
    /* Leading bytes of the next input that are already unmasked, returned earlier. */
    uint64_t clear;
    uint32_t mask;  /* rotated so that its first byte applies to the next masked byte */
    uint8_t opcode; /* of the current message; 0: none open */
    bool fin;       /* the current frame is its message's last */
    bool in_frame;
    bool fresh;       /* no piece of the message was delivered yet */
    bool deflated;    /* the message has RSV1 */
    bool may_deflate; /* permessage-deflate was negotiated */
    bool from_server; /* frames must be unmasked; otherwise masked */
};

enum ws_event {
    WS_EV_MORE,    /* needs more bytes; the rest is not consumed */
    WS_EV_DATA,    /* a piece of a text or binary message */
    WS_EV_CONTROL, /* a whole close, ping or pong */
    WS_EV_ERROR,   /* code is the close code to send */
};

struct ws_piece {
    char *bytes; /* unmasked, inside the caller's buffer */
    size_t len;
    uint8_t opcode; /* of the message, or of the control frame */
    bool first;     /* of its message */
    bool last;      /* of its message */
    bool deflated;
    uint16_t code; /* WS_EV_ERROR */
};

/* {0} with the two options set is a decoder at the start. Consumes *used of len bytes and returns
 * at the first event. */
enum ws_event ws_decode(struct ws_decoder *d, char *bytes, size_t len, size_t *used,
                        struct ws_piece *out);
/* The last n bytes of the piece just returned were not consumed: they come first in the next input,
 * and the caller passes them again as they are (unmasked). */
void ws_decode_untake(struct ws_decoder *d, const struct ws_piece *piece, size_t n);

/* Writes a server's frame header; returns its length (2, 4 or 10). */
#define WS_SEND_HEADER_MAX 10
size_t ws_encode_header(char *out, uint8_t opcode, bool fin, bool deflated, uint64_t len);

/* XORs in place, many bytes at a time. Returns the mask rotated by len. */
uint32_t ws_unmask(char *bytes, size_t len, uint32_t mask);

/* A close frame's payload: its code (WS_CODE_NONE when empty), or -1: invalid (1 byte, a code that
 * may not be sent, a reason that is not UTF-8). */
int ws_close_code(const char *payload, size_t len);
bool ws_code_is_sendable(int code);

#endif
