/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "dialects/common/http_range.h"

TEST(one_range_of_bytes_is_parsed)
{
    static const struct {
        const char *header;
        int64_t from, length;
    } rows[] = {
        {"bytes=0-0", 0, 1}, {"bytes=5-9", 5, 5},   {"bytes=5-", 5, -1},
        {"bytes=-7", -1, 7}, {"BYTES= 1-2 ", 1, 2}, {"bytes=0-9223372036854775807", 0, INT64_MAX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct http_range r = {0};

        EXPECT(http_range_parse(rows[i].header, &r));
        EXPECT_INT(r.from, rows[i].from);
        EXPECT_INT(r.length, rows[i].length);
    }
}

TEST(other_ranges_are_ignored)
{
    static const char *const headers[] = {
        NULL,
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=a-b",
        "bytes=1",
        "bytes=2-1",
        "bytes=1-2,3",
        "bytes=1-2 3",
        "lines=1-2",
        "bytes=+1-2",
        "bytes=1- 2",
        "bytes=--1",
        "bytes=1-2-3",
        "bytes=0x1-2",
        "bytes=1-99999999999999999999",
    };
    struct http_range r;

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        EXPECT(!http_range_parse(headers[i], &r));
}

TEST(entity_tags_are_found_in_lists)
{
    EXPECT(http_range_lists_tag("\"a\"", "a", false));
    EXPECT(http_range_lists_tag("\"x\", \"a\"", "a", false));
    EXPECT(http_range_lists_tag(" * ", "a", false));
    EXPECT(http_range_lists_tag("W/\"a\"", "a", true));
    EXPECT(!http_range_lists_tag("W/\"a\"", "a", false));
    EXPECT(!http_range_lists_tag("\"ab\"", "a", false));
    EXPECT(!http_range_lists_tag("a", "a", false));
    EXPECT(!http_range_lists_tag("\"a", "a", false));
    EXPECT(!http_range_lists_tag("", "a", false));
}

TEST(a_single_tag_loses_its_quotes)
{
    char tag[8];

    EXPECT(http_range_single_tag(" \"abc\" ", tag, sizeof tag));
    EXPECT_STR(tag, "abc");
    EXPECT(http_range_single_tag("*", tag, sizeof tag));
    EXPECT_STR(tag, "*");
    EXPECT(!http_range_single_tag("\"a\", \"b\"", tag, sizeof tag));
    EXPECT(!http_range_single_tag("W/\"a\"", tag, sizeof tag));
    EXPECT(!http_range_single_tag("\"\"", tag, sizeof tag));
    EXPECT(!http_range_single_tag("\"12345678\"", tag, sizeof tag));
}

TEST(dates_are_those_of_http)
{
    char text[HTTP_RANGE_DATE_BYTES];

    http_range_date(784111777000, text);
    EXPECT_STR(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    http_range_date(0, text);
    EXPECT_STR(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    http_range_date(-1, text);
    EXPECT_STR(text, "");
    http_range_date(INT64_MAX, text);
    EXPECT_STR(text, "");
}
