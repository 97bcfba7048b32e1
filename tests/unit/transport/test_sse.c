/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sse.c - one server-sent event as bytes
 */
#include "transport/sse.h"

#include "test.h"

static void expect_event(const char *event, const char *id, const char *data, const char *want)
{
    struct buf b = {0};

    sse_event(&b, event, id, data, strlen(data));
    EXPECT_STR(buf_cstr(&b), want);
    buf_fini(&b);
}

TEST(an_event_is_a_few_lines_and_an_empty_one)
{
    expect_event("exit", "42", "{}", "event: exit\nid: 42\ndata: {}\n\n");
    expect_event(NULL, NULL, "x", "data: x\n\n");
    expect_event(NULL, "7", "", "id: 7\ndata: \n\n");
}

/* A reader takes CR, LF and CRLF for the end of a line; all come back as LF. */
TEST(line_ends_inside_the_data_start_new_data_lines)
{
    expect_event(NULL, NULL, "a\nb", "data: a\ndata: b\n\n");
    expect_event(NULL, NULL, "a\r\nb\rc", "data: a\ndata: b\ndata: c\n\n");
    expect_event(NULL, NULL, "a\n", "data: a\ndata: \n\n");
    expect_event(NULL, NULL, "\n\n", "data: \ndata: \ndata: \n\n");
    expect_event(NULL, NULL, "a\r", "data: a\ndata: \n\n");
}

/* Whatever a name holds, it cannot start a field or an event of its own. */
TEST(names_cannot_break_out_of_their_line)
{
    expect_event("x\ndata: evil", "1\r\n\r\ndata: evil", "y", "event: x\nid: 1\ndata: y\n\n");
}
