/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ws_codec.c - RFC 6455: decodes frames to pieces of messages, encodes frame headers
 *
 * Layer: transport.
 */
#include "transport/ws_codec.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/text.h"

struct header {
    uint8_t opcode;
    bool fin, rsv1, rsv23, masked;
    uint64_t len;
    uint32_t mask; /* in the byte order of memory */
    size_t size;
};

/* 0: more bytes are needed. */
static size_t header_read(struct header *h, const char *bytes, size_t len)
{
    const uint8_t *p = (const uint8_t *)bytes;
    size_t at = 2;

    if (len < 2)
        return 0;
    h->fin = p[0] & 0x80;
    h->rsv1 = p[0] & 0x40;
    h->rsv23 = p[0] & 0x30;
    h->opcode = p[0] & 0x0f;
    h->masked = p[1] & 0x80;
    h->len = p[1] & 0x7f;
    h->size = at + (h->len == 126 ? 2 : h->len == 127 ? 8 : 0) + (h->masked ? 4 : 0);
    if (len < h->size)
        return 0;
    if (h->len >= 126) {
        size_t n = h->len == 126 ? 2 : 8;

        h->len = 0;
        for (size_t i = 0; i < n; i++)
            h->len = h->len << 8 | p[at++];
    }
    if (h->masked)
        memcpy(&h->mask, p + at, 4);
    return h->size;
}

static bool is_control(const struct header *h)
{
    return h->opcode & 8;
}

/* The shortest form is required, and the top bit must be clear. */
static bool length_is_minimal(const struct header *h)
{
    size_t extra = h->size - 2 - (h->masked ? 4 : 0);

    if (extra == 2)
        return h->len >= 126;
    if (extra == 8)
        return h->len > UINT16_MAX && h->len <= INT64_MAX;
    return true;
}

/* 0, or the close code of the violation. */
static int header_check(const struct ws_decoder *d, const struct header *h)
{
    if (h->masked == d->from_server || h->rsv23 || !length_is_minimal(h))
        return WS_CODE_PROTOCOL;
    if (is_control(h)) {
        bool known = h->opcode >= WS_OP_CLOSE && h->opcode <= WS_OP_PONG;

        return known && h->fin && !h->rsv1 && h->len <= WS_CONTROL_MAX ? 0 : WS_CODE_PROTOCOL;
    }
    if (h->opcode > WS_OP_BINARY)
        return WS_CODE_PROTOCOL;
    if ((h->opcode == WS_OP_MORE) != (d->opcode != 0))
        return WS_CODE_PROTOCOL;
    if (h->rsv1 && (!d->may_deflate || h->opcode == WS_OP_MORE))
        return WS_CODE_PROTOCOL;
    if (d->frame_max > 0 && h->len > d->frame_max)
        return WS_CODE_SIZE;
    return 0;
}

static enum ws_event error_event(struct ws_piece *out, int code)
{
    *out = (struct ws_piece){.code = (uint16_t)code};
    return WS_EV_ERROR;
}

static enum ws_event control_event(const struct header *h, char *bytes, size_t len, size_t *used,
                                   struct ws_piece *out)
{
    if (len - h->size < h->len)
        return WS_EV_MORE;
    ws_unmask(bytes + h->size, (size_t)h->len, h->mask);
    *out = (struct ws_piece){
        .bytes = bytes + h->size,
        .len = (size_t)h->len,
        .opcode = h->opcode,
        .first = true,
        .last = true,
    };
    *used = h->size + (size_t)h->len;
    return WS_EV_CONTROL;
}

static void begin_frame(struct ws_decoder *d, const struct header *h)
{
    if (h->opcode != WS_OP_MORE) {
        d->opcode = h->opcode;
        d->deflated = h->rsv1;
        d->fresh = true;
    }
    d->fin = h->fin;
    d->left = h->len;
    d->mask = h->mask;
    d->in_frame = true;
}

/* Returns the available payload, unmasked; d moves past it. */
static enum ws_event data_event(struct ws_decoder *d, char *bytes, size_t len, size_t *used,
                                struct ws_piece *out)
{
    size_t n = d->left < len ? (size_t)d->left : len;
    size_t clear = d->clear < n ? (size_t)d->clear : n;

    if (n == 0 && d->left > 0)
        return WS_EV_MORE;
    d->mask = ws_unmask(bytes + clear, n - clear, d->mask);
    d->clear -= clear;
    d->left -= n;
    *used += n;
    *out = (struct ws_piece){
        .bytes = bytes,
        .len = n,
        .opcode = d->opcode,
        .first = d->fresh,
        .last = d->left == 0 && d->fin,
        .deflated = d->deflated,
    };
    d->fresh = false;
    if (d->left == 0)
        d->in_frame = false;
    if (out->last)
        d->opcode = 0;
    return WS_EV_DATA;
}

enum ws_event ws_decode(struct ws_decoder *d, char *bytes, size_t len, size_t *used,
                        struct ws_piece *out)
{
    struct header h = {0};
    int code;

    *used = 0;
    if (d->in_frame)
        return data_event(d, bytes, len, used, out);
    if (header_read(&h, bytes, len) == 0)
        return WS_EV_MORE;
    code = header_check(d, &h);
    if (code != 0)
        return error_event(out, code);
    if (is_control(&h))
        return control_event(&h, bytes, len, used, out);
    begin_frame(d, &h);
    *used = h.size;
    return data_event(d, bytes + h.size, len - h.size, used, out);
}

void ws_decode_untake(struct ws_decoder *d, const struct ws_piece *piece, size_t n)
{
    assert(n <= piece->len);
    if (n == 0)
        return;
    d->clear += n;
    d->left += n;
    d->in_frame = true;
    d->opcode = piece->opcode;
    d->fresh = piece->first && n == piece->len;
}

size_t ws_encode_header(char *out, uint8_t opcode, bool fin, bool deflated, uint64_t len)
{
    uint8_t *p = (uint8_t *)out;
    uint64_t be64 = htobe64(len);
    uint16_t be16 = htobe16((uint16_t)len);

    p[0] = (uint8_t)((fin ? 0x80 : 0) | (deflated ? 0x40 : 0) | opcode);
    if (len < 126) {
        p[1] = (uint8_t)len;
        return 2;
    }
    if (len <= UINT16_MAX) {
        p[1] = 126;
        memcpy(p + 2, &be16, 2);
        return 4;
    }
    p[1] = 127;
    memcpy(p + 2, &be64, 8);
    return 10;
}

/* The mask rotated by n bytes, whatever the byte order. */
static uint32_t mask_turn(uint32_t mask, size_t n)
{
    uint8_t from[4], to[4];

    memcpy(from, &mask, 4);
    for (size_t i = 0; i < 4; i++)
        to[i] = from[(i + n) % 4];
    memcpy(&mask, to, 4);
    return mask;
}

typedef uint32_t mask_vector __attribute__((vector_size(16)));
#define UNMASK_BLOCK (4 * sizeof(mask_vector))

/* Unmasks whole blocks; returns how many bytes that was. `bytes` is aligned to a vector. */
static size_t unmask_blocks(char *bytes, size_t len, uint32_t mask)
{
    mask_vector wide = {mask, mask, mask, mask};
    size_t i = 0;

    for (; len - i >= UNMASK_BLOCK; i += UNMASK_BLOCK) {
        mask_vector block[4];

        memcpy(block, bytes + i, sizeof block);
        for (int k = 0; k < 4; k++)
            block[k] ^= wide;
        memcpy(bytes + i, block, sizeof block);
    }
    return i;
}

static void unmask_bytes(char *bytes, size_t len, uint32_t mask)
{
    uint8_t key[4];

    memcpy(key, &mask, 4);
    for (size_t i = 0; i < len; i++)
        bytes[i] ^= (char)key[i % 4];
}

/* Byte by byte to an aligned address, then in blocks, then the remaining bytes. */
uint32_t ws_unmask(char *bytes, size_t len, uint32_t mask)
{
    size_t head = -(uintptr_t)bytes % sizeof(mask_vector);

    if (head > len)
        head = len;
    unmask_bytes(bytes, head, mask);
    mask = mask_turn(mask, head);
    bytes += head;
    len -= head;
    head = unmask_blocks(bytes, len, mask); /* a multiple of four: the mask stays */
    unmask_bytes(bytes + head, len - head, mask);
    return mask_turn(mask, len - head);
}

bool ws_code_is_sendable(int code)
{
    if (code >= 3000)
        return code <= 4999;
    return code >= 1000 && code <= 1014 && code != 1004 && code != WS_CODE_NONE &&
           code != WS_CODE_BROKEN;
}

int ws_close_code(const char *payload, size_t len)
{
    const uint8_t *p = (const uint8_t *)payload;
    int code;

    if (len == 0)
        return WS_CODE_NONE;
    if (len == 1)
        return -WS_CODE_PROTOCOL;
    code = p[0] << 8 | p[1];
    if (!ws_code_is_sendable(code))
        return -WS_CODE_PROTOCOL;
    return utf8_is_valid(payload + 2, len - 2) ? code : -WS_CODE_TEXT;
}
