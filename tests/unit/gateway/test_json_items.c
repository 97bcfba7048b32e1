/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_json_items.c - a long list, one element at a time
 */
#include "test.h"

#include "gateway/json_items.h"

static char seen[512];

static void on_item(void *arg, const char *bytes, size_t len)
{
    size_t n = strlen(seen);

    (void)arg;
    snprintf(seen + n, sizeof seen - n, "%.*s;", (int)len, bytes);
}

/* In pieces of `step` bytes. What is left is appended behind "|". */
static const char *split(const char *text, size_t step)
{
    struct json_items s = {.item_max = 16, .frame_max = 64, .on_item = on_item};
    size_t len = strlen(text), n;
    bool ok = true;

    seen[0] = '\0';
    for (size_t at = 0; ok && at < len; at += step)
        ok = json_items_feed(&s, text + at, at + step < len ? step : len - at);
    n = strlen(seen);
    if (ok) {
        const char *frame = json_items_frame(&s, &len);

        snprintf(seen + n, sizeof seen - n, "|%.*s|%zu", (int)len, frame, s.skipped);
    } else {
        snprintf(seen + n, sizeof seen - n, "|too large");
    }
    json_items_fini(&s);
    return seen;
}

TEST(elements_come_one_by_one_and_leave_a_zero_each)
{
    const char *text = "{\"m\": {\"c\": \"x\"}, \"items\": [{\"a\": [{}]}, {\"b\": 2}]}";

    for (size_t step = 1; step < 60; step++)
        EXPECT_STR(split(text, step),
                   "{\"a\": [{}]};{\"b\": 2};|{\"m\": {\"c\": \"x\"}, \"items\": [0, 0]}|0");
}

TEST(brackets_in_strings_are_text)
{
    const char *text = "{\"[{\\\"\": \"}\\\\\", \"i\": [{\"}\": \"\\\"]\"}]}";

    for (size_t step = 1; step < 40; step++)
        EXPECT_STR(split(text, step), "{\"}\": \"\\\"]\"};|{\"[{\\\"\": \"}\\\\\", \"i\": [0]}|0");
}

TEST(other_arrays_and_objects_stay_where_they_are)
{
    EXPECT_STR(split("{\"a\": [1, 2, [{}]], \"b\": {\"c\": {}}}", 7),
               "|{\"a\": [1, 2, [{}]], \"b\": {\"c\": {}}}|0");
    EXPECT_STR(split("", 1), "||0");
    EXPECT_STR(split("]]}}{", 1), "|]]}}{|0");
}

TEST(an_element_that_is_too_large_is_skipped_and_counted)
{
    EXPECT_STR(split("{\"i\": [{\"a\": 1}, {\"b\": \"0123456789abcdef\"}, {\"c\": 3}]}", 5),
               "{\"a\": 1};{\"c\": 3};|{\"i\": [0, 0, 0]}|1");
}

TEST(a_document_that_is_too_large_without_its_elements_is_refused)
{
    EXPECT_STR(
        split("{\"m\": \"0123456789012345678901234567890123456789012345678901234567890\"}", 9),
        "|too large");
}
