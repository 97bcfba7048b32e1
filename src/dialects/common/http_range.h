/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_range.h - the headers of conditional and partial requests (RFC 9110). Pure. Layer: dialects.
 */
#ifndef HF_DIALECTS_COMMON_HTTP_RANGE_H
#define HF_DIALECTS_COMMON_HTTP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct http_range {
    int64_t from;   /* -1: the last `length` bytes */
    int64_t length; /* -1: to the end */
};
/* One range of bytes. False: absent, malformed or several, and then the header is ignored. */
bool http_range_parse(const char *header, struct http_range *out);

/* Does the list of entity tags name this one (without quotes), or any by "*"? `weak`: W/ counts. */
bool http_range_lists_tag(const char *header, const char *tag, bool weak);
/* The only tag of a list, without quotes; "*" stays. False: several, weak or malformed. */
bool http_range_single_tag(const char *header, char *out, unsigned size);

#define HTTP_RANGE_DATE_BYTES 40 /* 30, and what a compiler thinks of the numbers */
void http_range_date(int64_t ms, char out[HTTP_RANGE_DATE_BYTES]); /* as in Last-Modified */

#endif
