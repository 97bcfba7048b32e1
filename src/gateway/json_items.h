/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_items.h - a JSON object with a long array of objects, one element at a time
 *
 * A list of pods may have any size; only one pod of it is in memory at a time. The objects in
 * arrays at the top level are delivered one by one. The rest of the document is kept, with a 0 in
 * place of each, so that it can be parsed when it is complete.
 *
 *   {"metadata": {"continue": "x"}, "items": [{"a": 1}, {"b": 2}]}
 *   delivers {"a": 1} and {"b": 2} and keeps {"metadata": {"continue": "x"}, "items": [0, 0]}
 *
 * It finds boundaries and does not validate: the parser of the pieces does that. Pure. Layer:
 * gateway.
 */
#ifndef HF_GATEWAY_JSON_ITEMS_H
#define HF_GATEWAY_JSON_ITEMS_H

#include "base/buf.h"

typedef void json_item_fn(void *arg, const char *bytes, size_t len);

struct json_items {             /* {0} except limits and callback */
    size_t item_max, frame_max; /* bytes of one element, and of everything outside */
    json_item_fn *on_item;
    void *arg;
    struct buf item, frame;
    size_t depth;
    size_t skipped;       /* elements that were too large to be delivered */
    bool level2_is_array; /* the innermost value that is a member of the document */
    bool in_string, escaped, in_item, too_large;
};

/* False: the bytes outside of elements exceed frame_max, or there is no memory. */
bool json_items_feed(struct json_items *s, const char *bytes, size_t len);
/* The document without its elements. Valid until the next call. */
const char *json_items_frame(struct json_items *s, size_t *len);
void json_items_fini(
    struct json_items *s); /* keeps the limits and the callback: ready for the next */

#endif
