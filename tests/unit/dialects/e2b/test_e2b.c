/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_e2b.c - The pure parts of the E2B dialect: messages in both codecs, envelopes, ends in words, times.
 */
#include "test.h"

#include <signal.h>

#include "base/limits.h"
#include "dialects/e2b/e2b_envelope.h"
#include "dialects/e2b/e2b_event.h"
#include "dialects/e2b/e2b_files.h"
#include "dialects/e2b/e2b_long_input.h"

#define WIRE(literal) literal, sizeof literal - 1

/* The tree of a message as text, so that both codecs can be compared; static memory. */
static const char *shown(json_t *tree, const struct hf_error *err)
{
    static char text[2048];
    char *dump = tree == NULL ? NULL : json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", dump != NULL ? dump : err->detail);
    free(dump);
    json_decref(tree);
    return text;
}

static const char *from_wire(const struct pb_message *m, const char *bytes, size_t len)
{
    struct hf_error err = {0};

    return shown(pb_from_wire(m, bytes, len, &err), &err);
}

static const char *from_json(const struct pb_message *m, const char *text)
{
    struct hf_error err = {0};
    json_t *v = json_parse(text, strlen(text), &err), *tree = e2b_pb_from_json(m, v, &err);

    json_decref(v);
    return shown(tree, &err);
}

TEST(real_messages_are_read)
{
    EXPECT_STR(
        from_wire(&e2b_start_request,
                  WIRE("\x0a\x13\x0a\x09/bin/bash\x12\x02-i\x12\x02-l\x12\x06\x0a\x04\x08\x50"
                       "\x10\x18")),
        "{\"process\":{\"args\":[\"-i\",\"-l\"],\"cmd\":\"/bin/bash\"},\"pty\":{\"size\":{"
        "\"cols\":80,\"rows\":24}}}");
    EXPECT_STR(from_wire(&e2b_input_request, WIRE("\x0a\x03\x08\xac\x02\x12\x05\x12\x03ls\r")),
               "{\"input\":{\"pty\":\"ls\\r\"},\"process\":{\"pid\":300}}");
    EXPECT_STR(from_wire(&e2b_signal_request, WIRE("\x0a\x03\x08\xac\x02\x10\x09")),
               "{\"process\":{\"pid\":300},\"signal\":9}");
    EXPECT_STR(from_wire(&e2b_stream_input_request, WIRE("\x12\x07\x12\x05\x0a\x03xyz")),
               "{\"data\":{\"input\":{\"stdin\":\"xyz\"}}}");
    EXPECT_STR(from_wire(&e2b_stream_input_request, WIRE("\x1a\x00")), "{\"keepalive\":{}}");
    EXPECT_STR(from_wire(&e2b_empty, "", 0), "{}");
}

TEST(json_gives_the_same_tree)
{
    EXPECT_STR(from_json(&e2b_start_request,
                         "{\"process\":{\"cmd\":\"a\",\"envs\":{\"A\":\"b\"},\"cwd\":null,\"x\":1},"
                         "\"stdin\":false,\"future\":[]}"),
               "{\"process\":{\"cmd\":\"a\",\"envs\":{\"A\":\"b\"}},\"stdin\":false}");
    EXPECT_STR(from_wire(&e2b_start_request, WIRE("\x0a\x0b\x0a\x01"
                                                  "a\x1a\x06\x0a\x01"
                                                  "A\x12\x01"
                                                  "b\x20\x00")),
               "{\"process\":{\"cmd\":\"a\",\"envs\":{\"A\":\"b\"}},\"stdin\":false}");
    EXPECT_STR(from_json(&e2b_signal_request,
                         "{\"process\":{\"pid\":\"300\"},\"signal\":\"SIGNAL_SIGKILL\"}"),
               "{\"process\":{\"pid\":300},\"signal\":9}");
    EXPECT_STR(from_json(&e2b_input_request, "{\"input\":{\"pty\":\"bHMN\"}}"),
               "{\"input\":{\"pty\":\"ls\\r\"}}");
    EXPECT_STR(from_json(&e2b_entries_response, "{\"entries\":[{\"symlink_target\":\"x\"}]}"),
               "{\"entries\":[{\"symlinkTarget\":\"x\"}]}");
}

/* What a newer client knows is passed over, of members that exclude each other the last counts,
 * and a message that comes in two parts is one. */
TEST(the_wire_is_read_as_protobuf_says)
{
    EXPECT_STR(from_wire(&e2b_select_request, WIRE("\x0a\x06\x12\x01t\x08\xac\x02\xa8\x1f\x01")),
               "{\"process\":{\"pid\":300}}");
    EXPECT_STR(from_wire(&e2b_start_request, WIRE("\x0a\x03\x0a\x01"
                                                  "a\x0a\x03\x22\x01/")),
               "{\"process\":{\"cmd\":\"a\",\"cwd\":\"/\"}}");
    EXPECT_STR(from_wire(&e2b_list_dir_request, WIRE("\x15\x01\x02\x03\x04\x0a\x01/")),
               "{\"path\":\"/\"}"); /* depth as a fixed number: not ours, so unknown */
}

TEST(what_is_broken_is_refused)
{
    const char *broken = "the message is not valid protobuf";

    EXPECT_STR(from_wire(&e2b_path_request, WIRE("\x0a")), broken);
    EXPECT_STR(from_wire(&e2b_path_request, WIRE("\x0a\x05"
                                                 "abcd")),
               broken);
    EXPECT_STR(from_wire(&e2b_path_request, WIRE("\x00\x00")), broken);
    EXPECT_STR(from_wire(&e2b_path_request, WIRE("\x0b")), broken);
    EXPECT_STR(
        from_wire(&e2b_path_request, WIRE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
        broken);
    EXPECT_STR(from_wire(&e2b_path_request, WIRE("\x0a\x01\xff")), "path is not UTF-8");
    EXPECT_STR(from_json(&e2b_path_request, "[]"), "a message must be a JSON object");
    EXPECT_STR(from_json(&e2b_path_request, "{\"path\":1}"), "path must be a string");
    EXPECT_STR(from_json(&e2b_select_request, "{\"process\":{\"pid\":1,\"tag\":\"t\"}}"),
               "tag must be omitted, since another field of its oneof is set");
}

TEST(a_list_without_end_is_refused)
{
    struct buf inner = {0}, all = {0};
    struct hf_error err = {0};

    for (int i = 0; i <= PB_MANY_MAX; i++)
        buf_put(&inner, "\x12\x00", 2);
    pb_put_bytes(&all, 1, buf_data(&inner), inner.len);
    EXPECT(pb_from_wire(&e2b_start_request, buf_data(&all), all.len, &err) == NULL);
    EXPECT_INT(err.code, HF_E_bad_value);
    buf_fini(&inner);
    buf_fini(&all);
}

/* A directory has as many entries as it has: the bound is for what a peer sends. */
TEST(an_answer_may_have_more_elements_than_a_request)
{
    json_t *list = json_array(), *all = json_pack("{s:o}", "entries", list), *tree;
    struct hf_error err = {0};

    for (int i = 0; i <= PB_MANY_MAX; i++)
        json_array_append_new(list, json_object());
    tree = e2b_pb_from_json(&e2b_entries_response, all, &err);
    EXPECT_U64(json_array_size(json_object_get(tree, "entries")), PB_MANY_MAX + 1);
    json_decref(tree);
    json_decref(all);
}

TEST(a_time_is_seconds_and_nanos_on_the_wire)
{
    const char *both = "{\"entry\":{\"modifiedTime\":{\"nanos\":500000000,\"seconds\":%s}}}";
    char want[100];

    snprintf(want, sizeof want, both, "1767323045");
    EXPECT_STR(
        from_json(&e2b_entry_response, "{\"entry\":{\"modifiedTime\":\"2026-01-02T03:04:05.5Z\"}}"),
        want);
    EXPECT_STR(from_wire(&e2b_entry_response,
                         WIRE("\x0a\x0e\x4a\x0c\x08\xa5\xeb\xdc\xca\x06\x10\x80\xca\xb5\xee\x01")),
               want);
    snprintf(want, sizeof want, both, "-1");
    EXPECT_STR(from_json(&e2b_entry_response,
                         "{\"entry\":{\"modified_time\":\"1969-12-31T23:59:59.5Z\"}}"),
               want);
    EXPECT_STR(from_json(&e2b_entry_response, "{\"entry\":{\"modifiedTime\":\"now\"}}"),
               "modifiedTime must be a time such as 2026-01-02T03:04:05Z");
}

TEST(a_list_of_processes_is_written_as_the_original_does)
{
    static const char text[] =
        "{\"processes\":[{\"config\":{\"cmd\":\"/bin/sh\",\"args\":[\"-c\",\"x\"],\"envs\":{\"A\":"
        "\"b\"},\"cwd\":\"/\"},\"pid\":300,\"tag\":\"t\"}]}";
    struct hf_error err = {0};
    json_t *v = json_parse(text, sizeof text - 1, &err);
    json_t *tree = e2b_pb_from_json(&e2b_list_response, v, &err);
    struct buf out = {0};

    pb_to_wire(&e2b_list_response, tree, &out);
    EXPECT_BYTES(buf_data(&out), out.len,
                 "\x0a\x23\x0a\x1b\x0a\x07/bin/sh\x12\x02-c\x12\x01x\x1a\x06\x0a\x01"
                 "A\x12\x01"
                 "b\x22\x01/\x10\xac\x02\x1a\x01t");
    buf_fini(&out);
    json_decref(tree);
    json_decref(v);
}

/* --- events ------------------------------------------------------------------------------- */

TEST(events_are_the_bytes_of_the_original)
{
    struct exit_record x = {.kind = EXIT_EXITED, .code = 3, .exit_code = 3};
    struct slice s = {.bytes = "hi\n", .len = 3, .stream = STREAM_STDOUT};
    struct buf out = {0};

    e2b_event_start(&out, RPC_PROTO, 300);
    EXPECT_BYTES(buf_data(&out), out.len, "\0\0\0\0\x07\x0a\x05\x0a\x03\x08\xac\x02");
    buf_clear(&out);
    e2b_event_keepalive(&out, RPC_PROTO);
    EXPECT_BYTES(buf_data(&out), out.len, "\0\0\0\0\x04\x0a\x02\x22\x00");
    buf_clear(&out);
    EXPECT(e2b_event_data(&out, RPC_PROTO, &s));
    EXPECT_BYTES(buf_data(&out), out.len, "\0\0\0\0\x09\x0a\x07\x12\x05\x0a\x03");
    buf_clear(&out);
    EXPECT(!e2b_event_data(&out, RPC_JSON, &s));
    EXPECT_BYTES(buf_data(&out), out.len,
                 "\0\0\0\0\x24{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}");
    buf_clear(&out);
    e2b_event_end(&out, RPC_PROTO, &x);
    EXPECT_BYTES(buf_data(&out), out.len,
                 "\0\0\0\0\x26\x0a\x24\x1a\x22\x08\x06\x10\x01\x1a\x0d"
                 "exit status 3\"\x0d"
                 "exit status 3");
    buf_fini(&out);
}

TEST(ends_are_told_in_the_words_that_clients_compare)
{
    struct exit_record x = {.kind = EXIT_SIGNALED, .code = -1, .signum = SIGKILL};
    struct end_text t;

    e2b_end_text(&x, &t);
    EXPECT_INT(t.exit_code, -1);
    EXPECT(!t.exited);
    EXPECT_STR(t.error, "signal: killed");
    x.kind = EXIT_TIMED_OUT;
    e2b_end_text(&x, &t);
    EXPECT_STR(t.status, "signal: killed");
    EXPECT_STR(t.error, "signal: killed (deadline exceeded)");
    x = (struct exit_record){.kind = EXIT_SIGNALED, .signum = SIGSEGV, .core_dumped = true};
    e2b_end_text(&x, &t);
    EXPECT_STR(t.error, "signal: segmentation fault (core dumped)");
    x.signum = SIGRTMIN + 1;
    x.core_dumped = false;
    e2b_end_text(&x, &t);
    EXPECT_STR(t.error, "signal: signal 35");
    x = (struct exit_record){.kind = EXIT_LOST, .code = -1};
    e2b_end_text(&x, &t);
    EXPECT_INT(t.exit_code, -1);
    EXPECT_STR(t.error, "the exit status was lost");
}

/* --- inputs that are too long to be held ----------------------------------------------------- */

/* The input of a message whose head has so many bytes, and the rest in pieces; or why not. */
static const char *long_input(enum rpc_codec codec, const char *bytes, size_t len, size_t head,
                              size_t piece)
{
    static char text[400];
    struct hf_error err = {0};
    struct long_input in;
    struct buf out = {0};
    size_t at = 0;
    json_t *tree = long_input_begin(&in, codec, bytes, head, &at, &err);
    bool ok = tree != NULL;

    for (size_t n; ok && at < len; at += n) {
        n = len - at < piece ? len - at : piece;
        ok = long_input_feed(&in, bytes + at, n, &out, &err);
    }
    snprintf(text, sizeof text, "%s",
             !ok                        ? err.detail
             : long_input_is_whole(&in) ? buf_cstr(&out)
                                        : "not whole");
    json_decref(tree);
    buf_fini(&out);
    return text;
}

TEST(a_long_input_is_the_same_however_it_is_cut)
{
    static const char json[] = "{\"process\":{\"tag\":\"a\\\"b\"},\n\"input\" : "
                               "{\"stdin\": \"aGVsbG8gd29ybGQ\\/YWI=\"} }\n";
    static const char proto[] = "\x0a\x03\x08\xac\x02\x12\x0d\x12\x0bhello world";
    size_t first = strlen("{\"process\":{\"tag\":\"a\\\"b\"},\n\"input\" : {\"stdin\": \"");

    for (size_t head = first; json[head] != '='; head++)
        for (size_t piece = 1; piece < sizeof json; piece++)
            EXPECT_STR(long_input(RPC_JSON, json, sizeof json - 1, head, piece), "hello world?ab");
    for (size_t head = 9; head < sizeof proto; head++)
        for (size_t piece = 1; piece < sizeof proto; piece++)
            EXPECT_STR(long_input(RPC_PROTO, proto, sizeof proto - 1, head, piece), "hello world");
}

TEST(a_long_input_is_refused_where_it_goes_wrong)
{
#define HEAD "{\"process\":{\"pid\":1},\"input\":{\"stdin\":\""
    static const struct {
        const char *text, *why;
    } cases[] = {
        {HEAD "YWJj", "not whole"},        {HEAD "YWJj\"}", "not whole"},
        {HEAD "YWJj\"}}", "abc"},          {HEAD "YWI\"}}", "ab"},
        {HEAD "YWJj\"}}}", "last field"},  {HEAD "YWJj\"},\"a\":1}", "last field"},
        {HEAD "YWJj\"}}x", "last field"},  {HEAD "YW=j\"}}", "base64"},
        {HEAD "YWI=YWI=\"}}", "base64"},   {HEAD "Y\"}}", "base64"},
        {HEAD "YW\\u004Aj\"}}", "base64"}, {HEAD "YW\nj\"}}", "base64"},
        {HEAD "YWJ\\", "not whole"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 60; piece++)
            EXPECT(strstr(long_input(RPC_JSON, cases[i].text, strlen(cases[i].text), strlen(HEAD),
                                     piece),
                          cases[i].why) != NULL);
#undef HEAD
}

/* --- envelopes ------------------------------------------------------------------------------ */

TEST(messages_come_out_whole_however_they_are_cut)
{
    static const char two[] = "\0\0\0\0\x03"
                              "abc\0\0\0\0\0\0\0\0\0\x01z";

    for (size_t piece = 1; piece < sizeof two; piece++) {
        struct envelope e = {0};
        struct hf_error err;
        struct buf got = {0};
        size_t used, at = 0;
        int messages = 0;

        while (at < sizeof two - 1) {
            size_t n = sizeof two - 1 - at < piece ? sizeof two - 1 - at : piece;

            if (e2b_envelope_feed(&e, two + at, n, &used, &err) == ENVELOPE_MESSAGE) {
                buf_put(&got, buf_data(&e.message), e.message.len);
                messages++;
            }
            at += used;
        }
        EXPECT_INT(messages, 3);
        EXPECT_BYTES(buf_data(&got), got.len, "abcz");
        EXPECT(e2b_envelope_is_clean(&e));
        buf_fini(&got);
        e2b_envelope_fini(&e);
    }
}

TEST(a_message_without_end_is_refused_by_its_head)
{
    struct envelope e = {0};
    struct hf_error err = {0};
    size_t used;

    EXPECT_INT(e2b_envelope_feed(&e, "\0\xff\xff\xff\xff", 5, &used, &err), ENVELOPE_ERROR);
    EXPECT_INT(err.code, HF_E_body_too_large);
    e2b_envelope_fini(&e);
}

/* --- signatures ------------------------------------------------------------------------------- */

static const char *refusal(const char *path, const char *operation, const char *user,
                           const char *expires, const char *given, int64_t now_s)
{
    static const char lines[] = "# tokens\nwatch tokW\n  own   tokR  \n";
    const struct buf tokens = {.mem = (char *)(uintptr_t)lines, .len = sizeof lines - 1};
    const char *const parts[] = {path, operation, user, expires};
    const char *wrong = e2b_signature_refusal(&tokens, parts, given, now_s);

    return wrong != NULL ? wrong : "";
}

TEST(a_signature_is_good_for_one_path_direction_user_and_time)
{
    const char *good = "v1_Eur66ovx92dfc+GwotMbBrIym6ZK9iZDYyuJQDxiTEw",
               *wrong = "invalid signature";

    EXPECT_STR(refusal("", "write", "", NULL, good, 100), "");
    EXPECT_STR(refusal("/x", "write", "", NULL, good, 100), wrong);
    EXPECT_STR(refusal("", "read", "", NULL, good, 100), wrong);
    EXPECT_STR(refusal("", "write", "u", NULL, good, 100), wrong);
    EXPECT_STR(refusal("", "write", "", "200", good, 100), wrong);
    EXPECT_STR(refusal("", "write", "", NULL, "v1_", 100), wrong);
    good = "v1_7DTTpMp+786fvS+4IWc1A1jGWHENIsxfsMK+Yv4LIBg";
    EXPECT_STR(refusal("/a", "read", "u", "200", good, 100), "");
    EXPECT_STR(refusal("/a", "read", "u", "200", good, 201), "signature is already expired");
    EXPECT_STR(refusal("/a", "read", "u", "x", good, 100), wrong);
}

/* The parts are joined by colons, so that of a user could make another path of the same text. */
TEST(a_signature_of_one_path_is_none_for_a_user_with_a_colon)
{
    const char *good = "v1_HqB+iUOO6YTKo12+XbyYbF260lRoXiZ9LaVF6mlJrZQ";

    EXPECT_STR(refusal("/a:read:0", "read", "u", NULL, good, 100), "");
    EXPECT_STR(refusal("/a", "read", "0:read:u", NULL, good, 100), "invalid signature");
}

/* A token that may only watch signs nothing. */
TEST(only_owners_sign)
{
    EXPECT_STR(
        refusal("/a", "read", "u", "200", "v1_KzQDNlHVLnhTB/3RQ2tHt4Igs+4wjD05BhuQQLkFzzU", 100),
        "invalid signature");
}

/* --- paths ------------------------------------------------------------------------------------ */

static const char *path_of(const char *home, const char *path)
{
    static char out[64];
    struct user u = {0};

    snprintf(u.home, sizeof u.home, "%s", home);
    return e2b_path(&u, path, out, sizeof out) ? out : "too long";
}

TEST(a_path_is_absolute_and_clean)
{
    EXPECT_STR(path_of("/home/u", "/a/b"), "/a/b");
    EXPECT_STR(path_of("/home/u", "/a/b/"), "/a/b");
    EXPECT_STR(path_of("/home/u", "//a///b//"), "/a/b");
    EXPECT_STR(path_of("/home/u", "/a/./b/."), "/a/b");
    EXPECT_STR(path_of("/home/u", "/a/../b"), "/b");
    EXPECT_STR(path_of("/home/u", "/a/b/../../c/.."), "/");
    EXPECT_STR(path_of("/home/u", "/../../a"), "/a");
    EXPECT_STR(path_of("/home/u", "/"), "/");
    EXPECT_STR(path_of("/home/u", "/..."), "/...");
    EXPECT_STR(path_of("/home/u", "/.a/..b/c."), "/.a/..b/c.");
    EXPECT_STR(path_of("/home/u", "x/"), "/home/u/x");
    EXPECT_STR(path_of("/home/u", "../v"), "/home/v");
    EXPECT_STR(path_of("/home/u", "~"), "/home/u");
    EXPECT_STR(path_of("/home/u", "~/x"), "/home/u/x");
    EXPECT_STR(path_of("/home/u", ""), "/home/u");
    EXPECT_STR(path_of("/", "x"), "/x");
    EXPECT_STR(path_of("/home/u/", "."), "/home/u");
    EXPECT_STR(path_of("/home/u",
                       "/0123456789012345678901234567890123456789012345678901234567890123456789"),
               "too long");
}
