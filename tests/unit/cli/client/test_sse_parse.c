/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sse_parse.c - server-sent events, byte by byte
 */
#include "test.h"

#include "cli/client/sse_parse.h"

static void expect_text(struct buf *b, const char *want, int line)
{
    if (strcmp(buf_cstr(b), want) != 0) {
        test_fail_at(__FILE__, line);
        fprintf(stderr, "got \"%s\", not \"%s\"\n", buf_cstr(b), want);
    }
    buf_fini(b);
}
#define EXPECT_TEXT(b, want) expect_text((b), (want), __LINE__)

static void on_event(void *arg, const char *name, const char *data, const char *id)
{
    buf_printf(arg, "%s|%s|%s;", name, data, id);
}

TEST(server_sent_events)
{
    struct buf out = {0};
    struct sse_parse e = {.on_event = on_event, .arg = &out};
    const char *text = ": comment\n\nevent: a\nid: 1\ndata: x\ndata:  y\n\ndata\r\n\r\nid: 2\n\n";

    for (size_t i = 0; i < strlen(text); i++)
        sse_parse_feed(&e, text + i, 1);
    EXPECT_TEXT(&out, "a|x\n y|1;message||1;");
    sse_parse_fini(&e);
}
