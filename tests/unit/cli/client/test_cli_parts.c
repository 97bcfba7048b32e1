/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cli_parts.c - the pure parts of the client: keys, modes, input offsets, addresses, lines
 */
#include "base/detach_keys.h"
#include "cli/client/client_fetch.h"
#include "cli/client/client_print.h"
#include "cli/client/command.h"
#include "cli/client/daemon_address.h"
#include "cli/client/screen_guard.h"
#include "cli/client/sse_parse.h"
#include "cli/client/unsent_input.h"

#include "test.h"

static void expect_text(struct buf *b, const char *want, int line)
{
    if (strcmp(buf_cstr(b), want) != 0) {
        test_fail_at(__FILE__, line);
        fprintf(stderr, "got \"%s\", not \"%s\"\n", buf_cstr(b), want);
    }
    buf_fini(b);
}
#define EXPECT_TEXT(b, want) expect_text((b), (want), __LINE__)

/* --- detach keys ------------------------------------------------------------------------ */

static bool feed_keys(const char *keys, const char *typed, struct buf *out)
{
    struct detach_keys d;

    EXPECT(detach_keys_parse(&d, keys));
    return detach_keys_feed(&d, typed, strlen(typed), out);
}

TEST(detach_keys_are_found_and_others_pass)
{
    struct buf out = {0};

    EXPECT(feed_keys("ctrl-p,ctrl-q", "ab\020\021cd", &out));
    EXPECT_TEXT(&out, "ab");
    EXPECT(!feed_keys("ctrl-p,ctrl-q", "a\020b\021\020x", &out));
    EXPECT_TEXT(&out, "a\020b\021\020x");
    EXPECT(feed_keys("ctrl-p,ctrl-q", "\020\020\021", &out));
    EXPECT_TEXT(&out, "\020");
    EXPECT(feed_keys("a,a,b", "aaab", &out));
    EXPECT_TEXT(&out, "a");
    EXPECT(!feed_keys("", "\020\021", &out));
    EXPECT_TEXT(&out, "\020\021");
}

TEST(detach_keys_that_are_no_keys_are_refused)
{
    static const char *const bad[] = {"ctrl-", "ctrl-p,",          ",a", "ctrl-1", "ab",
                                      "a,,b",  "a,b,c,d,e,f,g,h,i"};
    struct detach_keys d;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(!detach_keys_parse(&d, bad[i]));
    EXPECT(detach_keys_parse(&d, "DEL,del"));
    EXPECT_INT(d.keys[0], 127);
    EXPECT(detach_keys_parse(&d, "CTRL-@,ctrl-[,~"));
    EXPECT_INT(d.keys[0], 0);
    EXPECT_INT(d.keys[1], 27);
}

/* --- the screen ------------------------------------------------------------------------- */

TEST(only_what_was_switched_on_is_switched_off)
{
    struct screen_guard g = {0};
    struct buf out = {0};
    const char *text = "\033[?1049;25h\033[?25l\033[?2004h\033[?2004l\033[1mbold\033[m";

    screen_guard_feed(&g, text, strlen(text), &out);
    EXPECT_TEXT(&out, text);
    EXPECT(screen_guard_is_full_screen(&g));
    screen_guard_reset(&g, &out);
    EXPECT_TEXT(&out, "\033[?25h\033[?1049l");
    screen_guard_reset(&g, &out);
    EXPECT_TEXT(&out, "");
}

TEST(a_replay_asks_nothing_and_live_output_does)
{
    struct screen_guard g = {.replaying = true};
    struct buf out = {0};
    const char *text = "a\033[cb\033[6nc\033]10;?\033\\d\033P$qm\033\\e\033[?25$pf\005g\033[31mh";

    screen_guard_feed(&g, text, strlen(text), &out);
    EXPECT_TEXT(&out, "abcdefg\033[31mh");
    g.replaying = false;
    screen_guard_feed(&g, text, strlen(text), &out);
    EXPECT_TEXT(&out, text);
}

TEST(a_query_that_breaks_something_off_ends_it_in_a_replay_too)
{
    struct screen_guard g = {.replaying = true};
    struct buf out = {0};
    const char *text = "a\033[1\033[cb\033]0;t\033[cd\033]10;?\033]11;?\033\\e";

    for (size_t i = 0; i < strlen(text); i++)
        screen_guard_feed(&g, text + i, 1, &out);
    EXPECT_TEXT(&out, "a\033[1\030b\033]0;t\033\\de");
}

/* Line drawing stayed on: the designation's last byte was taken for its first. */
TEST(another_character_set_is_undone)
{
    struct screen_guard g = {0};
    struct buf out = {0};

    screen_guard_feed(&g, "\033(B", 3, &out);
    screen_guard_feed(&g, "\033(0", 3, &out);
    buf_clear(&out);
    screen_guard_reset(&g, &out);
    EXPECT_TEXT(&out, "\033(B\017");
}

TEST(a_sequence_without_end_is_passed_on)
{
    struct screen_guard g = {0};
    struct buf out = {0};
    char image[2000];

    memset(image, 'x', sizeof image);
    screen_guard_feed(&g, "\033_G", 3, &out);
    screen_guard_feed(&g, image, sizeof image, &out);
    screen_guard_feed(&g, "\033\\", 2, &out);
    EXPECT_U64(out.len, sizeof image + 5);
    EXPECT(!vt_is_open(&g.vt));
    buf_fini(&out);
}

/* --- input ------------------------------------------------------------------------------ */

static size_t next(struct unsent_input *t, const char **bytes)
{
    return unsent_input_next(t, 100, bytes);
}

TEST(input_goes_on_where_the_daemon_left_off)
{
    struct unsent_input t = {0};
    const char *p = NULL;

    unsent_input_on_hello(&t, 0);
    unsent_input_put(&t, "0123456789", 10);
    EXPECT_U64(next(&t, &p), 10);
    EXPECT_U64(next(&t, &p), 0);
    unsent_input_on_ack(&t, 4);
    unsent_input_put(&t, "ab", 2);
    unsent_input_on_hello(&t, 7); /* cut; it took 7 */
    EXPECT_U64(next(&t, &p), 5);
    EXPECT(memcmp(p, "789ab", 5) == 0);
    t.eof_wanted = true;
    EXPECT(unsent_input_eof_is_due(&t));
    t.eof_sent = true;
    unsent_input_on_hello(&t, 12);
    EXPECT_U64(t.pending.len, 0);
    EXPECT(unsent_input_eof_is_due(&t)); /* once for each connection */
    unsent_input_fini(&t);
}

TEST(a_daemon_that_counts_anew_gets_the_rest_only)
{
    struct unsent_input t = {0};
    const char *p = NULL;

    unsent_input_put(&t, "0123456789", 10);
    unsent_input_on_hello(&t, 0);
    next(&t, &p);
    unsent_input_on_ack(&t, 6);
    unsent_input_on_hello(&t, 0);
    EXPECT_U64(next(&t, &p), 4);
    EXPECT(memcmp(p, "6789", 4) == 0);
    unsent_input_on_ack(&t, 4);
    EXPECT_U64(t.pending.len, 0);
    unsent_input_fini(&t);
}

/* --- addresses -------------------------------------------------------------------------- */

TEST(addresses_of_daemons)
{
    struct daemon_address p = {0};
    struct hf_error err;

    EXPECT_INT(daemon_address_parse(&p, "http://127.0.0.1:7070/", &err), 0);
    EXPECT(strcmp(p.host, "127.0.0.1") == 0 && p.port == 7070 && p.prefix[0] == '\0');
    EXPECT(daemon_address_is_local(&p));
    EXPECT_INT(daemon_address_parse(&p, "https://[::1]/a/b/", &err), 0);
    EXPECT(strcmp(p.host, "::1") == 0 && p.port == 443 && strcmp(p.prefix, "/a/b") == 0 && p.tls);
    EXPECT_INT(daemon_address_parse(&p, "unix:///run/x", &err), 0);
    EXPECT(strcmp(p.unix_path, "/run/x") == 0 && !p.tls);
    EXPECT_INT(daemon_address_parse(&p, "unix:rel", &err), 0);
    EXPECT(strcmp(p.unix_path, "rel") == 0);
    EXPECT_INT(daemon_address_parse(&p, "http://example.org", &err), 0);
    EXPECT(p.port == 80 && !daemon_address_is_local(&p));
    EXPECT(daemon_address_parse(&p, "http://a:b", &err) < 0);
    EXPECT(daemon_address_parse(&p, "http://::1:80", &err) < 0);
    EXPECT(daemon_address_parse(&p, "http://[::1", &err) < 0);
    EXPECT(daemon_address_parse(&p, "http://h:0", &err) < 0);
    EXPECT(daemon_address_parse(&p, "h:1", &err) < 0);
    daemon_address_fini(&p);
}

/* --- lines ------------------------------------------------------------------------------ */

TEST(fields_in_a_line)
{
    json_auto_t *o = json_pack("{s:s,s:{s:i},s:n,s:b,s:[i]}", "id", "x", "output", "next", 7, "tag",
                               "pty", 1, "list", 3);
    struct buf out = {0};

    format_write(&out, "{id}\\t{output.next} {tag}{none.a} {pty} {list} {{}}", o);
    EXPECT_TEXT(&out, "x\t7  true [3] {}\n");
    EXPECT_INT(format_check("{id} {{ }}"), 0);
    EXPECT_INT(format_check("{id"), -1);
    EXPECT_INT(format_check("id}"), -1);
    EXPECT_INT(format_check("{a{b}}"), -1);
    EXPECT_INT(format_check("\\{{x"), -1); /* an escaped brace is no half of a pair */
    EXPECT_INT(format_check("\\{{id}\\}"), 0);
    EXPECT_INT(format_check("{}"), -1);
}

TEST(times_on_the_command_line)
{
    int64_t ms = -1;

    EXPECT(optparse_time("0", &ms) && ms == 0);
    EXPECT(optparse_time("1500", &ms) && ms == 1500);
    EXPECT(optparse_time("2s", &ms) && ms == 2000);
    EXPECT(optparse_time("3m", &ms) && ms == 180000);
    EXPECT(optparse_time("1h", &ms) && ms == 3600000);
    EXPECT(!optparse_time("", &ms) && !optparse_time("s", &ms) && !optparse_time("1x", &ms));
    EXPECT(!optparse_time("-1", &ms) && !optparse_time("99999999999999999999", &ms));
    EXPECT(!optparse_time("100000d", &ms));
}

TEST(text_of_others_has_no_control_characters)
{
    struct buf out = {0};

    print_plain(&out, "a\033[31m\r\n\xc2\x9b\xff\xc3\xa9");
    EXPECT_TEXT(&out, "a?[31m????\xc3\xa9");
}

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

TEST(an_answer_that_breaks_off_is_not_complete)
{
    const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
    struct http1 a;
    size_t used, at = 0;

    fetch_expect(&a, false);
    while (at < strlen(text)) {
        http1_feed(&a, text + at, strlen(text) - at, &used);
        at += used;
    }
    EXPECT_INT(a.status, 200);
    EXPECT(!http1_finish(&a));
    http1_fini(&a);
}
