/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - a text and a regular expression, either or both, in one stream of output
 *
 * What ends first wins; at the same place, the text. Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_MCP_SEARCH_H
#define HF_DIALECTS_MCP_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct search;

enum search_kind { SEARCH_TEXT, SEARCH_REGEX };
struct search_match {
    enum search_kind kind;
    uint64_t start, end;
};

struct search_text {
    const char *bytes; /* NULL: not searched for */
    size_t len;
};

/* `at`: offset of the first byte fed; `before`: the byte in front of it, or -1. NULL: err. */
struct search *search_new(struct search_text text, struct search_text regex, uint64_t at,
                          int before, struct hf_error *err);
void search_free(struct search *s); /* NULL is fine */
bool search_has_regex(const struct search *s);
size_t search_turn_bytes(const struct search *s); /* to be fed in one turn at most */
bool search_feed(struct search *s, const void *bytes, size_t len, struct search_match *out);
/* Would the regex match if the output ended here? May be asked in any pause. */
bool search_at_end(struct search *s, struct search_match *out);

#endif
