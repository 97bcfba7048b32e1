/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_review_decode.h - the reviews of kubectl's, which sends them as protobuf alone
 *
 * Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_REVIEW_DECODE_H
#define HF_DIALECTS_KUBERNETES_KUBE_REVIEW_DECODE_H

#include "base/error.h"
#include "base/json.h"

#define KUBE_PROTOBUF "application/vnd.kubernetes.protobuf"

/* The tree of its JSON form: kind, apiVersion and, if the kind has one, spec. NULL: see err. */
json_t *kube_review_decode(const char *bytes, size_t len, struct hf_error *err);

#endif
