/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - tracks the position between WebSocket frames in a stream
 *
 * Layer: gateway.
 */
#include "gateway/frames.h"

#include <assert.h>

#include "transport/ws_codec.h"

static size_t length_bytes(const uint8_t *head)
{
    unsigned n = head[1] & 0x7f;

    return n == 127 ? 8 : n == 126 ? 2 : 0;
}

/* The length of the header that begins so; two bytes are needed to know. */
static size_t head_size(const uint8_t *head)
{
    return 2 + length_bytes(head) + ((head[1] & 0x80) != 0 ? 4 : 0);
}

static uint64_t payload_size(const uint8_t *head)
{
    size_t count = length_bytes(head);
    uint64_t n = count > 0 ? 0 : head[1] & 0x7f;

    for (size_t i = 0; i < count; i++)
        n = n << 8 | head[2 + i];
    return n & INT64_MAX; /* the highest bit may not be set; without it no sum here overflows */
}

static bool is_close(uint8_t first)
{
    return (first & 0x0f) == WS_OP_CLOSE;
}

static void take_head_byte(struct frames *f, char byte)
{
    f->head[f->have++] = (uint8_t)byte;
    if (f->have < 2 || f->have < head_size(f->head))
        return;
    f->left = payload_size(f->head);
    f->closed = f->closed || is_close(f->head[0]);
    f->have = 0;
}

size_t frames_follow(struct frames *f, const char *bytes, size_t len, bool to_end)
{
    size_t at = 0;

    while (at < len) {
        if (f->left > 0) {
            size_t n = f->left < len - at ? (size_t)f->left : len - at;

            f->left -= n;
            at += n;
        } else {
            take_head_byte(f, bytes[at++]);
        }
        if (to_end && frames_is_between(f))
            break;
    }
    return at;
}

uint64_t frames_measure(const char *bytes, size_t len)
{
    const uint8_t *head = (const uint8_t *)bytes;

    if (len < 2 || len < head_size(head))
        return 0;
    return head_size(head) + payload_size(head);
}

void frames_begin(struct frames *f, const char *bytes, uint64_t size)
{
    assert(frames_is_between(f));
    f->left = size;
    f->closed = f->closed || is_close((uint8_t)bytes[0]);
}

void frames_pass(struct frames *f, size_t n)
{
    assert(n <= f->left);
    f->left -= n;
}
