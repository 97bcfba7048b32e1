/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gateway_parts.c - the gateway's pure parts: places, links, endpoints, quotas, replies of Redis
 */
#include <errno.h>

#include "test.h"

#include "base/limits.h"
#include "gateway/frames.h"
#include "gateway/head.h"
#include "gateway/networks.h"
#include "gateway/quota.h"
#include "gateway/redis.h"
#include "gateway/resolver.h"
#include "gateway/signed_link.h"

static const char *where(const char *target, const char *host)
{
    static char text[400];
    struct hf_error err = {0};
    struct route_target p;
    int rc = route_target_parse(target, host, "gw.test", &p, &err);

    if (rc == -ENOENT)
        return "none";
    if (rc < 0)
        return hf_code_name(err.code);
    snprintf(text, sizeof text, "%s %u %.*s %s", p.id, p.port, (int)p.rest_len, p.rest, p.query);
    return text;
}

static const char *ip_of(const char *peer)
{
    static char ip[64];

    head_peer_ip(peer, ip, sizeof ip);
    return ip;
}

TEST(an_address_is_told_from_its_port)
{
    EXPECT_STR(ip_of("127.0.0.1:4711"), "127.0.0.1");
    EXPECT_STR(ip_of("127.0.0.1"), "127.0.0.1");
    EXPECT_STR(ip_of("[fd00::1]:4711"), "fd00::1");
    EXPECT_STR(ip_of("[fd00::1]"), "fd00::1");
    EXPECT_STR(ip_of("unix:uid=0"), "unix");
}

TEST(place_reads_both_path_forms)
{
    EXPECT_STR(where("/v1/sandboxes/a/proxy/80/x?y", "h"), "a 80 /x ?y");
    EXPECT_STR(where("/sandboxes/a/proxy/80", "h"), "a 80  ");
    EXPECT_STR(where("/sandboxes/a/proxy/80?q", "h"), "a 80  ?q");
    EXPECT_STR(where("/sandboxes/a.b-c_d/proxy/65535/", "h"), "a.b-c_d 65535 / ");
    EXPECT_STR(where("http://h/sandboxes/a/proxy/1/../x", "h"), "a 1 /../x ");
}

TEST(place_knows_what_is_no_sandbox)
{
    EXPECT_STR(where("/", "h"), "none");
    EXPECT_STR(where("/v2/sandboxes/a/proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes/../proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a%62/proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes//proxy/80/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy/080/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy/65536/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy/80x/", "h"), "none");
    EXPECT_STR(where("/sandboxes/a/proxy//", "h"), "none");
}

TEST(place_refuses_two_hosts_and_other_schemes)
{
    EXPECT_STR(where("http://other/sandboxes/a/proxy/1/", "h"), "bad_request");
    EXPECT_STR(where("ftp://h/x", "h"), "bad_path");
    EXPECT_STR(where("*", "h"), "bad_path");
    EXPECT_STR(where("/x#y", "h"), "bad_path");
    EXPECT_STR(where("http://h", "h"), "bad_path");
}

TEST(place_reads_host_names)
{
    EXPECT_STR(where("/x?y", "80-Al-pha.GW.test:7071"), "al-pha 80 /x ?y");
    EXPECT_STR(where("/x", "80-.gw.test"), "none");
    EXPECT_STR(where("/x", "080-a.gw.test"), "none");
    EXPECT_STR(where("/x", "80-a.gw.test.evil"), "none");
    EXPECT_STR(where("/x", "gw.test"), "none");
}

TEST(link_is_good_for_its_port_and_its_time_only)
{
    struct buf key = {0};
    char text[LINK_TEXT_BYTES];
    int64_t until;

    buf_puts(&key, "0123456789abcdef0123456789abcdef");
    link_sign(&key, "a", 80, 1000, text);
    EXPECT(link_is_good(&key, "a", 80, text, strlen(text), 999, &until));
    EXPECT_INT(until, 1000);
    EXPECT(!link_is_good(&key, "a", 80, text, strlen(text), 1000, &until));
    EXPECT(!link_is_good(&key, "a", 81, text, strlen(text), 999, &until));
    EXPECT(!link_is_good(&key, "b", 80, text, strlen(text), 999, &until));
    EXPECT(!link_is_good(&key, "a", 80, text, strlen(text) - 1, 999, &until));
    text[0] = '2';
    EXPECT(!link_is_good(&key, "a", 80, text, strlen(text), 999, &until));
    buf_fini(&key);
}

static const char *without(const char *query)
{
    static struct buf out;

    buf_clear(&out);
    link_put_query(&out, query);
    return buf_cstr(&out);
}

TEST(link_leaves_every_other_byte_of_a_query_alone)
{
    EXPECT_STR(without("?a=1&hf_link=x&&b=%2F&"), "?a=1&&b=%2F&");
    EXPECT_STR(without("?hf_link=x"), "");
    EXPECT_STR(without("?hf_link=x&a"), "?a");
    EXPECT_STR(without("?hf_linkx=1"), "?hf_linkx=1");
    EXPECT_STR(without(""), "");
}

TEST(endpoint_lists_its_ports_or_has_the_allowed_ones)
{
    struct roster *t = roster_new();
    struct hf_error err = {0};
    struct endpoint *e;
    struct address a;
    char text[64];
    const char *lines = "10.0.0.5 a 80 81=3000\n# none\nfd00::1 b\n";

    REQUIRE(roster_parse(t, lines, strlen(lines), &err) == 0);
    EXPECT_INT((int)roster_count(t), 2);
    e = roster_get(t, "a");
    REQUIRE(endpoint_find_port(e, 81, false, &a));
    endpoint_address_text(&a, text, sizeof text);
    EXPECT_STR(text, "10.0.0.5:3000");
    EXPECT(!endpoint_find_port(e, 82, true, &a));
    e = roster_get(t, "b");
    EXPECT(!endpoint_find_port(e, 80, false, &a));
    REQUIRE(endpoint_find_port(e, 80, true, &a));
    endpoint_address_text(&a, text, sizeof text);
    EXPECT_STR(text, "[fd00::1]:80");
    EXPECT(roster_get(t, "c") == NULL);
    roster_free(t);
}

static const char *verdict(const char *json)
{
    static struct hf_error err;
    struct roster *t = roster_new();
    int rc = roster_parse(t, json, strlen(json), &err);

    roster_free(t);
    return rc == 0 ? "fine" : err.detail;
}

TEST(endpoint_refuses_what_could_change_a_request)
{
#define ONE(fields) "{\"sandboxes\":{\"a\":{\"address\":\"1.2.3.4:7070\"," fields "}}}"
    EXPECT_STR(verdict(ONE("\"ports\":[80]")), "fine");
    EXPECT_STR(verdict(ONE("\"headers\":{\"X\":\"a\\r\\nB: c\"}")),
               "headers: a name or a value cannot be sent.");
    EXPECT_STR(verdict(ONE("\"headers\":{\"Content-Length\":\"1\"}")),
               "headers: a name or a value cannot be sent.");
    EXPECT_STR(verdict(ONE("\"prefix\":\"/a b\"")),
               "prefix: begins with / and does not end with it.");
    EXPECT_STR(verdict(ONE("\"tokens\":[\"short\"]")),
               "tokens: each has at least 16 characters, or is sha256:HEX.");
    EXPECT_STR(verdict(ONE("\"ports\":[0]")),
               "ports: a list has port numbers, and needs an address.");
}

TEST(quota_counts_over_seats_and_refills)
{
    struct gateway_shared *s = shared_new();
    struct quota_limits two = {2, 0}, rate = {0, 2};
    uint32_t a, b, c;

    EXPECT(quota_take(s, 0, 's', "x", &two, 1000, &a));
    EXPECT(quota_take(s, 1, 's', "x", &two, 1000, &b));
    EXPECT(!quota_take(s, 1, 's', "x", &two, 1000, &c));
    EXPECT(quota_take(s, 1, 'p', "x", &two, 1000, &c));
    quota_give(s, 0, &a);
    EXPECT(quota_take(s, 0, 's', "x", &two, 1000, &a));
    shared_leave_seat(s, 0); /* a worker that died holds nothing */
    EXPECT(quota_take(s, 2, 's', "x", &two, 1000, &c));
    EXPECT(quota_take(s, 0, 's', "r", &rate, 1000, &a) &&
           quota_take(s, 0, 's', "r", &rate, 1000, &b));
    EXPECT(!quota_take(s, 0, 's', "r", &rate, 1400, &c));
    EXPECT(quota_take(s, 0, 's', "r", &rate, 1500, &c));
    shared_free(s);
}

/* Beyond sixteen neighbours a name once went uncounted. */
TEST(quota_counts_everybody_or_refuses)
{
    struct gateway_shared *s = shared_new();
    struct quota_limits one = {1, 0};
    size_t refused = 0;
    uint32_t slot;
    char name[16];

    for (int i = 0; i < QUOTA_SLOTS + QUOTA_SLOTS / 2; i++) {
        snprintf(name, sizeof name, "n%d", i);
        if (!quota_take(s, 0, 's', name, &one, 1000, &slot))
            refused++;
        else
            EXPECT(slot != 0);
    }
    EXPECT(refused >= QUOTA_SLOTS / 2);
    shared_free(s);
}

TEST(quota_forgets_the_idle_to_count_the_busy)
{
    struct gateway_shared *s = shared_new();
    struct quota_limits both = {1, 1};
    uint32_t slot, held;
    char name[16];

    EXPECT(quota_take(s, 0, 's', "busy", &both, 1000, &held));
    for (int i = 0; i < 3 * QUOTA_SLOTS; i++) {
        snprintf(name, sizeof name, "n%d", i);
        EXPECT(quota_take(s, 0, 's', name, &both, 1000, &slot) && slot != 0);
        quota_give(s, 0, &slot);
    }
    EXPECT(!quota_take(s, 0, 's', "busy", &both, 1000, &slot));
    shared_free(s);
}

TEST(redis_url_is_an_address)
{
    struct hf_error err = {0};
    struct redis_url u;

    EXPECT_INT(redis_parse_url("redis://127.0.0.1:6380/3?id=a", &u, &err), 0);
    EXPECT_INT((int)u.db, 3);
    EXPECT_STR(u.query, "id=a");
    EXPECT_INT(redis_parse_url("redis://localhost", &u, &err), 0);
    EXPECT(redis_parse_url("redis://name:1", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://1.2.3.4/x", &u, &err) < 0);
    EXPECT(redis_parse_url("http://1.2.3.4", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://1.2.3.4/12345", &u, &err) < 0);
    EXPECT(!u.tls);
    EXPECT_INT(redis_parse_url("rediss://u@[::1]:7/1?id=a&ca_file=/x/y&ttl_ms=3", &u, &err), 0);
    EXPECT(u.tls && u.db == 1);
    EXPECT_STR(u.user, "u");
    EXPECT_STR(u.ca_file, "/x/y");
    EXPECT_STR(u.query, "id=a&ca_file=/x/y&ttl_ms=3");
    EXPECT_INT(redis_parse_url("rediss://1.2.3.4?x_ca_file=/no&password_file=/p@q", &u, &err), 0);
    EXPECT_STR(u.ca_file, "");
    EXPECT_STR(u.password_file, "/p@q");
    EXPECT(redis_parse_url("redis://1.2.3.4?ca_file=/x", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://@1.2.3.4", &u, &err) < 0);
    EXPECT(redis_parse_url("redis://1.2.3.4?password_file=", &u, &err) < 0);
}

TEST(redis_url_has_no_password_in_it)
{
    struct hf_error err = {0};
    struct redis_url u;

    EXPECT(redis_parse_url("redis://:pw@127.0.0.1:6380", &u, &err) < 0);
    EXPECT(strstr(err.detail, "password_file=FILE") != NULL);
    EXPECT_INT(redis_parse_url("redis://u@1.2.3.4", &u, &err), 0);
    EXPECT(redis_url_load(&u, NULL, &err) < 0); /* a user without one */
    EXPECT_INT(redis_url_load(&u, "secret\n", &err), 0);
    EXPECT_STR(u.password, "secret");
}

static bool may_call(const struct networks *n, const char *ip)
{
    struct address a;

    return endpoint_address_parse(ip, 80, &a) && networks_allow(n, &a);
}

TEST(networks_refuse_this_machine_and_its_neighbours)
{
    static const char *const bad[] = {"127.0.0.1",
                                      "127.255.0.1",
                                      "0.0.0.0",
                                      "0.1.2.3",
                                      "169.254.169.254",
                                      "224.0.0.1",
                                      "255.255.255.255",
                                      "100.100.100.200",
                                      "168.63.129.16",
                                      "192.0.0.192",
                                      "::",
                                      "::1",
                                      "fe80::1",
                                      "febf::1",
                                      "ff02::1",
                                      "fd00:ec2::254",
                                      "::ffff:127.0.0.1",
                                      "::127.0.0.1",
                                      "64:ff9b::169.254.169.254"};
    static const char *const fine[] = {"10.0.0.5", "172.30.0.2", "192.168.1.1", "100.64.0.1",
                                       "8.8.8.8",  "fd00::5",    "2001:db8::1", "fec0::1"};
    struct networks none = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(!may_call(&none, bad[i]));
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        EXPECT(may_call(&none, fine[i]));
}

TEST(networks_that_are_listed_are_the_only_ones)
{
    struct networks n = {0};

    EXPECT(networks_add(&n, "10.0.0.0/15"));
    EXPECT(networks_add(&n, "127.0.0.1"));
    EXPECT(networks_add(&n, "fd00::/9"));
    EXPECT(may_call(&n, "10.0.0.1") && may_call(&n, "10.1.255.255") && !may_call(&n, "10.2.0.0"));
    EXPECT(may_call(&n, "127.0.0.1") && !may_call(&n, "127.0.0.2"));
    EXPECT(may_call(&n, "fd7f::1") && !may_call(&n, "fd80::1") && !may_call(&n, "8.8.8.8"));
    EXPECT(!networks_add(&n, "10.0.0.0/33") && !networks_add(&n, "name") &&
           !networks_add(&n, "10.0.0.0:80/8") && !networks_add(&n, "10.0.0.0/"));
    while (n.count < NETWORKS_MAX)
        EXPECT(networks_add(&n, "10.0.0.1"));
    EXPECT(!networks_add(&n, "10.0.0.1"));
}

static const char *believed(const struct buf *operator_key, const char *id, const char *text,
                            size_t len, int64_t now_ms)
{
    static struct hf_error err;
    struct registration_trust trust = {.key = *operator_key};
    int64_t until;
    struct endpoint *e = registration_read(&trust, id, text, len, now_ms, &until, &err);

    if (e == NULL)
        return err.detail;
    endpoint_unref(e);
    return "yes";
}

TEST(a_registration_speaks_for_one_sandbox_and_for_a_while)
{
#define ENTRY "{\"address\":\"10.0.0.5:7070\",\"expires_ms\":1000000}"
    struct buf operator_key = {0}, json = {0}, entry = {0};
    uint8_t key[REGISTRATION_KEY_BYTES];
    char *text;

    buf_puts(&operator_key, "0123456789abcdef0123456789abcdef");
    buf_puts(&json, ENTRY);
    registration_key(&operator_key, "a", key);
    registration_sign(key, "a", &json, &entry);
    text = buf_data(&entry);
    EXPECT_STR(believed(&operator_key, "a", text, entry.len, 1000000), "yes");
    EXPECT_STR(believed(&operator_key, "b", text, entry.len, 1000000),
               "it is not signed with the key of this sandbox");
    EXPECT_STR(believed(&operator_key, "a", text, entry.len, 1000000 + REGISTRATION_SKEW_MS),
               "it has expired, or a clock is wrong");
    EXPECT_STR(believed(&operator_key, "a", text, entry.len,
                        1000000 - REGISTRATION_TTL_MAX_MS - REGISTRATION_SKEW_MS - 1),
               "it expires too late, or a clock is wrong");
    for (size_t cut = 0; cut < entry.len; cut += 7)
        EXPECT_STR(believed(&operator_key, "a", text, cut, 1000000),
                   "it is not signed with the key of this sandbox");
    text[entry.len - 2]++;
    EXPECT_STR(believed(&operator_key, "a", text, entry.len, 1000000),
               "it is not signed with the key of this sandbox");
    buf_fini(&operator_key);
    buf_fini(&json);
    buf_fini(&entry);
}

TEST(redis_replies_come_whole_or_not_at_all)
{
    struct redis_reader *r = redis_reader_new();
    struct redis_reply *v;
    const char *text = "*2\r\n$3\r\na\0b\r\n:7\r\n";

    EXPECT_INT(redis_reader_feed(r, text, 10), 0);
    EXPECT_INT(redis_reader_next(r, &v), 0);
    EXPECT_INT(redis_reader_feed(r, text + 10, 7), 0);
    REQUIRE(redis_reader_next(r, &v) == 1);
    EXPECT_INT((int)v->count, 2);
    EXPECT_INT((int)v->items[0]->len, 3);
    EXPECT_INT((int)v->items[1]->number, 7);
    redis_reply_free(v);
    EXPECT_INT(redis_reader_feed(r, "nonsense\r\n", 10), 0);
    EXPECT_INT(redis_reader_next(r, &v), -EPROTO);
    redis_reader_free(r);
}

/* We never send HELLO 3, so a type that only RESP3 has is an error, alone or in a list. */
TEST(redis_replies_are_those_of_resp2)
{
    static const char *const bad[] = {",-1\r\n",
                                      "#t\r\n",
                                      "%1\r\n:1\r\n:2\r\n",
                                      "~1\r\n:1\r\n",
                                      "(12\r\n",
                                      "=5\r\ntxt:a\r\n",
                                      ">1\r\n:1\r\n",
                                      "*1\r\n,1\r\n",
                                      "*1\r\n#f\r\n",
                                      "*2\r\n:1\r\n~1\r\n:1\r\n",
                                      "_\r\n",
                                      "*1\r\n_\r\n"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct redis_reader *r = redis_reader_new();
        struct redis_reply *v;

        EXPECT_INT(redis_reader_feed(r, bad[i], strlen(bad[i])), 0);
        EXPECT_INT(redis_reader_next(r, &v), -EPROTO);
        redis_reader_free(r);
    }
}

/* --- frames ------------------------------------------------------------------------- */

/* Where the bytes stand after each of them: '.' inside of a frame, '|' between two. */
static const char *standing(const char *bytes, size_t len)
{
    static char text[64];
    struct frames f = {0};

    for (size_t i = 0; i < len; i++) {
        frames_follow(&f, bytes + i, 1, false);
        text[i] = frames_is_between(&f) ? '|' : '.';
    }
    text[len] = '\0';
    return text;
}

TEST(frames_are_followed_byte_by_byte)
{
    EXPECT_STR(standing("\x82\x03"
                        "abc"
                        "\x81\x00"
                        "\x89\x01x",
                        10),
               "....|.|..|");
    EXPECT_STR(standing("\x82\x7e\x00\x02"
                        "ab",
                        6),
               ".....|");
    EXPECT_STR(standing("\x82\x7f\0\0\0\0\0\0\0\1"
                        "a\x82",
                        12),
               "..........|.");
    EXPECT_STR(standing("\x82\x81mask"
                        "a",
                        7),
               "......|");
}

TEST(frames_stop_at_the_end_of_the_first)
{
    struct frames f = {0};

    EXPECT_U64(frames_follow(&f, "\x82\x02xy\x82\x02zz", 8, true), 4);
    EXPECT(frames_is_between(&f) && !f.closed);
    EXPECT_U64(frames_follow(&f, "\x82\x02z", 3, true), 3);
    EXPECT(!frames_is_between(&f));
    EXPECT_U64(frames_follow(&f, "z\x88", 2, false), 2);
    EXPECT(!f.closed);
    EXPECT_U64(frames_follow(&f, "\0", 1, false), 1);
    EXPECT(f.closed && frames_is_between(&f));
}

TEST(frames_are_measured_with_their_header)
{
    struct frames f = {0};
    const char large[] = "\x82\x7f\0\0\0\0\0\1\0\0";

    EXPECT_U64(frames_measure("\x82", 1), 0);
    EXPECT_U64(frames_measure("\x82\x7e\1", 3), 0);
    EXPECT_U64(frames_measure("\x82\x7e\1\1", 4), 4 + 257);
    EXPECT_U64(frames_measure(large, 10), 10 + 65536);
    frames_begin(&f, large, 10 + 65536);
    frames_pass(&f, 65540);
    EXPECT(!frames_is_between(&f));
    frames_pass(&f, 6);
    EXPECT(frames_is_between(&f));
}
