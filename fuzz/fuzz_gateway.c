/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_gateway.c - a request as the gateway reads and rewrites it, and an answer likewise
 *
 * What it lets through is parsed again: it must be one request, with the framing that was judged and
 * nothing behind it. Also lists of sandboxes and of pods, labels of containers and the lengths of frames.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/frames.h"
#include "gateway/head.h"
#include "gateway/json_items.h"
#include "gateway/label_ports.h"
#include "gateway/resolver.h"
#include "gateway/signed_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct http1_limits limits = {8192, 64, 4096}, wide = {65536, 128, 8192};

static void check(int ok)
{
    if (!ok)
        abort();
}

static void read_again(const struct buf *head, const struct http1 *was)
{
    struct http1 p;
    size_t used;

    if (was->response)
        http1_init_response(&p, &wide, was->to_head);
    else
        http1_init(&p, &wide);
    check(http1_feed(&p, buf_data(head), head->len, &used) == HTTP1_HEAD);
    check(used == head->len);
    if (!was->response) {
        check(p.chunked == was->chunked && p.has_length == was->has_length &&
              p.length == was->length && p.upgrade == was->upgrade);
    }
    http1_fini(&p);
}

static void on_request(struct http1 *rq)
{
    static const struct head_rules rules = {.forward = {"cookie"}, .forward_count = 1};
    struct endpoint *e = endpoint_new();
    struct hf_error err = {0};
    struct route_target place;
    struct buf out = {0};
    size_t at = 0;
    struct head_request h = {.rq = rq,
                             .place = &place,
                             .endpoint = e,
                             .headers = &e->headers,
                             .upstream = "10.0.0.1:80",
                             .peer = "[::1]:1",
                             .request_id = "1",
                             .strip_link = true,
                             .spent_protocol = true};

    if (route_target_parse(buf_cstr(&rq->target), http1_header(rq, "Host", &at), "d", &place,
                           &err) == 0 &&
        head_put_request(&out, &rules, &h, &err) == 0)
        read_again(&out, rq);
    buf_fini(&out);
    endpoint_unref(e);
}

static void on_answer(struct http1 *rs)
{
    struct route_target place = {
        .path = "/sandboxes/a/proxy/80/", .prefix_len = 21, .rest = "", .query = ""};
    struct head_response h = {.rs = rs, .place = &place, .upstream = "10.0.0.1:80"};
    struct buf out = {0};

    h.chunked = (rs->chunked || rs->until_close) && !rs->bodiless;
    if (rs->status >= 100 && head_put_response(&out, &h) == 0)
        read_again(&out, rs);
    buf_fini(&out);
}

static void feed(struct http1 *p, const char *bytes, size_t size, void (*on_head)(struct http1 *))
{
    size_t at = 0, used;

    for (;;) {
        enum http1_event e = http1_feed(p, bytes + at, size - at, &used);

        at += used;
        if (e == HTTP1_HEAD)
            on_head(p);
        if (e == HTTP1_DONE || e == HTTP1_ERROR || (e == HTTP1_MORE && at == size))
            break;
    }
    http1_finish(p);
    http1_fini(p);
}

/* In pieces of any size it comes to the same place as at once; and stops are at ends of frames. */
static void follow(const char *bytes, size_t size)
{
    struct frames whole = {0}, pieces = {0}, steps = {0};
    size_t at = 0;

    check(frames_follow(&whole, bytes, size, false) == size);
    for (size_t i = 0, n = 1; i < size; i += n, n = n % 7 + 1) {
        n = n < size - i ? n : size - i;
        check(frames_follow(&pieces, bytes + i, n, false) == n);
    }
    while (at < size) {
        uint64_t length = frames_measure(bytes + at, size - at);
        size_t n = frames_follow(&steps, bytes + at, size - at, true);

        check(n > 0 && (at + n == size || frames_is_between(&steps)));
        check(!frames_is_between(&steps) || n == length);
        at += n;
    }
    check(whole.left == pieces.left && whole.have == pieces.have);
    check(whole.left == steps.left && whole.closed == steps.closed);
}

/* An address, ports and tokens as labels have them, a line each. */
static void take_labels(const uint8_t *data, size_t size)
{
    char text[512], *save = NULL, *address;

    size = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    address = strtok_r(text, "\n", &save);
    if (address != NULL) {
        char *ports = strtok_r(NULL, "\n", &save);

        endpoint_unref(endpoint_from_labels(address, ports, strtok_r(NULL, "\n", &save)));
    }
}

static void hash_item(void *arg, const char *bytes, size_t len)
{
    size_t *sum = arg;

    for (size_t i = 0; i < len; i++)
        *sum = *sum * 31 + (unsigned char)bytes[i];
    *sum = *sum * 31 + 256;
}

/* The same document in one piece and byte by byte has the same elements and the same rest. */
static void split_list(const char *bytes, size_t len)
{
    size_t sum[2] = {0}, rest[2];
    struct json_items s[2];
    bool ok = true, ok_bytewise = true;

    for (int i = 0; i < 2; i++)
        s[i] = (struct json_items){
            .item_max = 64, .frame_max = 256, .on_item = hash_item, .arg = &sum[i]};
    ok = json_items_feed(&s[0], bytes, len);
    for (size_t i = 0; ok_bytewise && i < len; i++)
        ok_bytewise = json_items_feed(&s[1], bytes + i, 1);
    check(ok == ok_bytewise && sum[0] == sum[1] && s[0].skipped == s[1].skipped);
    check(!ok || memcmp(json_items_frame(&s[0], &rest[0]), json_items_frame(&s[1], &rest[1]),
                        s[0].frame.len) == 0);
    check(!ok || rest[0] == rest[1]);
    json_items_fini(&s[0]);
    json_items_fini(&s[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct roster *t;
    struct http1 p;

    if (size == 0)
        return 0;
    switch (data[0] % 8) {
    case 0:
        http1_init(&p, &limits);
        feed(&p, (const char *)data + 1, size - 1, on_request);
        break;
    case 1:
    case 2:
        http1_init_response(&p, &limits, data[0] % 8 == 2);
        feed(&p, (const char *)data + 1, size - 1, on_answer);
        break;
    case 4: follow((const char *)data + 1, size - 1); break;
    case 5: take_labels(data + 1, size - 1); break;
    case 6: split_list((const char *)data + 1, size - 1); break;
    default:
        t = roster_new();
        roster_parse(t, (const char *)data + 1, size - 1, NULL);
        roster_free(t);
    }
    return 0;
}
