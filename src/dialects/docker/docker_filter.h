/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_filter.h - selects the containers or images of a list, and events. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_DOCKER_DOCKER_FILTER_H
#define HF_DIALECTS_DOCKER_DOCKER_FILTER_H

#include "base/json.h"

enum docker_filter_kind {
    DOCKER_FILTER_CONTAINERS,
    DOCKER_FILTER_IMAGES,
    DOCKER_FILTER_EVENTS,
    DOCKER_FILTER_KINDS
};

/* The first is for all of them, the others are for the kinds that they name. */
struct docker_subject {
    const char *image;
    const char *id, *name, *status; /* containers; events but for `status` */
    const char *action;             /* events */
    const json_t *labels;           /* NULL: none */
    int exit_code;                  /* containers; -1: it has not exited */
};

/*
 * {"name":{"x":true}} or {"name":["x"]} as {"name":["x"]}; NULL text: {}. NULL: err has the reason.
 */
json_t *docker_filter_parse(enum docker_filter_kind kind, const char *text, struct hf_error *err);
bool docker_filter_fits(enum docker_filter_kind kind, const json_t *filters,
                        const struct docker_subject *s);

#endif
