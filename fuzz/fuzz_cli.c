/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_cli.c - what a daemon, or whoever answers in its place, may send to the client
 *
 * Byte 0 chooses the parser, byte 1 how the rest is cut. Whole or in pieces, the
 * same must come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/detach_keys.h"
#include "cli/client/client_fetch.h"
#include "cli/client/client_print.h"
#include "cli/client/client_ws.h"
#include "cli/client/screen_guard.h"
#include "cli/client/sse_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            abort();                                                                               \
    } while (0)

typedef void parse_fn(struct buf *story, const char *bytes, size_t len, size_t cut);

static void parse_answer(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    struct http1 a;
    enum http1_event e = HTTP1_MORE;
    size_t at = 0;

    fetch_expect(&a, false);
    while (at < len && e != HTTP1_DONE && e != HTTP1_ERROR) {
        size_t n = len - at < cut ? len - at : cut, used;

        e = http1_feed(&a, bytes + at, n, &used);
        CHECK(used <= n);
        at += used;
        if (e == HTTP1_HEAD) {
            size_t from = 0;

            buf_printf(story, "head %d %s\n", a.status,
                       http1_header(&a, "Content-Type", &from) != NULL ? "typed" : "");
        } else if (e == HTTP1_BODY) {
            buf_put(story, a.body, a.body_len);
        }
    }
    buf_printf(story, "\nend %d\n",
               e == HTTP1_ERROR ? 0 : http1_finish(&a) || http1_is_complete(&a));
    http1_fini(&a);
}

static void on_event(void *arg, const char *name, const char *data, const char *id)
{
    buf_printf(arg, "%s|%s|%s\n", name, data, id);
}

static void parse_events(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    struct sse_parse e = {.on_event = on_event, .arg = story};

    for (size_t at = 0; at < len; at += cut)
        sse_parse_feed(&e, bytes + at, len - at < cut ? len - at : cut);
    sse_parse_fini(&e);
}

static void guard(struct buf *story, const char *bytes, size_t len, size_t cut, bool replaying)
{
    struct screen_guard g = {.replaying = replaying};

    for (size_t at = 0; at < len; at += cut)
        screen_guard_feed(&g, bytes + at, len - at < cut ? len - at : cut, story);
    CHECK(story->len + g.held_len <= len);
    CHECK(replaying || story->len + g.held_len == len); /* live, nothing is left out */
    CHECK(replaying || memcmp(buf_cstr(story), bytes, story->len) == 0);
    screen_guard_reset(&g, story);
}

static void parse_guard(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    guard(story, bytes, len, cut, false);
}

static void parse_guard_replay(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    guard(story, bytes, len, cut, true);
}

static void parse_keys(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    struct detach_keys d;
    bool found = false;

    CHECK(detach_keys_parse(&d, "a,a,b"));
    for (size_t at = 0; at < len && !found; at += cut)
        found = detach_keys_feed(&d, bytes + at, len - at < cut ? len - at : cut, story);
    CHECK(found || story->len + d.seen == len);
    CHECK(memmem(buf_cstr(story), story->len, "aab", 3) == NULL);
}

static void parse_frames(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    struct client_ws ws = {.wire.fd = -1, .decoder.from_server = true};
    enum wsock_event e = WSOCK_MORE;
    struct wsock_item item;

    for (size_t at = 0; at < len && e == WSOCK_MORE; at += cut) {
        buf_put(&ws.wire.in, bytes + at, len - at < cut ? len - at : cut);
        while ((e = client_ws_next(&ws, &item)) == WSOCK_BYTES || e == WSOCK_TEXT)
            buf_put(story, item.bytes, item.len);
    }
    buf_printf(story, "\nend %d\n", e);
    client_ws_close(&ws);
}

static void parse_format(struct buf *story, const char *bytes, size_t len, size_t cut)
{
    char *text = strndup(bytes, len);
    json_auto_t *o = json_pack("{s:s,s:{s:i}}", "id", "x", "output", "next", 7);

    (void)cut;
    if (print_format_check(text) == 0)
        print_format_write(story, text, o);
    print_plain(story, text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static parse_fn *const parsers[] = {parse_answer, parse_events, parse_guard, parse_guard_replay,
                                        parse_keys,   parse_frames, parse_format};
    struct buf whole = {0}, pieces = {0};
    parse_fn *parse;
    size_t cut;

    if (size < 3)
        return 0;
    parse = parsers[data[0] % (sizeof parsers / sizeof *parsers)];
    cut = data[1] % 16 + 1;
    parse(&whole, (const char *)data + 2, size - 2, size);
    parse(&pieces, (const char *)data + 2, size - 2, cut);
    CHECK(whole.len == pieces.len &&
          (whole.len == 0 || memcmp(buf_data(&whole), buf_data(&pieces), whole.len) == 0));
    buf_fini(&whole);
    buf_fini(&pieces);
    return 0;
}
