/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes.c - messages of Kubernetes clients and the replies: channels, sizes, Status, times
 */
#include "dialects/kubernetes/kube_channel.h"
#include "dialects/kubernetes/kube_container.h"
#include "dialects/kubernetes/kube_log_decode.h"
#include "dialects/kubernetes/kube_status.h"
#include "dialects/kubernetes/kubernetes_limits.h"
#include "test.h"

/* --- protocols ----------------------------------------------------------------------------- */

static const char *picked(const char *offered)
{
    const struct protocol *p = kube_protocol_pick(offered);

    return p != NULL ? p->name : "NONE";
}

TEST(the_first_known_protocol_of_an_offer_is_taken)
{
    EXPECT_STR(picked("v5.channel.k8s.io"), "v5.channel.k8s.io");
    EXPECT_STR(picked("v9.channel.k8s.io, v4.channel.k8s.io,channel.k8s.io"), "v4.channel.k8s.io");
    EXPECT_STR(picked("base64.channel.k8s.io"), "base64.channel.k8s.io");
    EXPECT_STR(picked(""), "");
    EXPECT_STR(picked("nothing.of.ours"), "NONE");
    EXPECT_STR(picked("v5.channel.k8s.iox"), "NONE");
}

/* Alone it would have to be echoed, and a token is not for that. */
TEST(a_token_counts_only_beside_another_protocol)
{
    struct buf token = {0};

    EXPECT(!kube_protocol_token("base64url.bearer.authorization.k8s.io.c2VjcmV0", &token));
    EXPECT(!kube_protocol_token("v5.channel.k8s.io", &token));
    EXPECT(
        !kube_protocol_token("v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.!", &token));
    EXPECT_U64(token.len, 0);
    EXPECT(kube_protocol_token("v5.channel.k8s.io,base64url.bearer.authorization.k8s.io.c2VjcmV0",
                               &token));
    EXPECT_STR(buf_cstr(&token), "secret");
    buf_fini(&token);
}

/* --- messages ------------------------------------------------------------------------------ */

struct seen {
    struct buf input, small;
    size_t room; /* how much input is taken at once */
    int smalls;
};

static bool seen_is_small(void *arg, uint8_t channel)
{
    (void)arg;
    return channel != 0;
}

static size_t seen_input(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    struct seen *s = arg;
    size_t n = len < s->room ? len : s->room;

    EXPECT_INT(channel, 0);
    buf_put(&s->input, bytes, n);
    return n;
}

static void seen_small(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    struct seen *s = arg;

    s->smalls++;
    buf_printf(&s->small, "[%d:", channel);
    buf_put(&s->small, bytes, len);
    buf_putc(&s->small, ']');
}

static const struct channel_ops seen_ops = {
    .input = seen_input, .small = seen_small, .is_small = seen_is_small};

static void seen_fini(struct seen *s)
{
    buf_fini(&s->input);
    buf_fini(&s->small);
}

TEST(pieces_of_a_message_belong_to_the_channel_of_its_first_byte)
{
    struct channel_in in = {0};
    struct seen s = {.room = 100};

    EXPECT_U64(channel_feed(&in, "\0he", 3, false, &seen_ops, &s), 3);
    EXPECT_U64(channel_feed(&in, "llo", 3, true, &seen_ops, &s), 3);
    EXPECT_U64(channel_feed(&in, "\4{", 2, false, &seen_ops, &s), 2);
    EXPECT_U64(channel_feed(&in, "}", 1, true, &seen_ops, &s), 1);
    EXPECT_U64(channel_feed(&in, "\377\0", 2, true, &seen_ops, &s), 2);
    EXPECT_U64(channel_feed(&in, "\0!", 2, true, &seen_ops, &s), 2);
    EXPECT_STR(buf_cstr(&s.input), "hello!");
    EXPECT_U64(s.small.len, strlen("[4:{}][255:x]"));
    EXPECT(memcmp(buf_data(&s.small), "[4:{}][255:\0]", s.small.len) == 0);
    seen_fini(&s);
}

/* The rest comes again without the byte that names the channel. */
TEST(input_that_is_not_taken_goes_on_in_the_same_channel)
{
    struct channel_in in = {0};
    struct seen s = {.room = 2};

    EXPECT_U64(channel_feed(&in, "\0abcd", 5, true, &seen_ops, &s), 3);
    s.room = 0;
    EXPECT_U64(channel_feed(&in, "cd", 2, true, &seen_ops, &s), 0);
    s.room = 9;
    EXPECT_U64(channel_feed(&in, "cd", 2, true, &seen_ops, &s), 2);
    EXPECT_U64(channel_feed(&in, "\4x", 2, true, &seen_ops, &s), 2);
    EXPECT_STR(buf_cstr(&s.input), "abcd");
    EXPECT_STR(buf_cstr(&s.small), "[4:x]");
    seen_fini(&s);
}

TEST(empty_messages_are_nothing)
{
    struct channel_in in = {0};
    struct seen s = {.room = 9};

    EXPECT_U64(channel_feed(&in, "", 0, true, &seen_ops, &s), 0);
    EXPECT_U64(channel_feed(&in, "\0", 1, true, &seen_ops, &s), 1);
    EXPECT_U64(channel_feed(&in, "\0", 1, false, &seen_ops, &s), 1);
    EXPECT_U64(channel_feed(&in, "", 0, true, &seen_ops, &s), 0);
    EXPECT_U64(channel_feed(&in, "\4y", 2, true, &seen_ops, &s), 2);
    EXPECT_U64(s.input.len, 0);
    EXPECT_STR(buf_cstr(&s.small), "[4:y]");
    seen_fini(&s);
}

TEST(a_small_message_that_is_too_long_is_passed_over)
{
    char big[LIMIT_KUBE_SMALL_BYTES + 2] = {4};
    struct channel_in in = {0};
    struct seen s = {.room = 9};

    EXPECT_U64(channel_feed(&in, big, sizeof big, false, &seen_ops, &s), sizeof big);
    EXPECT_U64(channel_feed(&in, "z", 1, true, &seen_ops, &s), 1);
    EXPECT_INT(s.smalls, 0);
    EXPECT_U64(channel_feed(&in, "\4z", 2, true, &seen_ops, &s), 2);
    EXPECT_STR(buf_cstr(&s.small), "[4:z]");
    seen_fini(&s);
}

TEST(a_base64_message_is_a_digit_and_base64)
{
    struct buf data = {0}, text = {0};
    uint8_t channel;

    EXPECT(channel_decode("0aGVsbG8=", 9, &channel, &data));
    EXPECT_INT(channel, 0);
    EXPECT_STR(buf_cstr(&data), "hello");
    EXPECT(channel_decode("4", 1, &channel, &data));
    EXPECT_INT(channel, 4);
    EXPECT(!channel_decode("", 0, &channel, &data));
    EXPECT(!channel_decode("xaGVsbG8=", 9, &channel, &data));
    EXPECT(!channel_decode("0a!", 3, &channel, &data));
    channel_encode(&text, 1, "hello", 5);
    EXPECT_STR(buf_cstr(&text), "1aGVsbG8=");
    buf_fini(&data);
    buf_fini(&text);
}

/* --- sizes ----------------------------------------------------------------------------------- */

static void note_size(void *arg, int64_t rows, int64_t cols)
{
    buf_printf(arg, "%lldx%lld ", (long long)rows, (long long)cols);
}

static const char *sizes(const char *text, struct buf *out)
{
    buf_clear(out);
    channel_sizes(text, strlen(text), note_size, out);
    return buf_cstr(out);
}

TEST(sizes_come_in_either_case_and_several_at_once)
{
    struct buf out = {0};

    EXPECT_STR(sizes("{\"Width\":97,\"Height\":31}\n", &out), "31x97 ");
    EXPECT_STR(sizes("{\"height\":33,\"width\":77}", &out), "33x77 ");
    EXPECT_STR(sizes("{\"Width\":2,\"Height\":1}\n{\"Width\":4,\"Height\":3}\n", &out), "1x2 3x4 ");
    EXPECT_STR(sizes("{\"Width\":2,\"Height\":1,\"X\":[]}{\"Width\":4,\"Height\":3}", &out),
               "1x2 3x4 ");
    buf_fini(&out);
}

TEST(sizes_that_no_terminal_has_are_not_told)
{
    struct buf out = {0};

    EXPECT_STR(sizes("{\"Width\":0,\"Height\":31}", &out), "");
    EXPECT_STR(sizes("{\"Width\":97}", &out), "");
    EXPECT_STR(sizes("{\"Width\":-1,\"Height\":70000}", &out), "");
    EXPECT_STR(sizes("{\"Width\":\"97\",\"Height\":31}", &out), "");
    EXPECT_STR(sizes("[1] {\"Width\":4,\"Height\":3}", &out), "");
    EXPECT_STR(sizes("{\"Width\":4,\"Height\":3} nonsense", &out), "3x4 ");
    EXPECT_STR(sizes("{", &out), "");
    EXPECT_STR(sizes("", &out), "");
    buf_fini(&out);
}

/* --- the Status -------------------------------------------------------------------------------- */

static const char *http_status_text(int exit_code, bool object, struct buf *out)
{
    struct exit_record x = {.exit_code = exit_code};
    struct kube_status s;

    buf_clear(out);
    kube_status_exit(&s, &x);
    kube_status_write(out, &s, object);
    return buf_cstr(out);
}

TEST(an_exit_code_is_a_decimal_string_in_a_cause)
{
    struct buf out = {0};

    EXPECT_STR(http_status_text(0, true, &out), "{\"metadata\":{},\"status\":\"Success\"}");
    EXPECT_STR(http_status_text(7, true, &out),
               "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated with "
               "non-zero exit code: exit status 7\",\"reason\":\"NonZeroExitCode\",\"details\":"
               "{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"7\"}]}}");
    buf_fini(&out);
}

/* An exit that is not known is no exit code at all: "-1" would be taken for one. */
TEST(an_unknown_exit_is_a_failure_without_a_code)
{
    struct buf out = {0};

    EXPECT(strstr(http_status_text(-1, true, &out), "\"reason\":\"InternalError\",\"code\":500") !=
           NULL);
    EXPECT(strstr(buf_cstr(&out), "ExitCode\"") == NULL);
    buf_fini(&out);
}

TEST(old_protocols_have_text_and_only_for_failures)
{
    struct buf out = {0};

    EXPECT_STR(http_status_text(0, false, &out), "");
    EXPECT_STR(http_status_text(7, false, &out),
               "command terminated with non-zero exit code: exit status 7");
    buf_fini(&out);
}

/* --- logs -------------------------------------------------------------------------------------- */

TEST(times_are_read_as_rfc_3339_has_them)
{
    int64_t ms = 0;

    EXPECT(log_time_parse("1970-01-01T00:00:00Z", &ms));
    EXPECT_INT(ms, 0);
    EXPECT(log_time_parse("2024-02-29T12:34:56.789012Z", &ms));
    EXPECT_INT(ms, 1709210096789);
    EXPECT(log_time_parse("2026-11-17T10:00:00+02:00", &ms));
    EXPECT_INT(ms, 1794902400000);
    EXPECT(log_time_parse("2026-11-17T06:30:00-01:30", &ms));
    EXPECT_INT(ms, 1794902400000);
    EXPECT(!log_time_parse("2026-11-17", &ms));
    EXPECT(!log_time_parse("2026-11-17T10:00:00", &ms));
    EXPECT(!log_time_parse("2026-13-17T10:00:00Z", &ms));
    EXPECT(!log_time_parse("2026-11-17T10:00:00.Z", &ms));
    EXPECT(!log_time_parse("2026-11-17T10:00:00Zx", &ms));
    EXPECT(!log_time_parse("2026-1-17T10:00:00Z", &ms));
}

TEST(every_line_has_its_time_and_no_line_two)
{
    struct buf out = {0};
    bool inside = false;

    log_put_timed(&out, "a\nb", 3, 0, &inside);
    EXPECT(inside);
    log_put_timed(&out, "c\n", 2, 1000, &inside);
    EXPECT(!inside);
    log_put_timed(&out, "\nd", 2, 2000, &inside);
    EXPECT_STR(buf_cstr(&out), "1970-01-01T00:00:00.000Z a\n1970-01-01T00:00:00.000Z bc\n"
                               "1970-01-01T00:00:02.000Z \n1970-01-01T00:00:02.000Z d");
    buf_fini(&out);
}

TEST(names_of_containers_are_dns_labels)
{
    EXPECT(container_name_is_valid("web-1"));
    EXPECT(!container_name_is_valid(""));
    EXPECT(!container_name_is_valid("-web"));
    EXPECT(!container_name_is_valid("web-"));
    EXPECT(!container_name_is_valid("Web"));
    EXPECT(!container_name_is_valid("we_b"));
    EXPECT(!container_name_is_valid(
        "a123456789012345678901234567890123456789012345678901234567890123"));
}
