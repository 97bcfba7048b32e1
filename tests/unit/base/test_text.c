/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_text.c - UTF-8, base64, base32, hex, numbers in text
 */
#include "base/text.h"

#include "test.h"

#define VALID(s) utf8_is_valid((s), sizeof(s) - 1)

TEST(what_utf8_allows_is_taken)
{
    EXPECT(VALID(""));
    EXPECT(VALID("plain"));
    EXPECT(VALID("\0"));
    EXPECT(VALID("\xc2\x80\xdf\xbf"));
    EXPECT(VALID("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
    EXPECT(VALID("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
    EXPECT(VALID("more than eight bytes, then \xe2\x82\xac and more than eight again"));
}

TEST(what_utf8_forbids_is_refused)
{
    EXPECT(!VALID("\x80"));
    EXPECT(!VALID("\xc0\xaf"));         /* overlong */
    EXPECT(!VALID("\xc1\xbf"));         /* overlong */
    EXPECT(!VALID("\xe0\x9f\xbf"));     /* overlong */
    EXPECT(!VALID("\xf0\x8f\xbf\xbf")); /* overlong */
    EXPECT(!VALID("\xed\xa0\x80"));     /* surrogate */
    EXPECT(!VALID("\xf4\x90\x80\x80")); /* above U+10FFFF */
    EXPECT(!VALID("\xf5\x80\x80\x80"));
    EXPECT(!VALID("\xff"));
    EXPECT(!VALID("\xe2\x82"));     /* open at the end */
    EXPECT(!VALID("\xe2\x28\xa1")); /* second byte is no continuation */
    EXPECT(!VALID("abcdefghijk\xc3"));
}

/* The check of every character, one byte at a time, must agree with its encoding. */
TEST(every_character_passes_in_pieces)
{
    for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x3000 ? 1 : 97) {
        struct utf8_check check = {0};
        uint8_t b[4];
        size_t n;

        if (c < 0x80) {
            b[0] = (uint8_t)c;
            n = 1;
        } else if (c < 0x800) {
            b[0] = (uint8_t)(0xc0 | c >> 6);
            b[1] = (uint8_t)(0x80 | (c & 63));
            n = 2;
        } else if (c < 0x10000) {
            b[0] = (uint8_t)(0xe0 | c >> 12);
            b[1] = (uint8_t)(0x80 | (c >> 6 & 63));
            b[2] = (uint8_t)(0x80 | (c & 63));
            n = 3;
        } else {
            b[0] = (uint8_t)(0xf0 | c >> 18);
            b[1] = (uint8_t)(0x80 | (c >> 12 & 63));
            b[2] = (uint8_t)(0x80 | (c >> 6 & 63));
            b[3] = (uint8_t)(0x80 | (c & 63));
            n = 4;
        }
        if (c >= 0xd800 && c < 0xe000) {
            EXPECT(!utf8_is_valid(b, n));
            EXPECT_U64(utf8_char_len(b, n), 0);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            EXPECT(utf8_check_feed(&check, b + i, 1));
            EXPECT_INT(utf8_check_done(&check), i == n - 1);
            EXPECT_U64(utf8_open_tail(b, i + 1), i == n - 1 ? 0 : i + 1);
        }
        EXPECT_U64(utf8_char_len(b, n), n);
        EXPECT_U64(utf8_char_len(b, n - 1), 0);
    }
}

TEST(an_open_tail_is_found_only_where_one_is)
{
    EXPECT_U64(utf8_open_tail("", 0), 0);
    EXPECT_U64(utf8_open_tail("abc", 3), 0);
    EXPECT_U64(utf8_open_tail("ab\xe2", 3), 1);
    EXPECT_U64(utf8_open_tail("ab\xf0\x9f\x98", 5), 3);
    EXPECT_U64(utf8_open_tail("ab\xf0\x9f\x98\x80", 6), 0);
    EXPECT_U64(utf8_open_tail("\x80\x80\x80", 3), 0);
    EXPECT_U64(utf8_open_tail("\xed\xa0", 2), 0); /* cannot become valid */
    EXPECT_U64(utf8_open_tail("\xff", 1), 0);
}

static bool decodes(const char *text, const char *want)
{
    struct buf b = {0};
    bool ok = base64_decode(&b, text, strlen(text));

    ok = ok && b.len == strlen(want) && (b.len == 0 || memcmp(buf_data(&b), want, b.len) == 0);
    buf_fini(&b);
    return ok;
}

static bool refuses(const char *text)
{
    struct buf b = {0};
    bool ok;

    buf_puts(&b, "kept");
    ok = !base64_decode(&b, text, strlen(text)) && strcmp(buf_cstr(&b), "kept") == 0;
    buf_fini(&b);
    return ok;
}

TEST(base64_of_every_length_goes_round)
{
    uint8_t bytes[100];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 151 + 7);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        struct buf text = {0}, back = {0};

        base64_encode(&text, bytes, len);
        EXPECT_U64(text.len, (len + 2) / 3 * 4);
        EXPECT(base64_decode(&back, buf_data(&text), text.len));
        EXPECT_MEM(buf_data(&back), back.len, bytes, len);
        buf_fini(&text);
        buf_fini(&back);
    }
}

TEST(base64_comes_in_two_alphabets)
{
    EXPECT(decodes("", ""));
    EXPECT(decodes("Zg==", "f"));
    EXPECT(decodes("Zm8=", "fo"));
    EXPECT(decodes("Zm9v", "foo"));
    EXPECT(decodes("Zg", "f"));
    EXPECT(decodes("Zm8", "fo"));
    EXPECT(decodes("+/+/", "\xfb\xff\xbf"));
    EXPECT(decodes("-_-_", "\xfb\xff\xbf"));
    EXPECT(decodes("-_8", "\xfb\xff"));
    EXPECT(decodes("+/8=", "\xfb\xff"));
}

TEST(base64_that_is_neither_is_refused)
{
    EXPECT(refuses("Z"));
    EXPECT(refuses("Zm9vZ"));
    EXPECT(refuses("Zg="));
    EXPECT(refuses("Zg==="));
    EXPECT(refuses("===="));
    EXPECT(refuses("Zg==Zg=="));
    EXPECT(refuses("+_+_"));
    EXPECT(refuses("-_8="));
    EXPECT(refuses("+/8"));
    EXPECT(refuses("Zm 9v"));
    EXPECT(refuses("Zm9v\n"));
    EXPECT(refuses("Zh==")); /* bits left over */
    EXPECT(refuses("Zm\x80v"));
}

TEST(base32_and_hex_are_lower_case)
{
    char out[20];

    base32_encode(out, "foobar", 6);
    EXPECT_STR(out, "mzxw6ytboi");
    base32_encode(out, "f", 1);
    EXPECT_STR(out, "my");
    base32_encode(out, "", 0);
    EXPECT_STR(out, "");
    hex_encode(out, "\x00\xab\xff", 3);
    EXPECT_STR(out, "00abff");
}

TEST(percent_encoding_keeps_letters_digits_and_what_the_caller_names)
{
    struct buf out = {0};

    text_percent_encode(&out, "aZ09 ~/%\xc3\xa4\n", "~");
    EXPECT_STR(buf_cstr(&out), "aZ09%20~%2F%25%C3%A4%0A");
    buf_fini(&out);
}

TEST(numbers_are_whole_and_in_range)
{
    int64_t i = 77;
    uint64_t u = 77;

    EXPECT(text_to_i64("0", 0, 10, &i) && i == 0);
    EXPECT(text_to_i64("-5", -5, 10, &i) && i == -5);
    EXPECT(text_to_i64("9223372036854775807", 0, INT64_MAX, &i) && i == INT64_MAX);
    EXPECT(text_to_i64("-9223372036854775808", INT64_MIN, 0, &i) && i == INT64_MIN);
    EXPECT(text_to_u64("18446744073709551615", UINT64_MAX, &u) && u == UINT64_MAX);
    i = 77;
    u = 77;
    EXPECT(!text_to_i64("9223372036854775808", INT64_MIN, INT64_MAX, &i));
    EXPECT(!text_to_i64("-9223372036854775809", INT64_MIN, INT64_MAX, &i));
    EXPECT(!text_to_i64("11", 0, 10, &i));
    EXPECT(!text_to_i64("-1", 0, 10, &i));
    EXPECT(!text_to_i64("", 0, 10, &i));
    EXPECT(!text_to_i64("-", -1, 10, &i));
    EXPECT(!text_to_i64("+1", 0, 10, &i));
    EXPECT(!text_to_i64(" 1", 0, 10, &i));
    EXPECT(!text_to_i64("1 ", 0, 10, &i));
    EXPECT(!text_to_i64("--1", -5, 10, &i));
    EXPECT(!text_to_i64("0x1", 0, 10, &i));
    EXPECT(!text_to_u64("18446744073709551616", UINT64_MAX, &u));
    EXPECT(!text_to_u64("99999999999999999999", UINT64_MAX, &u));
    EXPECT(!text_to_u64("-1", UINT64_MAX, &u));
    EXPECT(!text_to_u64("11", 10, &u));
    EXPECT_INT(i, 77);
    EXPECT_U64(u, 77);
}

TEST(booleans_as_clients_of_all_languages_write_them)
{
    static const char *const yes[] = {"1",    "t", "T",   "true", "True",
                                      "TRUE", "y", "yes", "on",   "On"};
    static const char *const no[] = {"0", "f", "F", "false", "False", "FALSE", "n", "No", "off"};
    static const char *const neither[] = {"", "2", "-1", "truee", " true", "none", "null", "00"};
    size_t i;

    for (i = 0; i < sizeof yes / sizeof *yes; i++)
        EXPECT_INT(text_to_bool(yes[i]), 1);
    for (i = 0; i < sizeof no / sizeof *no; i++)
        EXPECT_INT(text_to_bool(no[i]), 0);
    for (i = 0; i < sizeof neither / sizeof *neither; i++)
        EXPECT_INT(text_to_bool(neither[i]), -1);
    EXPECT_INT(text_to_bool(NULL), -1);
}
