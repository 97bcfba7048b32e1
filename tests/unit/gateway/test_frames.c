/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_frames.c - where the frames of a tunnelled WebSocket begin
 */
#include "test.h"

#include "gateway/frames.h"

/* Where the bytes stand after each of them: '.' inside of a frame, '|' between two. */
static const char *standing(const char *bytes, size_t len)
{
    static char text[64];
    struct frames f = {0};

    for (size_t i = 0; i < len; i++) {
        frames_follow(&f, bytes + i, 1, false);
        text[i] = frames_is_between(&f) ? '|' : '.';
    }
    text[len] = '\0';
    return text;
}

TEST(frames_are_followed_byte_by_byte)
{
    EXPECT_STR(standing("\x82\x03"
                        "abc"
                        "\x81\x00"
                        "\x89\x01x",
                        10),
               "....|.|..|");
    EXPECT_STR(standing("\x82\x7e\x00\x02"
                        "ab",
                        6),
               ".....|");
    EXPECT_STR(standing("\x82\x7f\0\0\0\0\0\0\0\1"
                        "a\x82",
                        12),
               "..........|.");
    EXPECT_STR(standing("\x82\x81mask"
                        "a",
                        7),
               "......|");
}

TEST(frames_stop_at_the_end_of_the_first)
{
    struct frames f = {0};

    EXPECT_U64(frames_follow(&f, "\x82\x02xy\x82\x02zz", 8, true), 4);
    EXPECT(frames_is_between(&f) && !f.closed);
    EXPECT_U64(frames_follow(&f, "\x82\x02z", 3, true), 3);
    EXPECT(!frames_is_between(&f));
    EXPECT_U64(frames_follow(&f, "z\x88", 2, false), 2);
    EXPECT(!f.closed);
    EXPECT_U64(frames_follow(&f, "\0", 1, false), 1);
    EXPECT(f.closed && frames_is_between(&f));
}

TEST(frames_are_measured_with_their_header)
{
    struct frames f = {0};
    const char large[] = "\x82\x7f\0\0\0\0\0\1\0\0";

    EXPECT_U64(frames_measure("\x82", 1), 0);
    EXPECT_U64(frames_measure("\x82\x7e\1", 3), 0);
    EXPECT_U64(frames_measure("\x82\x7e\1\1", 4), 4 + 257);
    EXPECT_U64(frames_measure(large, 10), 10 + 65536);
    frames_begin(&f, large, 10 + 65536);
    frames_pass(&f, 65540);
    EXPECT(!frames_is_between(&f));
    frames_pass(&f, 6);
    EXPECT(frames_is_between(&f));
}
