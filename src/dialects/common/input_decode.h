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

/* Appends the string "data": text, which may contain any character, or base64, as "encoding" says,
 * or else `encoding`. `names`: the valid ones, ended by NULL. Absent data is empty. */
int input_data_decode(const json_t *body, const char *encoding, const char *const *names,
                      struct buf *out, struct hf_error *err);

#endif
