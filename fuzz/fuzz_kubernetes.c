/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kubernetes.c - what Kubernetes' clients send beside SPDY: offers, messages, sizes, times
 *
 * The same bytes go through all decoders. Whatever is taken must be in range.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/kubernetes/kube_channel.h"
#include "dialects/kubernetes/kube_container.h"
#include "dialects/kubernetes/kube_log_decode.h"
#include "dialects/kubernetes/kube_review_decode.h"
#include "dialects/kubernetes/kubernetes_limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

static void on_size(void *arg, int64_t rows, int64_t cols)
{
    (void)arg;
    check(rows >= 1 && rows <= 65535 && cols >= 1 && cols <= 65535);
}

static bool is_small(void *arg, uint8_t channel)
{
    (void)arg;
    return channel != CHANNEL_STDIN;
}

static size_t on_input(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    uint64_t *sum = arg;

    (void)bytes;
    check(channel == CHANNEL_STDIN && len > 0);
    *sum += (len + 1) / 2;
    return (len + 1) / 2;
}

static void on_small(void *arg, uint8_t channel, const char *bytes, size_t len)
{
    (void)arg;
    check(channel != CHANNEL_STDIN && len <= LIMIT_KUBE_SMALL_BYTES);
    if (channel == CHANNEL_RESIZE)
        channel_sizes(bytes, len, on_size, NULL);
}

static const struct channel_ops ops = {on_input, on_small, is_small};

/* The first byte of a piece says how long it is and whether it ends its message. */
static void try_messages(const char *bytes, size_t len)
{
    struct channel_in in = {0};
    uint64_t sum = 0;

    while (len > 0) {
        size_t piece = 1 + (uint8_t)bytes[0] % 64;
        bool last = bytes[0] % 2 == 0;

        piece = piece < len ? piece : len;
        for (size_t at = 0; at < piece;) {
            size_t n = channel_feed(&in, bytes + at, piece - at, last, &ops, &sum);

            check(n > 0 && n <= piece - at);
            at += n;
        }
        bytes += piece;
        len -= piece;
    }
}

static void try_text(const char *text, size_t len)
{
    struct buf data = {0};
    const struct protocol *p;
    uint8_t channel;
    int64_t ms;

    check(!channel_decode(text, len, &channel, &data) || (channel <= 9 && data.len < len));
    buf_clear(&data);
    check(!kube_protocol_token(text, &data) || data.len < len);
    p = kube_protocol_pick(text);
    check(p == NULL || strstr(text, p->name) != NULL);
    if (log_time_parse(text, &ms))
        check(ms > -100000000LL && ms < 300000000000000LL);
    check(!container_name_is_valid(text) || len < CONTAINER_NAME_BYTES);
    channel_sizes(text, len, on_size, NULL);
    buf_fini(&data);
}

static void try_lines(const char *bytes, size_t len)
{
    struct buf out = {0};
    bool inside = false;
    size_t half = len / 2;

    log_put_timed(&out, bytes, half, 0, &inside);
    log_put_timed(&out, bytes + half, len - half, 0, &inside);
    check(len == 0 || inside == (bytes[len - 1] != '\n'));
    check(out.len >= len);
    buf_fini(&out);
}

/* What is accepted is a review, whose members are the texts that its handler reads. */
static void try_review(const char *bytes, size_t len)
{
    struct hf_error err = {0};
    json_t *v = kube_review_decode(bytes, len, &err);

    check(v != NULL || err.code != HF_OK);
    check(v == NULL ||
          strncmp(json_string_value(json_object_get(v, "kind")), "SelfSubject", 11) == 0);
    json_decref(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    try_messages(text, size);
    try_lines(text, size);
    try_review(text, size);
    try_text(text, strlen(text));
    free(text);
    return 0;
}
