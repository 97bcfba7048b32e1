/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_pb_json.h - messages by table out of protobuf's JSON form; the tree of common/pb.h
 *
 * Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_PB_JSON_H
#define HF_DIALECTS_E2B_E2B_PB_JSON_H

#include "dialects/common/pb.h"

/* NULL: err says what is wrong. The caller owns the tree. */
json_t *e2b_pb_from_json(const struct pb_message *m, const json_t *value, struct hf_error *err);

#endif
