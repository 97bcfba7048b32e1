/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buf.c - a growable run of bytes
 */
#include "base/buf.h"

#include <errno.h>

#include "test.h"

TEST(an_empty_buffer_is_all_zero)
{
    struct buf b = {0};

    EXPECT(buf_data(&b) == NULL);
    buf_put(&b, NULL, 0);
    EXPECT_U64(b.len, 0);
    EXPECT_STR(buf_cstr(&b), "");
    buf_fini(&b);
    EXPECT(b.mem == NULL && b.cap == 0);
}

TEST(what_is_put_comes_out_in_order)
{
    struct buf b = {0};

    buf_put(&b, "ab\0c", 4);
    buf_puts(&b, "de");
    buf_putc(&b, 'f');
    buf_printf(&b, "-%d-%s", 42, "x");
    EXPECT_BYTES(buf_data(&b), b.len, "ab\0cdef-42-x");
    buf_fini(&b);
}

TEST(printf_longer_than_the_room_is_whole)
{
    struct buf b = {0};
    char text[5000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < 300; i++)
        buf_printf(&b, "%s%zu", text + sizeof text - 1 - i, i);
    buf_clear(&b);
    buf_printf(&b, "<%s>", text);
    EXPECT_U64(b.len, sizeof text - 1 + 2);
    EXPECT_INT(buf_data(&b)[b.len - 1], '>');
    buf_fini(&b);
}

TEST(a_quoted_word_is_one_to_a_shell)
{
    static const struct {
        const char *word, *quoted;
    } cases[] = {{"", "''"},
                 {"a b", "'a b'"},
                 {"it's", "'it'\\''s'"},
                 {"''", "''\\'''\\'''"},
                 {"it's $HOME `x` \"y\" \\ \n", "'it'\\''s $HOME `x` \"y\" \\ \n'"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = {0};

        buf_put_quoted(&b, cases[i].word);
        EXPECT_STR(buf_cstr(&b), cases[i].quoted);
        buf_fini(&b);
    }
}

TEST(the_front_is_dropped_without_moving_the_rest)
{
    struct buf b = {0};
    const char *before;

    buf_puts(&b, "headtail");
    before = buf_data(&b);
    buf_drop(&b, 4);
    EXPECT(buf_data(&b) == before + 4);
    EXPECT_STR(buf_cstr(&b), "tail");
    buf_drop(&b, 100);
    EXPECT_U64(b.len, 0);
    buf_fini(&b);
}

/* A queue that is filled and drained in turn must not grow for ever. */
TEST(a_queue_that_is_drained_stays_small)
{
    struct buf b = {0};
    char chunk[100];
    unsigned char in = 0, out = 0;

    for (int round = 0; round < 10000; round++) {
        for (size_t i = 0; i < sizeof chunk; i++)
            chunk[i] = (char)in++;
        buf_put(&b, chunk, sizeof chunk);
        while (b.len > 150) {
            EXPECT_INT((unsigned char)*buf_data(&b), out);
            buf_drop(&b, 1);
            out++;
        }
    }
    EXPECT(b.cap <= 1024);
    buf_fini(&b);
}

TEST(large_memory_is_given_back_when_empty)
{
    struct buf b = {0};

    for (int i = 0; i < 100000; i++)
        buf_putc(&b, 'x');
    buf_drop(&b, 100000);
    EXPECT(b.mem == NULL && b.cap == 0);
    buf_puts(&b, "small");
    buf_clear(&b);
    EXPECT(b.mem != NULL && b.len == 0);
    buf_fini(&b);
}

TEST(reserve_fails_for_absurd_sizes_and_keeps_the_bytes)
{
    struct buf b = {0};

    buf_puts(&b, "kept");
    EXPECT_INT(buf_reserve(&b, SIZE_MAX), -ENOMEM);
    EXPECT_INT(buf_reserve(&b, SIZE_MAX - 4), -ENOMEM);
    EXPECT_STR(buf_cstr(&b), "kept");
    EXPECT_INT(buf_reserve(&b, 70000), 0);
    EXPECT(b.cap - b.off - b.len >= 70000);
    buf_fini(&b);
}

TEST(reserve_after_a_drop_keeps_the_bytes)
{
    struct buf b = {0};

    buf_puts(&b, "0123456789");
    buf_drop(&b, 3);
    EXPECT_INT(buf_reserve(&b, 1000), 0);
    EXPECT_STR(buf_cstr(&b), "3456789");
    buf_fini(&b);
}

TEST(wipe_leaves_an_empty_buffer)
{
    struct buf b = {0};

    buf_puts(&b, "secret");
    buf_wipe(&b);
    EXPECT(b.mem == NULL && b.len == 0);
    buf_wipe(&b);
}

TEST(scrub_leaves_memory_without_what_was_in_it)
{
    struct buf b = {0};

    buf_puts(&b, "secret one");
    buf_drop(&b, 7);
    buf_scrub(&b);
    REQUIRE(b.mem != NULL);
    EXPECT_INT(b.len, 0);
    for (size_t i = 0; i < sizeof "secret one" - 1; i++)
        EXPECT_INT(b.mem[i], 0);
    REQUIRE(buf_reserve(&b, 1 << 20) == 0);
    buf_scrub(&b);
    EXPECT(b.mem == NULL);
}
