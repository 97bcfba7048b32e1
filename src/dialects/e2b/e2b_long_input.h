/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_long_input.h - decodes a SendInputRequest that is too long to be held
 *
 * What precedes the bytes is a whole message with no bytes; the bytes are decoded as they arrive,
 * and nothing may follow them. Clients write the fields in the order of their numbers, so this is
 * what they send. Pure: bytes in, bytes out. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_LONG_INPUT_H
#define HF_DIALECTS_E2B_E2B_LONG_INPUT_H

#include "base/buf.h"
#include "base/json.h"
#include "dialects/e2b/e2b_rpc.h"

struct long_input {
    enum rpc_codec codec;
    size_t left; /* protobuf: bytes of the input to come; JSON: braces to be closed */
    char group[4];
    size_t group_len; /* JSON: characters of a group of base64 that is not complete */
    bool quoted;      /* JSON: the text of the input is still open */
    bool escaped;     /* JSON: behind a backslash in it */
    bool padded;      /* JSON: its base64 has ended */
};

/*
 * From the first bytes of a message: the message without its input, which the caller owns; *used is
 * where the input begins. NULL: err says why it cannot be decoded so.
 */
json_t *long_input_begin(struct long_input *in, enum rpc_codec codec, const char *head, size_t len,
                         size_t *used, struct hf_error *err);
/* Appends the input in the next bytes. False: err. */
bool long_input_feed(struct long_input *in, const char *bytes, size_t len, struct buf *out,
                     struct hf_error *err);
bool long_input_is_whole(const struct long_input *in);

#endif
