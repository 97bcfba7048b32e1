/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_e2b.c - messages of E2B's services in both codecs, and the envelopes around them
 *
 * The first byte chooses the message and whether it comes in envelopes, the second how
 * large the pieces are. What a decoder took must survive being written and read again. Each is also
 * read as an input that is too long to be held.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rfc3339.h"
#include "dialects/e2b/e2b_envelope.h"
#include "dialects/e2b/e2b_limits.h"
#include "dialects/e2b/e2b_long_input.h"
#include "dialects/e2b/e2b_rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pb_message *const messages[] = {
    &e2b_empty,         &e2b_start_request,    &e2b_select_request,       &e2b_update_request,
    &e2b_input_request, &e2b_signal_request,   &e2b_stream_input_request, &e2b_list_response,
    &e2b_path_request,  &e2b_move_request,     &e2b_watch_request,        &e2b_watch_response,
    &e2b_watcher,       &e2b_list_dir_request, &e2b_entry_response,       &e2b_entries_response,
};
#define MESSAGES (sizeof messages / sizeof *messages)

static void check(int ok)
{
    if (!ok)
        abort();
}

/* JSON has empty lists, which the wire has not. */
static void round_trip(const struct pb_message *m, json_t *tree, enum rpc_codec codec)
{
    struct buf once = {0}, twice = {0};
    struct hf_error err = {0};
    json_t *again;

    pb_to_wire(m, tree, &once);
    again = pb_from_wire(m, once.len > 0 ? buf_data(&once) : "", once.len, &err);
    check(again != NULL);
    check(codec == RPC_JSON || json_equal(tree, again));
    pb_to_wire(m, again, &twice);
    check(once.len == twice.len &&
          (once.len == 0 || memcmp(buf_data(&once), buf_data(&twice), once.len) == 0));
    json_decref(again);
    buf_fini(&once);
    buf_fini(&twice);
}

static void try_message(const struct pb_message *m, enum rpc_codec codec, const void *bytes,
                        size_t len)
{
    struct hf_error err = {0};
    json_t *tree = e2b_rpc_decode(m, codec, bytes, len, &err);

    check(tree != NULL || (err.code != HF_OK && err.detail[0] != '\0'));
    if (tree != NULL)
        round_trip(m, tree, codec);
    json_decref(tree);
}

static void try_envelopes(const struct pb_message *m, const char *bytes, size_t len, size_t piece)
{
    struct envelope e = {0};
    struct hf_error err = {0};
    size_t used, at = 0;

    while (at < len) {
        size_t n = len - at < piece ? len - at : piece;
        enum envelope_state s = e2b_envelope_feed(&e, bytes + at, n, &used, &err);

        check(used <= n && e.message.len <= LIMIT_E2B_MESSAGE_BYTES);
        if (s == ENVELOPE_ERROR)
            break;
        check(used > 0);
        if (s == ENVELOPE_MESSAGE)
            try_message(m, RPC_PROTO, e.message.len > 0 ? buf_data(&e.message) : "", e.message.len);
        at += used;
    }
    e2b_envelope_fini(&e);
}

/* In pieces it must be the same input as when it is whole. */
static void try_long(enum rpc_codec codec, const char *bytes, size_t len, size_t piece)
{
    struct hf_error err = {0};
    struct long_input in;
    struct buf out = {0};
    size_t at = 0;
    size_t head = len < piece ? len : piece;
    json_t *tree = long_input_begin(&in, codec, bytes, head, &at, &err), *whole;
    bool ok = tree != NULL;

    check(ok || (err.code != HF_OK && err.detail[0] != '\0'));
    check(!ok || at <= head);
    for (size_t n; ok && at < len; at += n) {
        n = len - at < piece ? len - at : piece;
        ok = long_input_feed(&in, bytes + at, n, &out, &err);
    }
    whole = e2b_rpc_decode(&e2b_input_request, codec, bytes, len, &err);
    if (ok && long_input_is_whole(&in) && whole != NULL) {
        const json_t *input = json_object_get(whole, "input"), *v;

        v = json_object_get(input, "stdin");
        v = v != NULL ? v : json_object_get(input, "pty");
        check(v != NULL && json_string_length(v) == out.len &&
              memcmp(json_string_value(v), buf_cstr(&out), out.len) == 0);
    }
    json_decref(whole);
    json_decref(tree);
    buf_fini(&out);
}

static void try_time(const char *bytes, size_t len)
{
    char text[64];
    int64_t ms = 0;

    len = len < sizeof text - 1 ? len : sizeof text - 1;
    memcpy(text, bytes, len);
    text[len] = '\0';
    if (rfc3339_parse(text, &ms))
        check(ms > RFC3339_MIN_MS - 400000000 && ms < RFC3339_MAX_MS + 400000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct pb_message *m;

    if (size < 2)
        return 0;
    m = messages[(data[0] & 0x3f) % MESSAGES];
    if (data[0] & 0x80)
        try_envelopes(m, (const char *)data + 2, size - 2, 1 + data[1]);
    else
        try_message(m, data[0] & 0x40 ? RPC_JSON : RPC_PROTO, data + 2, size - 2);
    try_long(data[0] & 0x40 ? RPC_JSON : RPC_PROTO, (const char *)data + 2, size - 2, 1 + data[1]);
    try_time((const char *)data + 2, size - 2);
    return 0;
}
