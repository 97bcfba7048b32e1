/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_filter.h - selects the containers of a list. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_FILTER_H
#define HF_DIALECTS_DOCKER_DOCKER_FILTER_H

#include "base/json.h"

struct docker_subject {
    const char *id, *name, *image, *status;
    const json_t *labels; /* NULL: none */
    int exit_code;        /* -1: it has not exited */
};

/*
 * {"name":{"x":true}} or {"name":["x"]} as {"name":["x"]}; NULL text: {}. NULL: err has the reason.
 */
json_t *docker_filter_parse(const char *text, struct hf_error *err);
bool docker_filter_fits(const json_t *filters, const struct docker_subject *s);

#endif
