/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_decode.h - the JSON form of input: text or base64, then keys, then the end. Pure.
 * Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_INPUT_DECODE_H
#define HF_DIALECTS_COMMON_INPUT_DECODE_H

#include "base/buf.h"
#include "base/json.h"

/* Appends the bytes to *out. `app_cursor`: the terminal's mode, for arrow keys. */
int input_request_decode(const json_t *body, bool app_cursor, struct buf *out, bool *eof,
                         struct hf_error *err);

#endif
