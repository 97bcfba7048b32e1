/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_pb_json.h - decodes protobuf's JSON form by table into the tree of common/pb.h
 *
 * Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_E2B_E2B_PB_JSON_H
#define HF_DIALECTS_E2B_E2B_PB_JSON_H

#include "dialects/common/pb.h"

/* NULL: err has the reason. The caller owns the tree. */
json_t *e2b_pb_from_json(const struct pb_message *m, const json_t *value, struct hf_error *err);

#endif
