/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_frames.c - frames that nghttp2 would let through: of streams that were ended, and priorities
 */
#include "transport/h2_own.h"

#include "test.h"

static void put_frame(struct buf *b, int type, uint32_t id, const void *payload, size_t len)
{
    const uint8_t head[9] = {
        (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,       (uint8_t)type, 0,
        (uint8_t)(id >> 24),  (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};

    buf_put(b, head, sizeof head);
    buf_put(b, payload, len);
}

static void put_priority(struct buf *b, uint32_t id, uint32_t on)
{
    const uint8_t payload[5] = {(uint8_t)(on >> 24 | 0x80), (uint8_t)(on >> 16), (uint8_t)(on >> 8),
                                (uint8_t)on, 16};

    put_frame(b, NGHTTP2_PRIORITY, id, payload, sizeof payload);
}

/* The error that the frames behind a preface lead to, in pieces of `piece` bytes; they are freed. */
static uint32_t error_of(struct h2_frames *f, const struct buf *frames, size_t piece)
{
    struct buf all = {0};
    uint32_t error = NGHTTP2_NO_ERROR;

    buf_puts(&all, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    buf_put(&all, buf_data(frames), frames->len);
    for (size_t at = 0, end = 0; at < all.len && error == NGHTTP2_NO_ERROR;) {
        if (at == end)
            end = at + piece < all.len ? at + piece : all.len;
        at += h2_frames_step(f, (const uint8_t *)buf_data(&all) + at, end - at, &error);
        REQUIRE(at <= end);
    }
    buf_fini(&all);
    return error;
}

static void expect_error(struct buf *frames, int32_t closed, uint32_t error)
{
    for (size_t piece = 1; piece < frames->len + 30; piece++) {
        struct h2_frames f;

        h2_frames_init(&f);
        if (closed > 0)
            h2_frames_close(&f, closed);
        EXPECT_INT(error_of(&f, frames, piece), error);
    }
    buf_fini(frames);
}

TEST(what_a_peer_may_send_is_let_through)
{
    struct buf b = {0};

    put_frame(&b, NGHTTP2_SETTINGS, 0, "", 0);
    put_frame(&b, NGHTTP2_HEADERS, 1, "abcdef", 6);
    put_frame(&b, NGHTTP2_DATA, 1, "0123456789012345678901234567890", 31);
    put_priority(&b, 1, 3);
    put_frame(&b, NGHTTP2_PRIORITY, 1, "abc", 3); /* of a wrong length: nghttp2's to refuse */
    put_frame(&b, NGHTTP2_RST_STREAM, 1, "\0\0\0\x08", 4);
    put_frame(&b, NGHTTP2_WINDOW_UPDATE, 1, "\0\0\0\x08", 4);
    put_priority(&b, 1, 0);
    expect_error(&b, 0, NGHTTP2_NO_ERROR);
}

TEST(a_stream_that_its_peer_has_ended_takes_no_more)
{
    struct buf b = {0};

    put_frame(&b, NGHTTP2_RST_STREAM, 3, "\0\0\0\x08", 4);
    put_frame(&b, NGHTTP2_DATA, 3, "x", 1);
    expect_error(&b, 0, NGHTTP2_STREAM_CLOSED);
    put_frame(&b, NGHTTP2_RST_STREAM, 3, "\0\0\0\x08", 4);
    put_frame(&b, NGHTTP2_HEADERS, 3, "x", 1);
    expect_error(&b, 0, NGHTTP2_STREAM_CLOSED);
    put_frame(&b, NGHTTP2_HEADERS, 9, "", 0);
    expect_error(&b, 9, NGHTTP2_STREAM_CLOSED);
    put_frame(&b, NGHTTP2_HEADERS, 11, "", 0);
    expect_error(&b, 9, NGHTTP2_NO_ERROR);
}

TEST(the_last_ends_are_remembered)
{
    struct h2_frames f;
    struct buf b = {0};

    put_frame(&b, NGHTTP2_DATA, 1, "x", 1);
    h2_frames_init(&f);
    h2_frames_close(&f, 1);
    for (int i = 1; i < LIMIT_H2_CLOSED; i++)
        h2_frames_close(&f, 1 + 2 * i);
    EXPECT_INT(error_of(&f, &b, 100), NGHTTP2_STREAM_CLOSED);
    h2_frames_init(&f);
    h2_frames_close(&f, 1);
    for (int i = 1; i <= LIMIT_H2_CLOSED; i++)
        h2_frames_close(&f, 1 + 2 * i);
    EXPECT_INT(error_of(&f, &b, 100), NGHTTP2_NO_ERROR);
    buf_fini(&b);
}

TEST(priorities_that_mean_nothing_are_errors)
{
    struct buf b = {0};

    put_priority(&b, 0, 1);
    expect_error(&b, 0, NGHTTP2_PROTOCOL_ERROR);
    put_priority(&b, 5, 5);
    expect_error(&b, 0, NGHTTP2_PROTOCOL_ERROR);
}
