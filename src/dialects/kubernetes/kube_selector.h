/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_selector.h - field and label selectors of a list, as the original parses them
 *
 * Fields: NAME=VALUE, NAME==VALUE and NAME!=VALUE, separated by commas. Labels: the same, and NAME,
 * !NAME, NAME in (A,B), NAME notin (A,B). All parts must match. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_KUBERNETES_KUBE_SELECTOR_H
#define HF_DIALECTS_KUBERNETES_KUBE_SELECTOR_H

#include "base/error.h"

struct kube_field {
    const char *name, *value;
};

/* 1: it matches; 0: it does not. Negative with err: malformed, or a field that `fields`, which ends
 * with a NULL name, does not have. An absent selector (NULL) matches. */
int kube_select_fields(const char *selector, const struct kube_field *fields, struct hf_error *err);
/* The same for an object that has no labels. */
int kube_select_labels(const char *selector, struct hf_error *err);

#endif
