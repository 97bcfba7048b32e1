/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_frames.c - checks of a peer's frames that nghttp2 does not make
 *
 * We announce that we ignore the priorities of RFC 7540, so nghttp2 discards PRIORITY frames
 * unread; on stream 0, or when a stream depends on itself, they are errors nevertheless. nghttp2
 * also forgets a stream when it ends and ignores later frames for it. That is right for a stream
 * that we have reset, because the peer may not know yet. It is an error of a peer that continues
 * after its own end.
 *
 * Only the head of a frame is parsed. Pure. Layer: transport.
 */
#include "transport/h2_own.h"

#define HEAD_BYTES 9
#define DEPENDENCY_BYTES 4

void h2_frames_init(struct h2_frames *f)
{
    *f = (struct h2_frames){.skip = H2_PREFACE_BYTES};
}

static uint32_t id_at(const uint8_t *b)
{
    return ((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]) & 0x7fffffff;
}

static size_t payload_bytes(const struct h2_frames *f)
{
    return (size_t)f->head[0] << 16 | (size_t)f->head[1] << 8 | f->head[2];
}

/* How many of its first bytes are inspected. */
static size_t wanted(const struct h2_frames *f)
{
    if (f->have < HEAD_BYTES || f->head[3] != NGHTTP2_PRIORITY)
        return HEAD_BYTES;
    return payload_bytes(f) < DEPENDENCY_BYTES ? HEAD_BYTES : HEAD_BYTES + DEPENDENCY_BYTES;
}

void h2_frames_close(struct h2_frames *f, int32_t id)
{
    f->closed[f->closed_count++ % LIMIT_H2_CLOSED] = (uint32_t)id;
}

static bool is_closed(const struct h2_frames *f, uint32_t id)
{
    for (size_t i = 0; i < LIMIT_H2_CLOSED; i++) {
        if (f->closed[i] == id)
            return id != 0;
    }
    return false;
}

/* The error of the frame whose head has arrived. */
static uint32_t check(struct h2_frames *f)
{
    uint32_t id = id_at(f->head + 5);

    switch (f->head[3]) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA: return is_closed(f, id) ? NGHTTP2_STREAM_CLOSED : NGHTTP2_NO_ERROR;
    case NGHTTP2_RST_STREAM: h2_frames_close(f, (int32_t)id); return NGHTTP2_NO_ERROR;
    case NGHTTP2_PRIORITY:
        if (id == 0 || (f->have > HEAD_BYTES && id_at(f->head + HEAD_BYTES) == id))
            return NGHTTP2_PROTOCOL_ERROR;
        return NGHTTP2_NO_ERROR;
    default: return NGHTTP2_NO_ERROR;
    }
}

size_t h2_frames_step(struct h2_frames *f, const uint8_t *bytes, size_t len, uint32_t *error)
{
    size_t at = f->skip < len ? f->skip : len;

    *error = NGHTTP2_NO_ERROR;
    f->skip -= at;
    while (at < len && f->have < wanted(f))
        f->head[f->have++] = bytes[at++];
    if (f->have == wanted(f)) {
        *error = check(f);
        f->skip = HEAD_BYTES + payload_bytes(f) - f->have;
        f->have = 0;
    }
    return at;
}
